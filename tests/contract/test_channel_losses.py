"""Every message in is accounted for, and every answer comes to the chat that asked, on every platform."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from agent_core.types import ToolResult
from gateway.engine.begin import begin
from gateway.engine.begun import Chosen
from gateway.engine.upcoming import hold
from gateway.storage.db import Database
from tests.contract.desk import ALL, HOOKS, PLATFORMS, Desk, desk, echo, last_words, restart
from tests.contract.outages import away
from tests.contract.rigs.base import Rig
from tests.contract.rooms import room, whisper
from tests.harness import PLACE, agent, delegate, team
from tests.house import on_sqlite, until

pytestmark = [
    on_sqlite,
    pytest.mark.slow,
]  # the whole gateway behind every platform, many times over
QUEUE = {"sessions": {"while_busy": "queue"}}
HELPED = team(agent(tools=("echo",)), agent("helper"))


@pytest.fixture(params=[*ALL, *HOOKS], ids=lambda kind: kind.__name__.removesuffix("Rig"))
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """A platform; its protocol must have been kept."""
    async with request.param() as made:
        yield made
    assert made.violations == []


def on(*kinds: type[Rig]) -> pytest.MarkDecorator:
    """Only at these platforms."""
    names = [kind.__name__.removesuffix("Rig") for kind in kinds]
    return pytest.mark.parametrize("rig", kinds, indirect=True, ids=names)


# In ------------------------------------------------------------------------------------------------------------------


@on(*PLATFORMS, *HOOKS)
async def test_six_messages_sent_while_it_was_down_are_six_turns(db: Database, rig: Rig) -> None:
    """hermes#87040, #41193: a cold start finds them. Pages and clients are refused while it is down."""
    restart(rig, db)
    async with desk(db, rig, echo) as it:
        await rig.say("hello")
        assert await it.shown() == ["re hello"]
    for n in range(1, 7):
        await rig.say(f"m{n}")
    restart(rig, db)
    async with desk(db, rig, echo, values=QUEUE) as it:
        assert in_order(rig, await it.shown(7)) == ["re hello", *(f"re m{n}" for n in range(1, 7))]
        await it.settled()
        assert await it.one("select count(*) from turn") == 7


@on(*PLATFORMS, *HOOKS)
async def test_six_messages_sent_while_it_was_down_are_all_heard_when_words_are_steered_in(
    db: Database, rig: Rig
) -> None:
    """hermes#87040 with the default `while_busy`: what arrives behind the first turn's begin may join it."""
    restart(rig, db)
    async with desk(db, rig, echo) as it:
        await rig.say("hello")
        assert await it.shown() == ["re hello"]
    for n in range(1, 7):
        await rig.say(f"m{n}")
    restart(rig, db)
    async with desk(db, rig, echo) as it:
        await rig.inbound(7)
        await it.settled()
        found = in_order(rig, await heard(it))
        assert found == ["hello", *(f"m{n}" for n in range(1, 7))]


def in_order(rig: Rig, texts: list[str]) -> list[str]:
    """As they are; for Slack, which hands over in any order what had to wait, sorted."""
    return sorted(texts) if rig.name == "slack" else texts


async def heard(it: Desk) -> list[str]:
    """The words of people in the transcripts, in order, each as often as it stands there."""
    bodies = await it.all("select body from inbox order by id")
    refs = await it.all("select ref from transcript where kind = 'user' order by id")
    ids = await it.all("select id from inbox order by id")
    assert [int(r[0]) for r in refs] == [i[0] for i in ids]
    return [json.loads(b[0])["text"] for b in bodies]


async def test_the_platform_is_told_only_when_the_row_is_committed(db: Database, rig: Rig) -> None:
    """openclaw#42157: a webhook's 200, a socket's ack, a poll's offset, a page's 202. Discord is told nothing."""
    async with desk(db, rig, echo) as it:
        rig.gate.clear()
        await rig.say("hello")
        await rig.begun()
        await asyncio.sleep(0.1)  # an early confirmation would be on its way by now
        assert await it.one("select count(*) from inbox") == 0
        assert not (rig.tells and rig.told())
        rig.gate.set()
        if rig.tells:
            await rig.until_told()
            assert await it.one("select count(*) from inbox") == 1
        assert await it.shown() == ["re hello"]


