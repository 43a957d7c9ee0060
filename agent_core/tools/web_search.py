"""Where web_search looks: public search engines by the package ddgs (extra [web]), or a SearXNG server of one's own."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

from agent_core.tools.spec import ToolFailure

RESULTS = 10
SECONDS = 20.0
BYTES = 2 * 2**20
_REGIONS = {"en": "us-en", "zh": "cn-zh"}
_LANGUAGES = {"en": "en", "zh": "zh-CN"}


@dataclass(frozen=True, slots=True)
class Hit:
    """One result as the engine gave it: words of strangers."""

    title: str
    url: str
    snippet: str


class Search(Protocol):
    """Finds pages. `name` is the source that answers are marked with."""

    @property
    def name(self) -> str:
        """Short, for the model and the person."""
        ...

    async def search(self, query: str, limit: int, language: str) -> Sequence[Hit]:
        """At most `limit` results, best first; none is no error. Raises ToolFailure; may be cancelled."""
        ...


def search_by(url: str | None) -> Search | None:
    """The search of an installation: the server at `url`, else ddgs where it is installed, else none."""
    if url:
        return SearxSearch(url)
    return DdgsSearch() if find_spec("ddgs") else None


class DdgsSearch:
    """Public engines by ddgs, in a thread: its library blocks.

    Args:
        backend: the engines to ask, as ddgs names them; auto chooses and goes on to the next.
    """

    name = "ddgs"

    def __init__(self, backend: str = "auto", seconds: float = SECONDS) -> None:
        self._backend = backend
        self._seconds = seconds

    async def search(self, query: str, limit: int, language: str) -> Sequence[Hit]:
        """See Search. A thread that overruns its time ends by its own time-outs; its answer is dropped."""
        try:
            async with asyncio.timeout(self._seconds):
                found = await asyncio.to_thread(self._ask, query, limit, language)
        except TimeoutError:
            raise ToolFailure(
                f"The search did not answer within {self._seconds:g} s. Try again later."
            ) from None
        return [_hit(entry, "href", "body") for entry in found]

    def _ask(self, query: str, limit: int, language: str) -> list[dict[str, Any]]:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException

        engine = DDGS(timeout=max(1, round(self._seconds / 2)))
        region = _REGIONS.get(language, "wt-wt")
        try:
            return engine.text(query, region=region, max_results=limit, backend=self._backend)
        except DDGSException as error:
            if "no results" in str(error).lower():
                return []
            said = " ".join(str(error).split())[:200]
            raise ToolFailure(
                f"The search engines do not answer: {said}. Try again later."
            ) from None


class SearxSearch:
    """A SearXNG server whose settings allow the format json (`search.formats`). Its address is the operator's own."""

    name = "searxng"

    def __init__(self, url: str, seconds: float = SECONDS) -> None:
        self._url = url if url.rstrip("/").endswith("/search") else f"{url.rstrip('/')}/search"
        self._seconds = seconds

    async def search(self, query: str, limit: int, language: str) -> Sequence[Hit]:
        """See Search."""
        import aiohttp

        asked = {"q": query, "format": "json", "language": _LANGUAGES.get(language, "all")}
        try:
            async with (
                asyncio.timeout(self._seconds),
                aiohttp.ClientSession() as session,
                session.get(self._url, params=asked) as answer,
            ):
                if answer.status == 403:
                    raise ToolFailure(
                        "The search server gives no JSON: its operator adds json to search.formats in its settings."
                    )
                if answer.status != 200:
                    raise ToolFailure(f"The search server answered {answer.status}.")
                data = await answer.content.read(BYTES + 1)
                while len(data) <= BYTES and (more := await answer.content.read(BYTES)):
                    data += more
        except TimeoutError:
            message = f"The search server did not answer within {self._seconds:g} s."
            raise ToolFailure(message) from None
        except (aiohttp.ClientError, OSError) as error:
            raise ToolFailure(
                f"The search server is not reached: {type(error).__name__}."
            ) from None
        return _results(data)[:limit]


def _results(data: bytes) -> list[Hit]:
    """The results in a server's answer. Raises ToolFailure for anything else, such as a page of HTML."""
    try:
        found = json.loads(data) if len(data) <= BYTES else None
    except ValueError:
        found = None
    entries = found.get("results") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        raise ToolFailure("The search server did not answer with results as JSON.")
    return [_hit(entry, "url", "content") for entry in entries if isinstance(entry, dict)]


def _hit(entry: dict[str, Any], url: str, snippet: str) -> Hit:
    return Hit(
        str(entry.get("title") or ""), str(entry.get(url) or ""), str(entry.get(snippet) or "")
    )
