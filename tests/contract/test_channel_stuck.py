"""Nothing stays stuck: sessions are released after any failure, waits and indicators end, dead links are replaced."""

import asyncio
import dataclasses
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent_core.errors import ModelAuthRefused
from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from agent_core.types import ToolResult
from channels.discord.channel import DiscordChannel
from channels.slack.channel import SlackChannel
from channels.telegram.channel import TelegramChannel
from gateway.engine.begin import begin
from gateway.engine.begun import Chosen
from gateway.engine.upcoming import hold
from gateway.storage.db import Database
from tests.contract.desk import ALL, PLATFORMS, desk, echo, hang, last_words, paying
from tests.contract.outages import away
from tests.contract.rigs.base import Rig
from tests.contract.rigs.discord import DiscordRig
from tests.contract.rigs.slack import SlackRig
from tests.contract.rigs.telegram import TelegramRig
from tests.contract.rooms import whisper
from tests.harness import PLACE, agent, call, delegate, team
from tests.house import on_sqlite, until

pytestmark = [
    on_sqlite,
    pytest.mark.slow,
]  # the whole gateway behind every platform, many times over
QUEUE = {"sessions": {"while_busy": "queue"}}
SECRET = "secret internals of /etc/keys"


@pytest.fixture(params=ALL, ids=lambda kind: kind.__name__.removesuffix("Rig"))
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """A platform; its protocol must have been kept."""
    async with request.param() as made:
        yield made
    assert made.violations == []


def on(*kinds: type[Rig]) -> pytest.MarkDecorator:
    """Only at these platforms."""
    names = [kind.__name__.removesuffix("Rig") for kind in kinds]
    return pytest.mark.parametrize("rig", kinds, indirect=True, ids=names)


# Failures ------------------------------------------------------------------------------------------------------------


def failing(request: ModelRequest) -> Answer | str:
    """Fails as it is told to, and echoes else."""
    words = last_words(request)
    results = [b for b in request.messages[-1].blocks if isinstance(b, ToolResult)]
    if results:
        return "the tool failed" if results[0].is_error else "the tool worked"
    if words == "refused key":
        return Answer(error=ModelAuthRefused("anthropic", SECRET))
    if words == "broken adapter":
        raise RuntimeError(SECRET)
    if words == "broken tool":
        return Answer(calls=(call("fail", how="raised"),))
    if words == "tool that hangs":
        return Answer(calls=(call("hang"),))
    return echo(request)


FAILURES = ["refused key", "broken adapter", "broken tool", "tool that hangs"]


async def test_a_session_is_released_after_any_failure_and_says_so(db: Database, rig: Rig) -> None:
    """openclaw#70334, #3550, CHN-6: a short id and never an exception's text; the next message is answered."""
    async with desk(db, rig, failing) as it:
        for n, words in enumerate(FAILURES):
            await rig.say(words)
            shown = (await it.shown(2 * n + 1))[-1]
            assert "secret" not in shown
            assert "Error" not in shown
            assert n < 2 or shown == "the tool failed"
            if n < 2:
                assert re.search(r"\(id [0-9a-z]{4,12}\)", shown), shown
            await rig.say("and now?")
            assert (await it.shown(2 * n + 2))[-1] == "re and now?"
        await it.settled()
        assert it.engine.busy() == 0


@on(*PLATFORMS)
async def test_a_failure_is_said_in_the_persons_language(db: Database, rig: Rig) -> None:
    """CHN-6."""
    async with desk(db, rig, hang) as it:
        it.model.script = _broken
        await rig.say("请分析一下谷歌")
        (shown,) = await it.shown()
        assert re.search(r"（编号 [0-9a-z]{4,12}）", shown), shown
        assert "secret" not in shown


def _broken(_: ModelRequest) -> str:
    raise RuntimeError(SECRET)