async def test_what_could_not_be_stored_is_answered_once_when_it_can(
    db: Database, rig: Rig
) -> None:
    """openclaw#42157: the platform, the page or the client hands it over again; for Discord the channel keeps it."""
    async with desk(db, rig, echo) as it:
        accept, failures = it.intake.accept, [OSError("disk full")]

        async def store(inbound: object) -> None:
            if failures:
                raise failures.pop()
            await accept(inbound)  # type: ignore[arg-type]

        rig.store = store
        if (link := getattr(getattr(rig, "twin", None), "link", None)) is not None:
            link.ack_within = 0.2  # a socket of Slack's is told nothing, so Slack waits for the ack
        await rig.say("hello")
        await until(lambda: not failures, 10)
        if rig.name in {"web", "terminal"}:
            await rig.again()
        assert await it.shown() == ["re hello"]
        await it.settled()


class Busy:
    """A model that waits in its first request, and echoes afterwards."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.waiting = False

    async def __call__(self, request: ModelRequest) -> str:
        if not self.go_on.is_set():
            self.waiting = True
            await self.go_on.wait()
        return echo(request)


async def test_ten_rapid_messages_while_busy_are_each_in_one_turn(db: Database, rig: Rig) -> None:
    """hermes#99854: steered in or turns of their own, none lost, none twice; none refused (CHN-2)."""
    busy = Busy()
    async with desk(db, rig, busy) as it:
        await rig.say("first")
        await until(lambda: busy.waiting, 10)
        for n in range(10):
            await rig.say(f"m{n}")
        await rig.inbound(11)
        busy.go_on.set()
        await it.settled()
        assert sorted(await heard(it)) == ["first", *(f"m{n}" for n in range(10))]
        said = " ".join(str(m.text) for r in it.model.requests[-1:] for m in r.messages)
        assert all(f"m{n}" in said for n in range(10))


@on(*PLATFORMS)
async def test_ten_rapid_mentions_in_a_group_while_busy_are_each_in_one_turn(
    db: Database, rig: Rig
) -> None:
    """hermes#99854."""
    restart(rig, db)
    busy = Busy()
    async with desk(db, rig, busy) as it:
        here = room(rig)
        here.say("first")
        await until(lambda: busy.waiting, 10)
        for n in range(10):
            here.say(f"m{n}")
        async with asyncio.timeout(10):
            while await it.one("select count(*) from inbox") < 11:
                await asyncio.sleep(0.01)
        busy.go_on.set()
        await it.settled()
        found = [text.rpartition(" ")[2] for text in await heard(it)]
        assert sorted(found) == ["first", *(f"m{n}" for n in range(10))]


async def test_a_message_right_after_stop_is_run(db: Database, rig: Rig) -> None:
    """hermes PR#52084."""
    busy = Busy()
    async with desk(db, rig, busy, values=QUEUE) as it:
        await rig.say("first")
        await until(lambda: busy.waiting, 10)
        await rig.say("!stop")
        await rig.inbound(2)
        busy.go_on.set()
        await rig.say("second")
        first, second = await it.shown(2)
        assert "Stopped." in first
        assert second == "re second"
        assert await it.all("select status from turn order by id") == [("stopped",), ("done",)]
        await it.settled()


@pytest.mark.parametrize("command", ["!new", "!fork"])
async def test_a_message_on_its_way_at_a_switch_of_the_session_is_not_lost(
    db: Database, rig: Rig, command: str
) -> None:
    """hermes#34089: those before the switch are in the old session, those behind it in the new one."""
    busy = Busy()
    async with desk(db, rig, busy) as it:
        await rig.say("one")
        await until(lambda: busy.waiting, 10)
        for n, words in enumerate(("before", command, "after"), 2):
            await rig.say(words)
            await rig.inbound(n)  # so that the order is known
        busy.go_on.set()
        await until(lambda: "re after" in it.texts(), 30)
        await it.settled()
        assert it.texts()[-1] == "re after"
        refs = await it.all(
            "select session_id, ref from transcript where kind = 'user' and turn_id is not null order by id"
        )
        inbox = await it.all("select id, body from inbox order by id")
        ids = [str(row[0]) for row in inbox]
        where = {ref: session for session, ref in reversed(refs) if ref in ids}  # a fork has copies
        assert where[ids[0]] == where[ids[1]] != where[ids[3]]
        current = await it.one("select session_id from conversation")
        assert current == where[ids[3]]


