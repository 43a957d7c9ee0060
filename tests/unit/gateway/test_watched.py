"""What a system tells of a path: on Linux by the kernel, and as a library asks for it elsewhere."""

import asyncio
import resource
import shutil
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gateway.presets.folder_watch import FolderWatch, stamp
from gateway.trading import halt
from gateway.watching.elsewhere import asked
from gateway.watching.watched import watched

PATIENCE_S = 30.0  # a loaded machine; the wait itself is for an event
NOTHING_S = 0.4  # twice what a change needs
WAYS = [watched, asked]
linux = pytest.mark.skipif(sys.platform != "linux", reason="what the kernel of Linux tells")


async def told(changed: Callable[[], Awaitable[None]]) -> bool:
    try:
        await asyncio.wait_for(changed(), NOTHING_S)
    except TimeoutError:
        return False
    return True


def opened() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def woken(kernel: Any) -> bool:
    """Whether there was something to read; it is read."""
    kernel.sync_timeout = 0.0
    return bool(list(kernel))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "presets"
    made.mkdir()
    (made / "desk.yaml").write_text("one")
    (made / "prompts").mkdir()
    return made


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda folder: (folder / "desk.yaml").write_text("two"),
    "written in a folder of it": lambda folder: (folder / "prompts" / "own.md").write_text("Lead."),
    "removed": lambda folder: (folder / "desk.yaml").unlink(),
    "moved away": lambda folder: (folder / "desk.yaml").rename(folder.parent / "desk.yaml"),
    "without a right": lambda folder: (folder / "desk.yaml").chmod(0o400),
    "gone as a whole": shutil.rmtree,
    "renamed as a whole": lambda folder: folder.rename(folder.with_name("old")),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", CHANGES)
async def test_a_change_is_told(way, folder: Path, what: str) -> None:
    async with way(folder) as changed:
        CHANGES[what](folder)
        await asyncio.wait_for(changed(), PATIENCE_S)


@pytest.mark.parametrize("way", WAYS)
async def test_what_editors_keep_for_themselves_does_not_count(way, folder: Path) -> None:
    async with way(folder, ignored=(".swp", "~")) as changed:
        (folder / ".desk.yaml.swp").write_text("two")
        (folder / "desk.yaml~").write_text("two")
        assert not await told(changed)


@pytest.mark.parametrize("way", WAYS)
async def test_a_path_that_is_made_later_is_told(way, tmp_path: Path) -> None:
    async with way(tmp_path / "later") as changed:
        (tmp_path / "other").mkdir()
        (tmp_path / "later").mkdir()
        await asyncio.wait_for(changed(), PATIENCE_S)


@pytest.mark.parametrize("way", WAYS)
async def test_many_changes_are_one_series_that_ends(way, folder: Path) -> None:
    """150 ms without one end it, and 300 ms do while it goes on."""

    async def go_on() -> None:
        while True:
            (folder / "desk.yaml").write_text("more")
            await asyncio.sleep(0.02)

    async with way(folder, quiet_ms=150, most_ms=300) as changed:
        writing = asyncio.create_task(go_on())
        began = time.monotonic()
        await asyncio.wait_for(changed(), PATIENCE_S)
        assert time.monotonic() - began >= 0.25
        writing.cancel()


@linux
def test_what_is_written_beside_a_path_that_is_waited_for_wakes_nobody(tmp_path: Path) -> None:
    """The file of the kill switch lies beside the database: the kernel has nothing to tell."""
    from gateway.watching.inotify import Told

    with closing(Told(tmp_path / halt.FILE)) as kernel:
        (tmp_path / "swarmgate.db").touch()
        assert woken(kernel._inotify), "a name that came"
        (tmp_path / "swarmgate.db").write_text("a row")
        (tmp_path / "swarmgate.db").chmod(0o600)
        assert not woken(kernel._inotify)


@linux
async def test_nothing_wakes_and_no_thread_waits_while_nothing_happens(folder: Path) -> None:
    async def read() -> None:
        return None

    others = set(threading.enumerate())
    watches = [FolderWatch(f"{n}", folder, read) for n in range(3)]
    for watch in watches:
        await watch.start()
        await asyncio.wait_for(watch.watching.wait(), PATIENCE_S)
    new = {thread.name for thread in set(threading.enumerate()) - others}
    assert all(name.startswith("asyncio_") for name in new)  # the pool, which sleeps
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    await asyncio.sleep(1.5)  # where each looked every 150 ms, it was 30 times
    assert resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before < 10
    for watch in watches:
        await watch.stop()


