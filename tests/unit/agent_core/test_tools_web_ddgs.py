"""web_search by the package ddgs: its own engines and client against a server on loopback."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from agent_core.tools.spec import ToolFailure
from agent_core.tools.web_search import DdgsSearch, Hit
from tests.unit.agent_core.outside_desk import page, site

PAGE = """<html><body>
<div class="result body"><h2>Apple results</h2><a href="https://a.example/1">Revenue of <b>Apple</b> rose</a></div>
<div class="result body"><h2>More</h2><a href="https://b.example/2">Apple again</a></div>
</body></html>"""


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The DuckDuckGo engine of ddgs at another address."""
    from ddgs.engines import ENGINES

    def at(port: int) -> DdgsSearch:
        known = ENGINES["text"]["duckduckgo"]
        local = type(
            "Local", (known,), {"name": "local", "search_url": f"http://127.0.0.1:{port}/"}
        )
        monkeypatch.setitem(ENGINES["text"], "local", local)
        return DdgsSearch("local", seconds=2)

    return at


async def test_results_come_from_the_engine(engine: Any) -> None:
    async with site(page(PAGE)) as it:
        hits = await engine(it.port).search("apple revenue", 5, "en")
        assert Hit("Apple results", "https://a.example/1", "Revenue of Apple rose") in hits
        assert len(hits) == 2
        assert len(it.paths) == 1


async def test_nothing_found_is_no_error(engine: Any) -> None:
    async with site(page("<html><body><p>nothing</p></body></html>")) as it:
        assert await engine(it.port).search("apple", 5, "zh") == []


async def test_an_engine_that_is_down_or_silent_is_said(engine: Any) -> None:
    async def handler(_: web.Request) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    async with site(handler) as it:
        search = engine(it.port)
        search._seconds = 0.5
        with pytest.raises(ToolFailure, match=r"did not answer within 0\.5 s|do not answer"):
            await search.search("apple", 5, "en")
    with pytest.raises(ToolFailure, match="do not answer"):
        await engine(it.port).search("apple", 5, "en")
