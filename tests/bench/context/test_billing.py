"""The benchmark's bill is the twin's bill, and on a session of our own the policies come out in their order."""

from random import Random

import pytest

from agent_core.compaction.strategies import POLICIES
from agent_core.models.anthropic import AnthropicModel
from agent_core.models.anthropic_wire import Form, body
from agent_core.ports import FinishedChunk
from agent_core.types import ToolResult, ToolUse, assistant
from tests.bench.context import facts
from tests.bench.context.billing import INFO, Prefixes
from tests.bench.context.replay import Replay, Result
from tests.bench.context.transcripts import Session, Step, Turn
from tests.twins.anthropic import AnthropicTwin
from tests.twins.anthropic_cache import prefixes_of
from tests.twins.llm_script import Turn as Said
from tests.twins.llm_script import say

WINDOW = 16_000


def session(turns: int) -> Session:
    """A chat in which each turn looks something up, and some look twice."""
    draw = Random(3)
    made = []
    for n in range(turns):
        turn = Turn(f"What about item {n}? " + "Please. " * draw.randrange(8))
        for look in range(1 + draw.randrange(2)):
            id_ = f"c{n}-{look}"
            result = ToolResult(id_, "look_up", f"item {n}: " + "row " * draw.randrange(50, 500))
            call = assistant("I look.", ToolUse(id_, "look_up", {"item": n}))
            turn.steps.append(Step(call, (result,)))
        turn.steps.append(Step(assistant(f"Item {n} is fine. " * 8)))
        made.append(turn)
    return Session("own", "You are a clerk. " * 300, tuple(made))


async def replayed(name: str | None, turns: int, **options: object) -> Result:
    policy = None if name is None else POLICIES[name]
    replay = Replay(session(turns), policy, gap=60, window=WINDOW, **options)  # type: ignore[arg-type]
    return await replay.run()


@pytest.mark.slow
async def test_the_benchmark_and_the_twin_agree_on_the_bill_to_the_token() -> None:
    """Issue, done 3: one session with a compaction, through the real adapter and HTTP."""
    result = await replayed("economic", 40, keep_requests=True)
    assert result.summaries
    twin = AnthropicTwin()
    await twin.start()
    now = 0.0
    twin.cache.clock = lambda: now
    model = AnthropicModel(INFO, provider="anthropic", api_key="k", base_url=twin.url)
    try:
        for (now, request), bill in zip(result.requests, result.bills, strict=True):  # noqa: B007 - the twin's clock
            twin.script(Said([say("ok")]))
            last = None
            async for chunk in model.stream(request):
                last = chunk
            assert isinstance(last, FinishedChunk)
            seen = last.usage
            assert (
                seen.input_tokens,
                seen.cache_read_tokens,
                seen.cache_write_tokens,
                seen.cache_write_1h_tokens,
            ) == (
                bill.input_tokens,
                bill.cache_read_tokens,
                bill.cache_write_tokens,
                bill.cache_write_1h_tokens,
            )
    finally:
        await model.close()
        await twin.stop()
    assert twin.violations == []


@pytest.mark.parametrize("name", [None, "economic", "eager", "truncate"])
async def test_the_short_cut_of_the_benchmark_gives_the_wires_own_prefixes(
    name: str | None,
) -> None:
    """What is taken over from the request before is what it would have been anew."""
    result = await replayed(name, 16, keep_requests=True)
    prefixes = Prefixes(INFO, Form())
    for _, request in result.requests:
        found, marks = prefixes.of(request)
        assert (found, marks) == prefixes_of(body(request, INFO, Form()))


@pytest.mark.slow
async def test_economic_costs_half_of_eager_and_keeps_what_was_said() -> None:
    """Guide, 1 to 3: cost against never compacting, with entries of five minutes; facts at the end."""
    never = await replayed(None, 120, ttl="5m")
    economic = await replayed("economic", 120, ttl="5m")
    eager = await replayed("eager", 120, ttl="5m")
    assert economic.cost < 0.45 * never.cost
    assert economic.cost < 0.6 * eager.cost
    assert economic.facts >= 0.95
    assert economic.reachable == 1.0
    assert economic.largest <= WINDOW


def test_planted_facts_are_thirty_and_each_is_said_once() -> None:
    """The facts column: each value occurs in one turn of the person's."""
    found = facts.made(7)
    said = [t.text for t in facts.plant(session(40), found).turns]
    assert len(found) == facts.PLANTED == len({f.value for f in found})
    assert all(sum(f.value in text for text in said) == 1 for f in found)
