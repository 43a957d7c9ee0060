"""Turns that pay from the pots of one ledger, as the runtime drives them: what the tests of the ledger share.

As a module it is a process of such turns: `python -m tests.property.ledger_turns URL` reads steps as a line of JSON,
takes them one after the other, and writes a line before and after each that pays.
"""

import asyncio
import datetime as dt
import json
import sys
from dataclasses import dataclass, field

from sqlalchemy import Connection

from agent_core.budget.ledger import Purse, Settled, refs
from agent_core.budget.pots import Payer, Pot, Rules, nano
from agent_core.ports import Need
from agent_core.storage import ledger
from agent_core.storage.ledger import Hold, PotRow
from agent_core.types import Usage
from gateway.storage.db import Database
from gateway.storage.schema import open_database

NOW = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
USD, TOKENS = 1_000, 400
POTS = (
    Pot("run", usd=600),
    Pot("user_day", usd=700, tokens=TOKENS),
    Pot("day", usd=USD),
)
SESSIONS = ("s", "s/1", "s/2", "s/3")
TURNS = (1, 2, 3, 4)  # odd ones are one person's, even ones another's


@dataclass(frozen=True)
class Step:
    """One thing that happens to a session of a turn. `worst` and `real` in nano-dollars; real ≤ worst."""

    what: str
    turn: int
    session: str
    worst: int
    real: int
    tokens: int


@dataclass
class Runtime:
    """Turns of two people as the runtime drives them: a call is only made once it is set aside."""

    db: Database
    purses: dict[int, Purse] = field(default_factory=dict)
    inside: set[tuple[int, str]] = field(default_factory=set)

    def purse(self, turn: int) -> Purse:
        if turn not in self.purses:
            payer = Payer(f"telegram:{turn % 2}", "telegram:777:1", turn)
            self.purses[turn] = Purse(Rules(POTS), payer, loaded=False)
        return self.purses[turn]

    async def run(self, step: Step) -> None:
        self.purse(step.turn)
        match step.what:
            case "crash":
                self.purses.pop(step.turn)  # what it knew is lost; the next run looks
            case "end":
                await self._settle(step, Usage(), last=True)
                self.purses.pop(step.turn, None)
            case "fail":
                await self._reserve(step, step.worst)  # no answer: nothing is settled
            case "retry":
                await self._reserve(step, step.worst)
                await self._pay(step, step.worst)
            case "fallback":
                await self._reserve(step, step.worst)
                await self._pay(step, step.worst + 50, real=step.real)  # a dearer model
            case "unseen":
                await self._pay(step, step.worst, twice=True)
            case _:
                await self._pay(step, step.worst)

    async def _pay(
        self, step: Step, worst: int, *, real: int | None = None, twice: bool = False
    ) -> None:
        if await self._reserve(step, worst, twice=twice):
            cost = step.real if real is None else real
            usage = Usage(step.tokens, 0, usd=cost / 1e9)
            await self._settle(step, usage, last=False, twice=twice)

    async def _reserve(self, step: Step, worst: int, *, twice: bool = False) -> bool:
        purse, need = self.purse(step.turn), Need("m", step.tokens, worst / 1e9)
        if purse.covers(step.session, need, NOW):
            return True
        made = None
        for _ in range(1 + twice):  # a commit whose answer was lost is made again
            made = await self.db.write(lambda c: purse.reserve(c, step.session, need, NOW))
            if not isinstance(made, Hold):
                return False
        assert isinstance(made, Hold)
        purse.kept(step.session, made, NOW)
        return True

    async def _settle(self, step: Step, usage: Usage, *, last: bool, twice: bool = False) -> None:
        purse = self.purse(step.turn)
        done: Settled | None = None
        for _ in range(1 + twice):
            done = await self.db.write(
                lambda c: purse.settle(c, step.session, usage, NOW, last=last)
            )
        if done is not None:
            purse.kept(step.session, done.hold)


def rows_of(conn: Connection) -> list[PotRow]:
    payers = [Payer(f"telegram:{turn % 2}", "telegram:777:1", turn) for turn in TURNS]
    wanted = {ref for payer in payers for ref in refs(POTS, payer, NOW, "UTC")}
    return ledger.pots_of(conn, sorted(wanted, key=str))


async def check(db: Database) -> list[PotRow]:
    """Spent and set aside together never go beyond a pot, and nothing is below nothing."""
    rows = await db.read(rows_of)
    sizes = {pot.kind: pot for pot in POTS}
    for row in rows:
        pot = sizes[row.kind]  # type: ignore[index]
        assert row.usd + row.usd_held <= (pot.usd or 0)
        assert pot.tokens is None or row.tokens + row.tokens_held <= pot.tokens
        assert min(row.usd, row.usd_held, row.tokens, row.tokens_held) >= 0
    return rows


async def ended(db: Database) -> None:
    """When every turn has ended, nothing is set aside any more."""
    runtime = Runtime(db)
    for turn in TURNS:
        await runtime.run(Step("end", turn, "s", 0, 0, 0))
    for row in await check(db):
        assert (row.usd_held, row.tokens_held) == (0, 0)


class Told(Runtime):
    """A runtime that writes down what it pays: once before the transaction, once after its commit."""

    async def _settle(self, step: Step, usage: Usage, *, last: bool, twice: bool = False) -> None:
        cost = nano(usage.usd or 0.0)
        print("pays", cost, flush=True)
        await super()._settle(step, usage, last=last, twice=twice)
        print("paid", cost, flush=True)


async def process(url: str) -> None:
    """Take the steps that come as one line, once there is a connection; an overspent pot ends it with an error."""
    db = await open_database(url)
    try:
        print("ready", flush=True)
        given = await asyncio.to_thread(sys.stdin.readline)
        runtime = Told(db)
        for step in json.loads(given):
            await runtime.run(Step(**step))
            await check(db)
            print("done", flush=True)
    finally:
        await db.close()


if __name__ == "__main__":
    asyncio.run(process(sys.argv[1]))
