"""Our MCP client against real servers of the official package, over pipes and over HTTP on loopback."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent_core.tools.mcp import Offer, Trust, foreign_specs
from agent_core.tools.mcp_link import LONGEST_PAUSE_S, Link
from agent_core.tools.mcp_process import Command
from agent_core.tools.mcp_transport import MOST_BYTES, Url
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolFailure
from gateway.mcp.house import McpHouse, join_known
from gateway.mcp.known import FILE
from gateway.presets.team_house import load_presets
from gateway.settings.settings import Settings
from gateway.toolbox import toolbox
from tests.house import until
from tests.unit.agent_core.outside_desk import answer, context, named, whole

SCRIPT = Path(__file__).with_name("mcp_foreign.py")
DESK = "version: 1\nname: desk\nsupervisor: {tools: [mcp_files_add]}\nmcp: {files: {}}\n"


def silent(detail: str, progress: float | None) -> None:
    del detail, progress


class Ear:
    """Hears what a link hears."""

    def __init__(self) -> None:
        self.lists: list[list[str]] = []

    async def hear(self, offers: Sequence[Offer]) -> None:
        self.lists.append([offer.name for offer in offers])
        self.offers = list(offers)


async def soon(seconds: float) -> None:
    """No pause, but a turn of the loop."""
    await asyncio.sleep(0.01)


@asynccontextmanager
async def linked(where: Command | Url) -> AsyncIterator[tuple[Link, Ear]]:
    ear = Ear()
    link = Link("files", where, ear.hear, sleep=soon)
    link.start()
    try:
        await until(lambda: link.up)
        yield link, ear
    finally:
        await link.stop()


def command(folder: Path, **more: Any) -> Command:
    return Command(sys.executable, (str(SCRIPT), str(folder)), **more)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@asynccontextmanager
async def over_http(folder: Path, port: int = 0) -> AsyncIterator[Url]:
    port = port or free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SCRIPT), str(folder), str(port), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield Url(f"http://127.0.0.1:{port}/mcp")
    finally:
        process.kill()  # it would wait for who listens
        await process.wait()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "zombie" not in Path(f"/proc/{pid}/status").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["pipes", "http"])
async def test_tools_are_listed_called_cancelled_and_bounded(way: str, tmp_path: Path) -> None:
    async def walk(where: Command | Url) -> None:
        async with linked(where) as (link, ear):
            specs = foreign_specs(Trust("files"), ear.offers, link)
            assert "3" in (await answer(named(specs, "mcp_files_add"), a=1, b=2))["text"]
            drawn = await whole(named(specs, "mcp_files_picture"))
            assert [file.media_type for file in drawn.artifacts] == ["image/png"]  # type: ignore[union-attr]
            with pytest.raises(ToolFailure, match="is a required property"):
                await answer(named(specs, "mcp_files_add"), a=1)
            long = await answer(named(specs, "mcp_files_huge"), megabytes=2)
            assert long["note"].startswith("cut: ")
            told: list[tuple[str, float | None]] = []

            def tell(detail: str, progress: float | None = None) -> None:
                told.append((detail, progress))

            hanging = asyncio.create_task(
                named(specs, "mcp_files_hang").call(context(progress=tell), {})
            )
            await until(lambda: told)
            assert told == [("waiting", 0.25)]
            hanging.cancel()
            await until((tmp_path / "cancelled").exists)
            assert "7" in (await answer(named(specs, "mcp_files_add"), a=3, b=4))["text"]

    if way == "pipes":
        await walk(command(tmp_path))
    else:
        async with over_http(tmp_path) as where:
            await walk(where)


@pytest.mark.slow
async def test_a_server_that_dies_answers_with_a_cure_and_is_started_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with linked(command(tmp_path)) as (link, _):
        with pytest.raises(ToolFailure, match=r"broke.*Whether the call took effect is unknown"):
            await link.call("die", {}, silent)
        await until(lambda: not link.up)
        await until(lambda: link.up)
        assert [r.__dict__["last_words"] for r in caplog.records] == ["out of luck"]
        assert (await link.call("add", {"a": 1, "b": 1}, silent))["isError"] is False
    assert len((tmp_path / "starts").read_text().split()) == 2


@pytest.mark.slow
async def test_a_server_that_leaves_http_and_comes_back_is_found_again(tmp_path: Path) -> None:
    port = free_port()
    link = Link("files", Url(f"http://127.0.0.1:{port}/mcp"), Ear().hear, sleep=soon)
    link.start()
    try:
        await link.tried.wait()
        with pytest.raises(ToolFailure, match="is not connected"):
            await link.call("add", {"a": 1, "b": 1}, silent)
        async with over_http(tmp_path, port):
            await until(lambda: link.up)
            assert (await link.call("add", {"a": 1, "b": 1}, silent))["isError"] is False
        with pytest.raises(ToolFailure, match=r"broke|is not connected"):
            await link.call("add", {"a": 1, "b": 1}, silent)
    finally:
        await link.stop()


@pytest.mark.slow
async def test_a_stop_leaves_no_process_behind(tmp_path: Path) -> None:
    async with linked(command(tmp_path)) as (link, _):
        reply = await link.call("child", {}, silent)
        started = int((tmp_path / "starts").read_text())
        grandchild = int(reply["content"][0]["text"])
        assert alive(started)
        assert alive(grandchild)
    await until(lambda: not alive(started) and not alive(grandchild))


@pytest.mark.slow
async def test_a_server_sees_its_own_environment_and_none_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-hidden")
    async with linked(command(tmp_path, env={"TOKEN": "given"}, cwd=str(tmp_path))) as (link, _):
        seen = (await link.call("environment", {}, silent))["content"][0]["text"]
    assert "TOKEN=given" in seen
    assert "hidden" not in seen


@pytest.mark.slow
async def test_new_tools_reach_the_registry_the_presets_and_the_next_start(tmp_path: Path) -> None:
    server = {"command": sys.executable, "args": [str(SCRIPT), str(tmp_path)]}
    settings = Settings.model_validate(
        {
            "data_dir": tmp_path,
            "presets_dir": tmp_path / "presets",
            "mcp": {"servers": {"files": server, "gone": {"command": "/no/such/program"}}},
        }
    )
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "desk.yaml").write_text(DESK)
    house, registry, changes = McpHouse(settings), toolbox(), list[str]()

    async def changed() -> None:
        changes.append("changed")

    house.changed = changed
    try:
        await house.start(seconds=30)  # the one that cannot be started holds nobody up
        house.join(registry)
        assert "desk" in load_presets(settings, registry).teams
        before = registry.of("old session")
        await answer(named(list(registry), "mcp_files_grow"))
        await until(lambda: changes)
        assert registry.get("mcp_files_more") is not None
        assert before.get("mcp_files_more") is None
        assert registry.of("old session") is before
    finally:
        await house.stop()
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    known = join_known(settings, toolbox())  # nothing runs any more
    assert "desk" in load_presets(settings, known).teams
    with pytest.raises(ToolFailure, match="nothing is connected"):
        await named(list(known), "mcp_files_more").call(context(), {})


async def test_a_server_that_is_down_is_tried_again_with_growing_pauses_and_says_the_cure() -> None:
    ear, naps = Ear(), list[float]()

    async def nap(seconds: float) -> None:
        naps.append(seconds)
        await asyncio.sleep(0)

    link = Link("files", Command("/no/such/program"), ear.hear, sleep=nap)
    link.start()
    try:
        await until(lambda: len(naps) >= 12)
        with pytest.raises(ToolFailure) as failed:
            await link.call("add", {}, silent)
    finally:
        await link.stop()
    assert naps[:4] == [1.0, 2.0, 4.0, 8.0]
    assert max(naps) == LONGEST_PAUSE_S
    assert "The MCP server files is not connected (No such file or directory" in str(failed.value)
    assert "`mcp.servers.files`" in str(failed.value)


async def test_http_carries_the_headers_and_reads_no_more_than_its_bound(tmp_path: Path) -> None:
    """A server of a few lines by hand, since the package's own answers no such nonsense."""
    seen: list[str | None] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get("Authorization"))
        if request.method != "POST":
            return web.Response(status=405)
        asked = await request.json()
        method = asked["method"]
        if "id" not in asked:
            return web.Response(status=202)
        if method == "initialize":
            result: dict[str, Any] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "by hand", "version": "1"},
            }
        elif method == "tools/list":
            result = {"tools": [{"name": "flood", "inputSchema": {"type": "object"}}]}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": "x" * (MOST_BYTES + 1)}]}
        else:
            error = {"code": -32601, "message": "no such method"}
            return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": result})

    app = web.Application()
    app.router.add_route("*", "/mcp", handle)
    async with TestServer(app) as server:
        where = Url(str(server.make_url("/mcp")), {"Authorization": "Bearer secret"})
        async with linked(where) as (link, ear):
            assert ear.lists == [["flood"]]
            with pytest.raises(ToolFailure, match=r"longer than 8,388,608 bytes"):
                await link.call("flood", {}, silent)
    assert set(seen) == {"Bearer secret"}


def test_a_preset_passes_with_a_warning_while_its_server_was_never_heard(tmp_path: Path) -> None:
    settings = Settings.model_validate(
        {
            "data_dir": tmp_path,
            "presets_dir": tmp_path,
            "mcp": {"servers": {"files": {"command": "/no/such/program"}}},
        }
    )
    (tmp_path / "desk.yaml").write_text(DESK)
    loaded = load_presets(settings, join_known(settings, Registry([*toolbox()])))
    assert "desk" in loaded.teams
    assert [p.code for p in loaded.found["desk"]] == ["SW407"]
