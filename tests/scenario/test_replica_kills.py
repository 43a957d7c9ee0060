"""Several gateways on one PostgreSQL: whatever happens to one of them, another goes on, and nothing happens twice."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.databases import create_database
from tests.scenario.replicas import Replicas, replicas
from tests.twins.llm_script import Attempts, Turn, call, say

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(240)]

LONG = 60.0  # seconds that something hangs until the kill
EACH = 3  # people for whom a moment is tried


@pytest_asyncio.fixture
async def scene(postgres_server: str, tmp_path: Path) -> AsyncIterator[Replicas]:
    async with replicas(tmp_path, create_database(postgres_server)) as made:
        yield made


def people(moment: str) -> list[str]:
    return [f"{moment}{n}" for n in range(EACH)]


def answer(person: str) -> str:
    return f"This is the answer for {person}."


def script(scene: Replicas, person: str, *turns: Attempts, words: str = "question") -> None:
    scene.model.reply_to(rf"^{words} of {person}$", turns)


def in_the_model_call(scene: Replicas, person: str) -> None:
    script(scene, person, [Turn([say("lost")], delay=LONG), answer(person)])


def in_a_call_that_ends_late(scene: Replicas, person: str) -> None:
    script(scene, person, [Turn([say("late")], delay=8.0), answer(person)])


def in_the_stream(scene: Replicas, person: str) -> None:
    script(scene, person, [Turn([say("half of an answer " * 1000)], gap=0.05), answer(person)])


def after_the_intent(scene: Replicas, person: str) -> None:
    script(scene, person, Turn([call("order_goods", {"label": person})]), answer(person))


def in_a_tool(scene: Replicas, person: str) -> None:
    script(scene, person, Turn([call("slow_look", {"label": person})]), answer(person))


def in_a_sub_agent(scene: Replicas, person: str) -> None:
    lead = Turn([call("delegate_to_helper", {"task": f"task of {person}"})])
    script(scene, person, lead, answer(person))
    look = Turn([call("slow_look", {"label": person})])
    script(scene, person, look, f"seen by {person}", words="task")


MOMENTS = {
    "call": in_the_model_call,
    "late": in_a_call_that_ends_late,
    "stream": in_the_stream,
    "intent": after_the_intent,
    "tool": in_a_tool,
    "helper": in_a_sub_agent,
}
KILLED = ("call", "stream", "intent", "tool", "helper")
EVERYBODY = [person for moment in KILLED for person in people(moment)]
LOOKERS = [*people("tool"), *people("helper")]


async def begun(scene: Replicas, *moments: str) -> None:
    """Both run; the second one stands still, so that the first one gets everything. All are at their moment."""
    for moment in moments:
        for person in people(moment):
            MOMENTS[moment](scene, person)
    scene.plugin.hold()
    await asyncio.gather(*(gateway.start() for gateway in scene.gateways))
    scene.pause(1)
    everybody = [person for moment in moments for person in people(moment)]
    for person in everybody:
        await scene.say(person, f"question of {person}")
    lookers = [person for person in everybody if person in LOOKERS]
    orderers = [person for person in everybody if person in people("intent")]
    await scene.until(lambda: len(scene.plugin.traces("looks")) == len(lookers))
    await scene.until(lambda: len(scene.plugin.traces("orders")) == len(orderers))
    helped = EACH if "helper" in moments else 0
    await scene.until(lambda: len(scene.model.answers) == len(everybody) + helped)
    await asyncio.sleep(0.3)  # some of the stream
    scene.go_on(1)


async def test_a_survivor_goes_on_where_a_killed_replica_was(scene: Replicas):
    """In a model call, in its stream, after the intent of an order, in a tool, and in a sub-agent's tool."""
    await begun(scene, *KILLED)
    await scene.gateways[0].kill()
    scene.plugin.release()
    for person in EVERYBODY:
        await scene.say(person, f"next of {person}", to=1)
    await scene.settled()
    for person in EVERYBODY:
        first, second = scene.replies(person)
        assert answer(person) in first
        assert f"next of {person}" in second
    scene.sound()
    assert sorted(scene.plugin.traces("orders")) == people("intent")  # TGV-10: never twice
    results = scene.first.rows("select body from transcript where kind = 'result'")
    assert sum("Outcome unknown" in row.body for row in results) == EACH  # and the model is told
    assert Counter(scene.plugin.traces("looks")) == dict.fromkeys(LOOKERS, 2)


async def test_a_replica_that_stood_still_is_fenced_when_it_goes_on(scene: Replicas):
    await begun(scene, "late", "intent")
    scene.pause(0)
    await scene.settled()
    scene.go_on(0)
    scene.plugin.release()
    await scene.until(lambda: fenced(scene) == 2 * EACH)
    for person in [*people("late"), *people("intent")]:
        (only,) = scene.replies(person)
        assert answer(person) in only
    assert sorted(scene.plugin.traces("orders")) == people("intent")
    assert scene.first.count("turn", "status <> 'done'") == 0
    await scene.say("late0", "still there", to=0)
    await scene.settled()
    assert "still there" in scene.replies("late0")[-1]


def fenced(scene: Replicas) -> int:
    lines = scene.gateways[0].lines
    return sum(
        line.get("event") == "turn_left" and line.get("reason") == "Fenced" for line in lines
    )


async def test_a_replica_that_is_stopped_hands_its_turns_over(scene: Replicas):
    """Ten seconds of grace, then the other one goes on at once, long before it would hold the first one to be dead."""
    await begun(scene, "call")
    assert await scene.gateways[0].terminate(timeout=25.0) == 0
    await scene.settled(5.0)
    for person in people("call"):
        assert answer(person) in scene.replies(person)[0]
    scene.sound()
    assert not [w for w in scene.gateways[1].lines if w.get("event") == "job_taken_from_dead"]