@on(*PLATFORMS)
async def test_one_session_that_hangs_or_breaks_stops_no_other(db: Database, rig: Rig) -> None:
    """openclaw#70334, #3550."""

    async def script(request: ModelRequest) -> Answer | str:
        if last_words(request) == "hang":
            return await hang(request)
        return failing(request)

    async with desk(db, rig, script) as it:
        await rig.say("hang")
        await until(lambda: it.model.requests, 10)
        for n, words in enumerate(("hello", "broken adapter", "again"), 1):
            whisper(rig, words)
            await until(lambda n=n: len(rig.visible(rig.elsewhere())) == n, 15)  # type: ignore[misc]
            await until(lambda: not it.senders.pending() and it.engine.busy() == 1, 15)
        texts = [m.text for m in rig.visible(rig.elsewhere())]
        assert (texts[0], texts[2]) == ("re hello", "re again")
        await rig.say("!stop")
        await it.settled()


async def test_a_turn_that_ends_the_process_at_each_start_is_set_aside(
    db: Database, rig: Rig
) -> None:
    """hermes#7536: after three tries, with a notice, and the next message is answered."""
    async with desk(db, rig, echo, values=QUEUE) as it:
        wake = it.engine.wake
        it.engine.wake = lambda *_: None  # type: ignore[method-assign]  # it dies when it begins
        await rig.say("poison")
        await rig.inbound(1)
        ((lane, author),) = await it.all("select conversation_id, author from inbox")
        for _ in range(3):
            await db.write(
                lambda c: begin(c, hold(c, lane), PLACE, lambda _: Chosen("test"), it.clock.now())
            )
        it.engine.wake = wake  # type: ignore[method-assign]
        it.engine.wake(lane, author)
        (notice,) = await it.shown()
        assert "set it aside" in notice
        assert it.model.requests == []
        await rig.say("fine")
        assert (await it.shown(2))[-1] == "re fine"
        await it.settled()


# /stop and deadlines -------------------------------------------------------------------------------------------------


async def test_stop_cancels_a_pending_approval(db: Database, rig: Rig) -> None:
    """hermes#8697: a press on a button that is left does nothing afterwards."""
    script = [Answer(calls=(call("pay", "p1", to="bob", amount=3),)), "hello again"]
    async with desk(db, rig, script, the_team=paying()) as it:
        await rig.say("pay bob")
        await until(lambda: any(m.buttons for m in rig.visible()), 10)
        await it.quiet()
        await rig.say("!stop")
        await rig.inbound(2)
        await until(lambda: any("Stopped." in text for text in it.texts()), 10)
        await it.quiet()
        assert await it.one("select status from question") == "cancelled"
        if any("Approve" in m.buttons for m in rig.visible()):
            await rig.press("Approve")
            await rig.inbound(3)
        await rig.say("hello")
        await until(lambda: "hello again" in it.texts(), 10)
        await it.settled()
        assert it.tools.calls == []


async def test_stop_cancels_a_running_tool(db: Database, rig: Rig) -> None:
    """hermes#8697."""
    script = [Answer(calls=(call("slow", seconds=60.0),)), "hello again"]
    async with desk(db, rig, script) as it:
        await rig.say("look")
        await until(lambda: it.tools.running, 10)
        await rig.say("!stop")
        await until(lambda: any("Stopped." in text for text in it.texts()), 10)
        await it.settled()
        assert it.tools.calls == []
        await rig.say("hello")
        assert (await it.shown(2))[-1] == "hello again"


async def test_a_turn_has_a_deadline_and_the_next_one_is_run(db: Database, rig: Rig) -> None:
    """hermes#72016."""

    async def script(request: ModelRequest) -> Answer | str:
        return await hang(request) if last_words(request) == "hang" else echo(request)

    async with desk(db, rig, script, the_team=team(agent(limits={"time": 0.3}))) as it:
        await rig.say("hang")
        (shown,) = await it.shown()
        await until(lambda: "time limit" in it.texts()[0], 10)
        shown = it.texts()[0]
        assert re.search(r"\(id [0-9a-z]{4,12}\)", shown), shown
        await rig.say("hello")
        assert (await it.shown(2))[-1] == "re hello"
        await it.settled()


@on(*PLATFORMS)
async def test_a_turn_says_what_it_is_doing(db: Database, rig: Rig) -> None:
    """hermes#72016: the tool that runs, and the sub-agent it runs in."""

    def script(request: ModelRequest) -> Answer | str:
        if any(isinstance(b, ToolResult) for b in request.messages[-1].blocks):
            return "done"
        if "You are helper" in str(request.system):
            return Answer(calls=(call("slow", seconds=60.0),))
        return Answer(calls=(delegate("helper", "look"),))

    helped = team(agent(tools=("echo",)), agent("helper", tools=("slow",)))
    async with desk(db, rig, script, the_team=helped) as it:
        await rig.say("look")
        await until(lambda: "Slow" in screen(rig), 15)
        assert "Helper" in screen(rig)
        await rig.say("!stop")
        await until(lambda: any("Stopped." in text for text in it.texts()), 15)
        await it.settled()