# Out -----------------------------------------------------------------------------------------------------------------


def results(request: ModelRequest) -> list[str]:
    return [b.content for m in request.messages for b in m.blocks if isinstance(b, ToolResult)]


@on(*PLATFORMS)
async def test_a_sub_agents_result_survives_a_failed_send_and_reaches_its_own_chat(
    db: Database, rig: Rig
) -> None:
    """openclaw#44925, #80201: two chats delegate side by side, and the platform refuses the first sends."""

    def script(request: ModelRequest) -> Answer | str:
        if "You are helper" in str(request.system):
            return f"found {last_words(request)}"
        if found := results(request):
            return f"the helper {'found mine' if 'found mine' in found[0] else 'found yours'}"
        task = "mine" if "mine" in last_words(request) else "yours"
        return Answer(calls=(delegate("helper", task),))

    async with desk(db, rig, script, the_team=HELPED) as it:
        rig.fail(skip=0)
        rig.fail(skip=0)
        await rig.say("mine please")
        whisper(rig, "yours please")
        await until(lambda: rig.visible() and rig.visible(rig.elsewhere()), 15)
        await it.settled()
        assert it.texts() == ["the helper found mine"]
        assert [m.text for m in rig.visible(rig.elsewhere())] == ["the helper found yours"]


@on(*PLATFORMS)
async def test_answers_and_notices_wait_while_sending_is_degraded(db: Database, rig: Rig) -> None:
    """hermes#73473: also over a restart; then each is there once, in order."""
    restart(rig, db)

    def script(request: ModelRequest) -> Answer | str:
        if "fails" in last_words(request):
            raise RuntimeError("secret internals")
        return echo(request)

    async with desk(db, rig, script, values=QUEUE) as it:
        with away(rig):
            for n, words in enumerate(("one", "this fails", "!status", "two"), 1):
                await rig.say(words)
                await rig.inbound(n)
            await until(lambda: not it.engine._running, 10)
            assert await it.one("select count(*) from outbox where status = 1") == 4
            assert it.texts() == []
            await it.senders.stop(0.0)
    restart(rig, db)
    async with desk(db, rig, script) as it:
        await it.shown(4)
        await it.settled()
        texts = it.texts()  # the status answers at once, so its place among the others is open
        assert [t for t in texts if t.startswith("re ")] == ["re one", "re two"]
        assert sum("Something went wrong" in t for t in texts) == 1
        assert len(texts) == 4


@on(*PLATFORMS)
async def test_a_notice_of_a_restart_waits_while_sending_is_degraded(
    db: Database, rig: Rig
) -> None:
    """hermes#73473, #7536: a turn that broke three starts is set aside, and its notice comes when it can."""
    restart(rig, db)
    async with desk(db, rig, echo) as it:
        it.engine.wake = lambda *_: None  # type: ignore[method-assign]  # the process dies each time it begins
        await rig.say("poison")
        await rig.inbound(1)
        lane = await it.one("select id from conversation")
        for _ in range(3):
            now = it.clock.now()
            await db.write(
                lambda conn: begin(conn, hold(conn, lane), PLACE, lambda _: Chosen("test"), now)  # noqa: B023
            )
    restart(rig, db)
    with away(rig):
        async with desk(db, rig, echo) as it:
            await until(lambda: it.senders.pending() and not it.engine._running, 10)
            assert it.texts() == []
            await it.senders.stop(0.0)
    restart(rig, db)
    async with desk(db, rig, echo) as it:
        (notice,) = await it.shown()
        assert "set it aside" in notice
        await rig.say("fine")
        assert (await it.shown(2))[-1] == "re fine"
        await it.settled()
