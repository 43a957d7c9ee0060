"""exec_command: off by default, never without a yes, never for sub-agents or groups, and bounded (TGV-3, TGV-11)."""

import asyncio
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.tools.sandbox import Bounds, Sandbox
from agent_core.tools.shell import Shell, shell_tools
from agent_core.tools.spec import ToolFailure
from tests.house import until
from tests.unit.agent_core.outside_desk import answer, context, whole
from tests.unit.agent_core.test_tools_workspace import Rooms

BOUNDS = Bounds(seconds=20, memory=256 * 2**20, file=2**20)


def usable(bounds: Bounds = BOUNDS) -> Sandbox:
    """This machine's sandbox. Where the kernel gives ordinary programs no namespaces there can be none."""
    required = os.environ.get("SWARMGATE_REQUIRE_SANDBOX") == "1"
    try:
        found = replace(Sandbox.find(), bounds=bounds, as_root=True)
    except ToolFailure as missing:
        if required:
            raise
        pytest.skip(str(missing))
    probe = subprocess.run(
        [found.bwrap, "--unshare-all", "--unshare-user", "--ro-bind", "/", "/", "/bin/true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if probe.returncode:
        pytest.skip(f"this kernel allows no user namespaces: {probe.stderr.strip()}")
    return found


def program(folder: Path, name: str, script: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


async def test_it_is_off_unless_the_operator_says_so(tmp_path: Path) -> None:
    """TGV-11. Nobody is asked about a call that is not going to run."""
    [tool] = shell_tools(Rooms(tmp_path), None)
    for attempt in (tool.call, tool.show):
        with pytest.raises(ToolFailure, match=r"off here.*tools\.exec_command: true"):
            await attempt(context(), {"command": "id"})


def test_each_command_needs_a_yes_of_its_own(tmp_path: Path) -> None:
    """TGV-3: in the approval set; no rule of a preset can have a yes remembered."""
    from agent_core.approvals import Rule, kept_for

    [tool] = shell_tools(Rooms(tmp_path), Shell())
    assert tool.requires_approval
    assert tool.lead_only
    assert not tool.idempotent
    assert kept_for((*tool.rules, Rule("exec_command", remember="always"))) == "never"


@pytest.mark.parametrize(
    ("channel", "session", "why"),
    [
        ("web", "s1/c1", "not run for a sub-agent"),
        ("telegram", "s1", "exec_command_on_platforms: true"),
    ],
)
async def test_where_it_is_not_run(tmp_path: Path, channel: str, session: str, why: str) -> None:
    """TGV-11: shells are closed to chat platforms by default."""
    missing = Shell(sandbox=Sandbox(str(tmp_path / "bwrap"), "prlimit"))
    [tool] = shell_tools(Rooms(tmp_path, channel=channel), missing)
    with pytest.raises(ToolFailure, match=why):
        await tool.show(context(session=session), {"command": "id"})


async def test_what_is_missing_is_said_with_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    [tool] = shell_tools(Rooms(tmp_path), Shell())
    with pytest.raises(ToolFailure, match="installs the package bubblewrap"):
        await whole(tool, command="id")
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "prlimit" else name)
    with pytest.raises(ToolFailure, match="util-linux"):
        await whole(tool, command="id")
    old = Sandbox(program(tmp_path, "old", "echo bubblewrap 0.4.1"), "prlimit", as_root=True)
    with pytest.raises(
        ToolFailure, match=r"bubblewrap 0\.8 or newer; here is 'bubblewrap 0\.4\.1'"
    ):
        await old.check()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(ToolFailure, match="as an ordinary user"):
        await replace(old, as_root=False).check()


async def test_a_kernel_without_namespaces_is_said(tmp_path: Path) -> None:
    fails = "echo bwrap: No permissions to create new namespace >&2; exit 1"
    sandbox = Sandbox(program(tmp_path, "bwrap", fails), "prlimit")
    with pytest.raises(ToolFailure, match="allows unprivileged user namespaces"):
        await sandbox.run("id", tmp_path)


async def test_a_command_sees_the_workspace_and_writes_nothing_else(tmp_path: Path) -> None:
    """The tool as a whole; the environment, the network, other files and other processes are out of reach."""
    rooms = Rooms(tmp_path)
    [tool] = shell_tools(rooms, Shell(sandbox=usable()))
    (tmp_path / "secret").write_text("sesame")
    os.environ["SWARMGATE_TEST_SECRET"] = "sesame"
    script = f"""
        echo made > here.txt; pwd; id -u; env
        touch /x /usr/x /etc/x /dev/x /dev/shm/x 2>&1 | grep -c 'Read-only'
        cat {tmp_path}/secret {Path.cwd()}/pyproject.toml 2>&1 | grep -c 'No such file'
        ls -d /home /root /proc/1/root/home 2>&1 | grep -c 'No such file'
        ls /proc | grep -c '^[0-9]'; grep -c ':' /proc/net/dev; exit 3
    """
    try:
        found = await answer(tool, command=script)
    finally:
        del os.environ["SWARMGATE_TEST_SECRET"]
    lines = found["output"].splitlines()[1:-1]
    assert found["exit_code"] == 3
    assert lines[:2] == ["/workspace", "1000"]
    assert {line.partition("=")[0] for line in lines if "=" in line} == {
        *("PATH", "HOME", "LANG", "PWD")
    }
    counts = [int(line) for line in lines if line.isdecimal()][1:]
    assert counts[:3] == [5, 2, 3]
    assert counts[3] < 10
    assert counts[4] == 1  # loopback alone
    assert "sesame" not in found["output"]
    written = await rooms.of("telegram:1", "s1")
    assert written.workspace.read("here.txt") == b"made\n"
    assert (found["source"], found["credibility"]) == ("exec_command", "mixed")


async def test_bounds_of_time_output_files_and_memory(tmp_path: Path) -> None:
    sandbox = usable(replace(BOUNDS, seconds=0.7, output=2**20))
    late = await sandbox.run("sleep 61 & setsid sleep 62 & echo begun; sleep 60", tmp_path)
    assert (late.code, late.why, late.output) == (None, "ended after 0.7 s", "begun\n")
    await until(
        lambda: not _running("sleep 61", "sleep 62", "sleep 60"), 5
    )  # the kernel clears away
    loud = await sandbox.run("yes", tmp_path)
    assert (loud.code, loud.why) == (None, "ended for more than 1 MB of output")
    assert len(loud.output) < 9_000
    limits = await replace(sandbox, bounds=BOUNDS).run(
        "head -c 3000000 /dev/zero > big; head -c 3000 /dev/zero > ok; stat -c %s big ok; ulimit -v; ulimit -t",
        tmp_path,
    )
    assert limits.output.split()[-4:] == ["1048576", "3000", "262144", "20"]


async def test_a_call_that_is_cancelled_leaves_nothing_running(tmp_path: Path) -> None:
    sandbox = usable()
    task = asyncio.create_task(sandbox.run("touch begun; sleep 63", tmp_path))
    while not (tmp_path / "begun").exists():  # the command itself says that it runs
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not _running("sleep 63"), 5)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_the_number_of_processes_is_bounded(open_folder: Path) -> None:
    """For an ordinary user, as whom the gateway runs: nothing bounds those of root."""
    sandbox = usable(replace(BOUNDS, processes=8))
    forks = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1 & done; wait; echo all"
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(
        sandbox.argv(forks, open_folder),
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
        **as_nobody,  # type: ignore[call-overload]
    )
    assert "Cannot fork" in done.stderr
    assert "all" not in done.stdout


def _running(*commands: str) -> list[str]:
    """Which of these command lines some process has."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode().strip()
        except OSError:
            continue  # it ended meanwhile
        found += [command for command in commands if line == command]
    return found
