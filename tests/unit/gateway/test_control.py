"""The control socket where two gateways have one data folder."""

import asyncio
from pathlib import Path

from channels.terminal.channel import TerminalChannel
from gateway.control import ControlServer
from gateway.talk import dial


async def test_a_second_server_leaves_a_live_socket_alone_and_replaces_a_stale_one(tmp_path: Path):
    path = tmp_path / "control.sock"
    first, second = (ControlServer(path, TerminalChannel()) for _ in range(2))
    await first.start()
    await second.start()
    await second.stop()
    await talks(path)
    await first.stop()
    assert await dial(path, "alice", None) is None
    path.touch()  # what a killed process leaves answers nobody
    await second.start()
    await talks(path)
    await second.stop()


async def talks(path: Path) -> None:
    """Somebody answers there: a line, and both ends are closed."""
    line = await dial(path, "alice", None)
    assert line is not None
    line.close()
    await line._writer.wait_closed()
    await asyncio.sleep(0.05)
