"""A book in memory for tests of reports and decisions: what was put into it can be read, by its owner alone."""

import asyncio
import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import pytest

from agent_core.book import Holding
from agent_core.finance import work
from agent_core.finance.portfolio_books import Contents
from agent_core.ports import Model
from agent_core.tools.spec import ToolContext
from tests.unit.agent_core.made_prices import Still

ALICE = "telegram:1"


class Book:
    """Keeps records by owner, newest first, and one profile a symbol."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, Any]] = []

    async def put(self, owner: str, record: Any) -> int:
        self.kept.append((owner, replace(record, id=len(self.kept) + 1)))
        return len(self.kept)

    async def records(self, owner: str, kind: Any, limit: int = 500) -> list[Any]:
        mine = [record for who, record in self.kept if who == owner and isinstance(record, kind)]
        return mine[::-1][:limit]

    def of(self, kind: Any, owner: str = ALICE) -> list[Any]:
        return [record for who, record in self.kept if who == owner and isinstance(record, kind)]

    async def remove(self, owner: str, kind: Any, record_id: int) -> bool:
        raise AssertionError("nothing is deleted")

    async def look(self, look: Any) -> Any:
        raise AssertionError("a message is looked at by others")


class Books:
    """What alice holds; `place` is whether the turn is private."""

    def __init__(self, *holdings: Holding, place: bool = True) -> None:
        self.it = Contents(holdings)
        self.place = place

    async def private(self, turn_id: int) -> bool:
        return self.place

    async def contents(self, owner: str) -> Contents:
        return self.it if owner == ALICE else Contents()

    async def plan(self, owner: str, items: Any, as_of: Any) -> Any:
        raise AssertionError("nothing is changed")

    async def carry_out(
        self, owner: str, items: Any, source: str, *, bound: str, twice: bool
    ) -> Any:
        raise AssertionError("nothing is changed")


def context(
    language: Literal["en", "zh"] = "en",
    as_of: str | None = None,
    owner: str = ALICE,
    model: Model | None = None,
) -> ToolContext:
    day = dt.date.fromisoformat(as_of) if as_of else None
    return ToolContext(owner, "s", 1, "c1", language, Still(), day, model=model)


@pytest.fixture(scope="module", autouse=True)
def one_worker() -> Iterator[None]:
    """All tests of a file share one process, which does not outlive them."""
    yield
    asyncio.run(work.close())