def screen(rig: Rig) -> str:
    """All that is shown while a reply is made."""
    shown = rig.preview() + "".join(m.text for m in rig.visible())
    if isinstance(rig, DiscordRig):  # its steps are embeds
        posts = rig.twin.replies(rig.address.chat)
        shown += "".join(e["description"] for p in posts for e in p.body["embeds"])
    return shown


# Indicators ----------------------------------------------------------------------------------------------------------

TYPING = {"telegram": "/sendChatAction$", "discord": r"/channels/\d+/typing$"}
POST = {"telegram": "/sendMessage$", "discord": r"POST .*/channels/\d+/messages$"}


def often(rig: Rig) -> None:
    """Let the channel renew its indicators every 50 ms, and show nothing else."""
    quick: dict[str, Any] = {"typing_every": 0.05, "settle": 0.0}
    match rig:
        case TelegramRig():
            rig.twin.fault("/sendMessageDraft$", status=404, times=-1, body={"ok": False})
            old = rig.channel
            assert isinstance(old, TelegramChannel)
            rig.channel = TelegramChannel(dataclasses.replace(old._config, **quick))
        case DiscordRig():
            old_ = rig.channel
            assert isinstance(old_, DiscordChannel)
            quick["visible_after"] = 60.0
            rig.channel = DiscordChannel(dataclasses.replace(old_._config, **quick))


@on(TelegramRig, DiscordRig)
@pytest.mark.parametrize("sending", ["works", "fails"])
async def test_typing_ends_with_the_turn_also_when_sending_fails(
    db: Database, rig: TelegramRig | DiscordRig, sending: str
) -> None:
    """hermes#28004."""
    often(rig)
    go_on = asyncio.Event()

    async def script(request: ModelRequest) -> str:
        await go_on.wait()
        return echo(request)

    async with desk(db, rig, script) as it:
        await rig.say("hello")
        await until(lambda: len(rig.twin.matching(TYPING[rig.name])) >= 2, 15)
        fault = rig.twin.fault(POST[rig.name], status=503, body="<html>", times=-1)
        if sending == "works":
            rig.twin.faults.remove(fault)
        go_on.set()
        await until(lambda: it.model.finished and not it.engine._running, 10)
        if sending == "fails":
            await until(lambda: fault.used >= 1, 10)
        count = len(rig.twin.matching(TYPING[rig.name]))
        await asyncio.sleep(0.4)  # eight times as long as it is renewed
        assert len(rig.twin.matching(TYPING[rig.name])) == count
        if sending == "fails":
            rig.twin.faults.remove(fault)
        assert await it.shown() == ["re hello"]


@on(SlackRig)
@pytest.mark.parametrize("sending", ["works", "fails"])
async def test_the_status_of_an_assistant_thread_ends_with_the_turn_also_when_sending_fails(
    db: Database, rig: SlackRig, sending: str
) -> None:
    """hermes#28004: Slack's "is thinking…"."""
    go_on = asyncio.Event()

    async def script(request: ModelRequest) -> str:
        await go_on.wait()
        return echo(request)

    async with desk(db, rig, script) as it:
        root = rig.twin.assistant()
        state = rig.twin.state.threads["D1", root]
        rig.twin.say("D1", "hello", thread=root)
        await until(lambda: state.get("status"), 15)
        fault = rig.twin.fault(
            "chat.(postMessage|startStream)$", status=503, body="<html>", times=-1
        )
        if sending == "works":
            rig.twin.faults.remove(fault)
        go_on.set()
        await until(lambda: it.model.finished and not it.engine._running, 10)
        await until(lambda: not state.get("status"), 10)
        if sending == "fails":
            await until(lambda: fault.used >= 1, 10)
            assert not state.get("status")
            rig.twin.faults.remove(fault)
        await it.settled()
        assert [p.shown for p in rig.twin.replies("D1", root)] == ["re hello"]


