"""What tools and sub-agents did stays with the reply, also when the turn was stopped or went on after a restart."""

import asyncio
import json

from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.types import ToolResult
from channels.types import Step
from gateway.storage.db import Database
from tests.harness import agent, call, delegate, team
from tests.house import House, on_sqlite, until

TEAM = team(agent(tools=("echo", "fail")), agent("research", tools=("echo", "fail")))
BEHIND = (
    Step("e1", "Echo", "ok", "one"),
    Step("f1", "Fail", "failed", "no such thing; try another"),
    Step("d1", "Research", "ok", "look", "research"),
    Step("r1", "Echo", "ok", "inner", "research", "d1"),
)


class Script:
    """Two calls, a delegation with a call of its own, then an answer that waits for `go` after its first word."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.answering = asyncio.Event()

    async def __call__(self, request: ModelRequest) -> Answer | str:
        known = {b.call_id for m in request.messages for b in m.blocks if isinstance(b, ToolResult)}
        if "research" in request.system:
            return "found" if known else Answer(calls=(call("echo", "r1", words="inner"),))
        if not known:
            return Answer(calls=(call("echo", "e1", words="one"), call("fail", "f1")))
        if "d1" not in known:
            return Answer(calls=(delegate("research", call_id="d1"),))
        self.answering.set()
        await self.go.wait()
        return "done"


async def kept(house: House) -> tuple[Step, ...]:
    """The steps that the reply in the outbox has."""
    body = json.loads(await house.one("select body from outbox where key = 'reply'"))
    return tuple(Step(*entry) for entry in body["steps"])


def turn(script: Script, db: Database, **more: object) -> House:
    return House(db, ScriptedModel(script), the_team=TEAM, **more)  # type: ignore[arg-type]


async def test_a_reply_keeps_what_was_done_for_it(db: Database) -> None:
    script = Script()
    script.go.set()
    async with turn(script, db) as house:
        await house.ask("go")
        assert await kept(house) == BEHIND


@on_sqlite
async def test_a_stopped_turn_keeps_what_was_done_until_then(db: Database) -> None:
    script = Script()
    async with turn(script, db) as house:
        await house.say("go")
        await script.answering.wait()
        await house.say("/stop")
        await house.quiet()
        assert await kept(house) == BEHIND


async def test_a_turn_that_goes_on_after_a_restart_shows_and_keeps_what_is_behind_it(
    db: Database,
) -> None:
    script = Script()
    async with turn(script, db) as house:
        await house.say("go")
        await script.answering.wait()
    script.go.set()
    async with turn(script, db, channel=house.channel) as again:
        await again.quiet()
        stream = again.channel.streams[-1]
        await until(lambda: stream.closed)
        assert stream.previews[0].steps == BEHIND
        assert await kept(again) == BEHIND


@on_sqlite
async def test_a_call_that_the_restart_interrupted_is_shown_as_running(db: Database) -> None:
    async def hangs(request: ModelRequest) -> Answer | str:
        told = any(isinstance(b, ToolResult) for m in request.messages for b in m.blocks)
        return "done" if told else Answer(calls=(call("slow", "s1", seconds=0.2),))

    async with House(db, ScriptedModel(hangs)) as house:
        await house.say("go")
        await until(lambda: house.tools.running)
    async with House(db, ScriptedModel(hangs), channel=house.channel) as again:
        await again.quiet()
        assert again.channel.streams[-1].previews[0].steps == (Step("s1", "Slow", detail="0.2"),)
        assert await kept(again) == (Step("s1", "Slow", "ok", "0.2"),)
