"""`swarmgate mcp` as another program starts it: over its pipes, and over HTTP with a token."""

import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

from tests.house import until

pytestmark = pytest.mark.slow
CONFIG = "version: 1\ndata_dir: data\nmcp: {serve: {tier: 3, approval_tools: true}}\n"
BEGIN = ("-c", "from gateway.__main__ import main; main()", "mcp")


def config(tmp_path: Path) -> str:
    file = tmp_path / "swarmgate.yaml"
    file.write_text(CONFIG)
    return str(file)


def env() -> dict[str, str]:
    return {"PYTHONPATH": str(Path.cwd()), "HOME": os.environ.get("HOME", "/")}


def text_of(result: Any) -> str:
    text: str = result.content[0].text
    return text


async def test_a_client_session_over_pipes_finds_the_tools_of_the_tier_and_real_prices(
    tmp_path: Path,
) -> None:
    """MCP-1, MSC-4."""
    server = StdioServerParameters(
        command=sys.executable, args=[*BEGIN, "-c", config(tmp_path)], env=env()
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        names = {tool.name for tool in (await session.list_tools()).tools}
        assert {"run_backtest", "get_market_overview"} <= names
        assert not {"query_history", "portfolio", "update_portfolio", "ask_user"} & names
        result = await session.call_tool("get_market_history", {"symbol": "IBM"})
        assert json.loads(text_of(result))["source"] == "bundled"
        assert (await session.call_tool("portfolio", {})).is_error


async def test_a_persons_book_is_changed_by_their_yes_and_is_nobody_elses(tmp_path: Path) -> None:
    """MCP-3, TGV-5: kept in the gateway's own database."""

    async def elicit(_: Any, params: Any) -> ElicitResult:
        assert "AAPL" in params.message
        return ElicitResult(action="accept", content={"yes": True, "sure": True})

    def parameters(user: str) -> StdioServerParameters:
        options = ["--tier", "3", "--user", user, "--approval-tools", "-c", config(tmp_path)]
        return StdioServerParameters(command=sys.executable, args=[*BEGIN, *options], env=env())

    change = {"items": [{"action": "set", "symbol": "AAPL", "quantity": 3, "price": 100}]}
    async with Client(parameters("web:alice"), elicitation_callback=elicit) as alice:
        assert not (await alice.call_tool("update_portfolio", change)).is_error
        assert "AAPL" in text_of(await alice.call_tool("portfolio", {}))
    async with Client(parameters("web:bob")) as bob:
        assert "AAPL" not in text_of(await bob.call_tool("portfolio", {}))
        assert (await bob.call_tool("update_portfolio", change)).is_error  # it cannot ask


async def test_over_http_only_the_token_opens_and_a_signal_ends_it(tmp_path: Path) -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *(*BEGIN, "--http", str(port), "-c", config(tmp_path)),
        env=env() | {"PATH": os.environ["PATH"]},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        assert line == f"swarmgate: serving http://127.0.0.1:{port}/mcp\n"
        url = f"http://127.0.0.1:{port}/mcp"

        def listens() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        await until(listens)
        token = (tmp_path / "data" / "mcp-token").read_text().strip()
        async with httpx2.AsyncClient() as stranger:
            assert (await stranger.post(url, json={})).status_code == 401
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as friend,
            Client(streamable_http_client(url, http_client=friend)) as client,
        ):
            assert "run_backtest" in {t.name for t in (await client.list_tools()).tools}
    finally:
        process.terminate()
        out, _ = await process.communicate()
    assert out == b""
    assert process.returncode in (0, -15)


async def test_wrong_use_is_one_line_with_its_cure(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *(*BEGIN, "--tier", "3", "-c", config(tmp_path)),
        env=env() | {"PATH": os.environ["PATH"]},
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == 2
    assert said.decode().count("\n") == 1
    assert "--user" in said.decode()