# Links ---------------------------------------------------------------------------------------------------------------


def silence(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The channel's link is to be watched closely; build it anew for that."""
    match rig:
        case TelegramRig():
            monkeypatch.setattr("channels.telegram.poll.GRACE", 0.3)
            old = rig.channel
            assert isinstance(old, TelegramChannel)
            rig.channel = TelegramChannel(dataclasses.replace(old._config, poll_timeout=1))
        case SlackRig():
            old_ = rig.channel
            assert isinstance(old_, SlackChannel)
            rig.channel = SlackChannel(dataclasses.replace(old_._config, ping_every=0.3))
        case DiscordRig():
            last = rig.channel
            assert isinstance(last, DiscordChannel)
            rig.twin.gateway.heartbeat_ms = 200
            rig.channel = DiscordChannel(dataclasses.replace(last._config, silence=0.8))


def die(rig: Rig) -> Any:
    """From now on the platform says nothing on the link that stands; returns what is true when it was replaced."""
    match rig:
        case TelegramRig():
            fault = rig.twin.fault("getUpdates$", hang=True)
            return lambda: fault.used and rig.twin.matching("getUpdates$")[-1].status is None
        case SlackRig():
            rig.twin.link.pongs = False
            before = rig.twin.link.connected
            return lambda: rig.twin.link.connected > before
        case DiscordRig():
            rig.twin.gateway.answers_heartbeats = False
            return lambda: rig.twin.gateway.tries
    raise TypeError(rig.name)


def live(rig: Rig) -> None:
    """New links are as they should be."""
    match rig:
        case SlackRig():
            rig.twin.link.pongs = True
        case DiscordRig():
            rig.twin.gateway.answers_heartbeats = True


@on(*PLATFORMS)
async def test_a_link_that_dies_silently_is_replaced_by_one(
    db: Database, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AstrBot#8314: long polling, Socket Mode, the gateway; what is said afterwards is answered once."""
    silence(rig, monkeypatch)
    async with desk(db, rig, echo) as it:
        await rig.say("hello")
        assert await it.shown() == ["re hello"]
        replaced = die(rig)
        await until(replaced, 20)
        live(rig)
        await rig.say("still there?")
        assert await it.shown(2) == ["re hello", "re still there?"]
        await until(lambda: rig.consumers() == 1, 10)
        await it.settled()


@on(TelegramRig)
async def test_a_restart_never_leaves_two_pollers(db: Database, rig: TelegramRig) -> None:
    """openclaw#69304: Telegram answers 409 Conflict to the older of two polls; there must be none of ours."""
    async with desk(db, rig, echo) as it:
        for n in range(1, 5):
            await rig.say(f"m{n}")
            await it.shown(n)
            await rig.stop()
            await rig.start()
        await until(lambda: rig.consumers() == 1, 10)
        assert [c.status for c in rig.twin.matching("getUpdates$") if c.status == 409] == []
        assert len(it.texts()) == 4


@on(TelegramRig)
async def test_a_poller_of_somebody_else_is_said_and_waited_out(
    db: Database, rig: TelegramRig, caplog: pytest.LogCaptureFixture
) -> None:
    """openclaw#69304: a second process with this token; the bot goes on when that one is gone."""
    async with desk(db, rig, echo) as it:
        conflict = {"ok": False, "error_code": 409, "description": "Conflict: terminated by other"}
        rig.twin.fault("getUpdates$", status=409, body=conflict)
        await rig.say("one")
        assert (await it.shown())[0] == "re one"
        await rig.say("two")
        assert await it.shown(2) == ["re one", "re two"]
        assert "another process polls with this bot's token" in caplog.text


@on(*PLATFORMS)
async def test_a_session_is_released_while_its_answer_cannot_be_sent(
    db: Database, rig: Rig
) -> None:
    """openclaw#70334: the turn is over although the platform takes nothing; the next one runs meanwhile."""
    async with desk(db, rig, echo, values=QUEUE) as it:
        with away(rig):
            for n, words in enumerate(("one", "two"), 1):
                await rig.say(words)
                await until(lambda n=n: len(it.model.finished) == n, 15)  # type: ignore[misc]
            await until(lambda: it.engine.busy() == 0, 10)
        assert await it.shown(2) == ["re one", "re two"]
        await it.settled()