class Reading:
    """A folder that is watched and what was read of it, as presets are."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "desk.yaml"
        self.text = ""
        self.read = asyncio.Event()
        self.watch = FolderWatch("desk", folder, self._read)
        self._folder = folder

    async def _read(self) -> None:
        self.watch.stamp = stamp(self._folder)
        self.text = self.file.read_text() if self.file.exists() else ""
        self.read.set()

    async def until(self, text: str) -> None:
        while self.text != text:
            self.read.clear()
            await asyncio.wait_for(self.read.wait(), PATIENCE_S)

    async def __aenter__(self) -> "Reading":
        await self.watch.start()
        await asyncio.wait_for(self.watch.watching.wait(), PATIENCE_S)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.watch.stop()


def swap(link: Path, target: str) -> None:
    """As the kubelet does: a new link takes the place of the old one."""
    link.with_name("..data_tmp").symlink_to(target)
    link.with_name("..data_tmp").replace(link)


def version(mount: Path, text: str) -> None:
    """A version of a ConfigMap: a folder of its own, then the link to it, then the old one goes."""
    old = list(mount.glob("..version-*"))
    (mount / f"..version-{text}" / "presets").mkdir(parents=True)
    for place in (".", "presets"):
        (mount / f"..version-{text}" / place / "desk.yaml").write_text(text)
    swap(mount / "..data", f"..version-{text}")
    for folder in old:
        shutil.rmtree(folder)


@linux
@pytest.mark.parametrize("place", [".", "presets"])
async def test_a_mounted_configmap_is_read_at_each_of_its_versions(
    tmp_path: Path, place: str
) -> None:
    """The mount itself, and a folder in it that is a link through the one that is swapped."""
    version(tmp_path, "one")
    (tmp_path / "desk.yaml").symlink_to("..data/desk.yaml")
    (tmp_path / "presets").symlink_to("..data/presets")
    async with Reading(tmp_path / place) as reading:
        for text in ("two", "three", "four"):
            version(tmp_path, text)
            await reading.until(text)


@linux
async def test_a_folder_that_is_a_link_is_read_when_the_link_is_put_elsewhere(
    tmp_path: Path,
) -> None:
    for text in ("one", "two"):
        (tmp_path / text / "presets").mkdir(parents=True)
        (tmp_path / text / "presets" / "desk.yaml").write_text(text)
    (tmp_path / "current").symlink_to("one")
    async with Reading(tmp_path / "current" / "presets") as reading:
        for text in ("two", "one"):
            swap(tmp_path / "current", text)
            await reading.until(text)
        (tmp_path / "one" / "presets" / "desk.yaml").write_text("three")
        await reading.until("three")


@linux
async def test_a_folder_that_another_takes_the_place_of_is_watched_on(folder: Path) -> None:
    async with Reading(folder) as reading:
        for text in ("two", "three"):
            folder.rename(folder.with_name(f"before-{text}"))
            folder.mkdir()
            (folder / "desk.yaml").write_text(text)
            await reading.until(text)
        (folder / "desk.yaml").write_text("four")
        await reading.until("four")


@linux
async def test_the_way_to_a_folder_may_be_made_step_by_step(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "presets"
    async with Reading(folder) as reading:
        for part in (tmp_path / "a", tmp_path / "a" / "b", folder):
            part.mkdir()
            await asyncio.sleep(0.05)
        (folder / "desk.yaml").write_text("one")
        await reading.until("one")
        shutil.rmtree(tmp_path / "a")
        await reading.until("")
        folder.mkdir(parents=True)
        (folder / "desk.yaml").write_text("two")
        await reading.until("two")


@linux
async def test_a_folder_of_the_folder_that_comes_later_or_by_a_link_is_watched(
    folder: Path,
) -> None:
    """Links in a circle, to nothing and to themselves do no harm."""
    (folder / "circle").symlink_to(".")
    (folder / "nothing").symlink_to("nowhere")
    (folder / "itself").symlink_to("itself")
    beside = folder.with_name("beside")
    beside.mkdir()
    (folder / "link").symlink_to(beside)
    async with Reading(folder) as reading:
        (folder / "new" / "deep").mkdir(parents=True)
        await asyncio.wait_for(reading.read.wait(), PATIENCE_S)
        for place in (folder / "new" / "deep", beside):
            reading.read.clear()
            (place / "own.md").write_text("Lead.")
            await asyncio.wait_for(reading.read.wait(), PATIENCE_S)


@linux
async def test_a_watch_leaves_nothing_open(folder: Path) -> None:
    before = opened()
    async with Reading(folder) as reading:
        (folder / "desk.yaml").write_text("two")
        await reading.until("two")
    assert opened() == before


async def test_a_reading_that_goes_on_is_finished_before_the_watch_has_stopped(
    folder: Path,
) -> None:
    began, ended = asyncio.Event(), False

    async def read() -> None:
        nonlocal ended
        began.set()
        await asyncio.sleep(0.05)
        ended = True

    watch = FolderWatch("desk", folder, read)
    await watch.start()
    await asyncio.wait_for(watch.watching.wait(), PATIENCE_S)
    (folder / "desk.yaml").write_text("two")
    await asyncio.wait_for(began.wait(), PATIENCE_S)
    await watch.stop()
    assert ended


async def test_a_system_without_watches_left_is_logged_and_ends_nothing(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    watch = FolderWatch("desk", folder, asyncio.Event().wait)
    async with watched(folder):
        pass  # the library is there
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        await watch.start()
        await watch._task
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    await watch.stop()
    assert [record.message for record in caplog.records] == ["desk_not_watched"]


async def test_the_file_of_the_kill_switch_is_seen_when_it_appears(tmp_path: Path) -> None:
    """At once, and in a folder that is made later, too."""
    file = tmp_path / "data" / halt.FILE
    waits = asyncio.create_task(halt.appears(file))
    assert not await told(lambda: asyncio.shield(waits))
    file.parent.mkdir()
    (file.parent / "other").touch()
    assert not await told(lambda: asyncio.shield(waits))
    file.touch()
    await asyncio.wait_for(waits, PATIENCE_S)
    await asyncio.wait_for(halt.appears(file), PATIENCE_S)
