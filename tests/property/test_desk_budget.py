"""Whatever meets in a run of sub-agents, no pot is overspent: through the real runtime, on a scripted model.

Parallel delegations, retries, a fallback model, steps made again, and a death at any commit (issue "5 of 8", item 5).
"""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_core.budget.pots import OwnPots, Pot
from agent_core.errors import ModelOverloaded
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelInfo, ModelRequest, Price
from agent_core.runtime.flow import Branch, Parallel, Reply, Step
from agent_core.runtime.team import Policy, Status, Team
from agent_core.types import ToolResult, Usage
from gateway.storage.db import Database
from gateway.storage.schema import open_database
from tests.harness import agent, delegate, team
from tests.house import House
from tests.house import settings as rules
from tests.loopback import Loopback
from tests.outages import DyingDatabase, Killed

# An answer of 4,096 tokens may cost 0.41 dollars; what is read is next to nothing.
PRICED = ModelInfo("a/model", 200_000, 8_192, True, "none", Price(0.01, 100.0, 0.01, 0.01))
NAMES = ("a", "b", "c")
NANO = 1_000_000_000
CHATS = itertools.count(1)


@dataclass(frozen=True)
class Mix:
    """One example: what agents say call by call (None fails, else cents), their policies, sizes of pots, the death."""

    said: dict[str, list[int | None]]
    retries: int
    other: bool
    planned: bool
    user: int
    run: int
    dies: int | None
    after: bool


mixes = st.builds(
    Mix,
    said=st.fixed_dictionaries(
        {n: st.lists(st.none() | st.integers(15, 40), min_size=1, max_size=4) for n in NAMES}
    ),
    retries=st.integers(0, 2),
    other=st.booleans(),
    planned=st.booleans(),
    user=st.integers(60, 200),
    run=st.integers(60, 200),
    dies=st.none() | st.integers(3, 50),
    after=st.booleans(),
)


@dataclass
class Cast:
    """Says what a mix has its agents say; counts what was answered to the end."""

    mix: Mix
    calls: dict[str, int] = field(default_factory=dict)

    async def __call__(self, request: ModelRequest) -> Answer:
        await asyncio.sleep(0)  # so that agents are really side by side
        who = request.system.split(".")[0].removeprefix("You are ")
        if who not in NAMES:
            told = any(isinstance(b, ToolResult) for m in request.messages for b in m.blocks)
            asks = tuple(delegate(n, f"look {n}", call_id=f"d{n}") for n in NAMES)
            return Answer("done", usage=cents(5)) if told else Answer(calls=asks, usage=cents(5))
        number = self.calls[who] = self.calls.get(who, 0) + 1
        cost = self.mix.said[who][(number - 1) % len(self.mix.said[who])]
        return (
            Answer(error=ModelOverloaded("p")) if cost is None else Answer("x", usage=cents(cost))
        )


def cents(cost: int) -> Usage:
    return Usage(100, 10, usd=cost / 100, usd_uncached=cost / 100)


def desk_of(mix: Mix) -> Team:
    other = "demo" if mix.other else None
    again = Policy("use_partial", retryable=True, max_retries=mix.retries, fallback_model=other)
    policy = {Status.ERROR: again, Status.PARTIAL: again}
    made = team(agent(), *(agent(name, policy=policy, concurrency=2) for name in NAMES))
    step = Step("all", Parallel(tuple(Branch(name, f"look {name}") for name in NAMES)))
    pot = OwnPots((Pot("run", usd=mix.run * NANO // 100),))
    return replace(made, budget=pot, flow=(step, Step("end", Reply())) if mix.planned else ())


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    db = await open_database(url)
    try:
        yield db
    finally:
        await db.close()


def house_of(db: Database, mix: Mix, model: ScriptedModel, channel: Loopback) -> House:
    pots = {"user_day": {"usd": mix.user / 100}, "channel_day": {"usd": 2}}
    own = rules(access={"default": "allow"}, budgets=pots)
    return House(db, model, rules=own, the_team=desk_of(mix), channel=channel)


async def sound(home: House, mix: Mix, chat: str) -> dict[str, int]:
    """What is spent, by pot; with what is set aside it is within each."""
    sizes = {"user_day": mix.user, "channel_day": 200, "run": mix.run}
    runs = f"select cast(id as text) from turn where principal = 'telegram:{chat}'"
    where = f"where key in ('telegram:{chat}', 'telegram:777:{chat}') or (kind = 'run' and key in ({runs}))"
    rows = await home.all(f"select kind, usd, usd_held from budget_pot {where}")
    for kind, usd, held in rows:
        assert 0 <= usd + held <= sizes[kind] * NANO // 100, (kind, usd, held)
    return {kind: usd for kind, usd, _ in rows}


async def lived(url: str, mix: Mix) -> None:
    """A run that may die at a commit, then the next process, then the books."""
    chat = str(next(CHATS))
    model, channel = ScriptedModel(Cast(mix), info=PRICED), Loopback()
    async with opened(url) as db:
        if mix.dies is not None:
            await died(db, mix, model, channel, chat)
        async with house_of(db, mix, model, channel) as home:
            if mix.dies is None:
                await home.say("go", author=chat, chat=chat, key=f"m:{chat}")
            await home.quiet()
            spent = await sound(home, mix, chat)
            open_ = "select count(*) from budget_hold h join turn t on t.id = h.turn_id"
            assert await home.one(f"{open_} where t.principal = 'telegram:{chat}'") == 0
            turns = f"select id from turn where principal = 'telegram:{chat}'"
            paid = await home.one(
                f"select coalesce(sum(usd), 0) from usage where turn_id in ({turns})"
            )
            assert all(abs(usd - paid * NANO) < 1_000 for usd in spent.values()), (spent, paid)


async def died(db: Database, mix: Mix, model: ScriptedModel, channel: Loopback, chat: str) -> None:
    assert mix.dies is not None
    # What was under way when the process died has nobody left who would hear of it.
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    async with house_of(db, mix, model, channel) as first:  # takes the message in, and no more
        first.engine.wake = lambda *_: None  # type: ignore[method-assign]
        await first.say("go", author=chat, chat=chat, key=f"m:{chat}")
    dying = DyingDatabase(db, mix.dies, after=mix.after)
    home = house_of(dying, mix, model, channel)
    try:
        async with home:
            open_ = f"select count(*) from inbox where key = 'm:{chat}' and status < 2"
            while not dying.dead and await home.one(open_):
                await asyncio.sleep(0.002)
    except* Killed:
        pass
    home.db = db
    await sound(home, mix, chat)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database that all examples use, each with a person and a chat of its own."""
    folder: Path = tmp_path_factory.mktemp("desk")
    return f"sqlite:///{folder / 'test.db'}"


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mix=mixes)
def test_no_run_of_sub_agents_overspends(url: str, mix: Mix) -> None:
    asyncio.run(lived(url, mix))


@pytest.mark.slow
@pytest.mark.timeout(600)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mix=mixes)
def test_no_run_of_sub_agents_overspends_in_many_mixes(url: str, mix: Mix) -> None:
    asyncio.run(lived(url, mix))
