"""Connections: what Slack and the network do to a socket, tokens, scopes, and a clean end."""

import asyncio

import pytest

from channels.errors import BadCredentials
from channels.slack.channel import SlackChannel
from channels.slack.config import SlackConfig
from tests.twins.slack import APP_TOKEN, BOT_TOKEN, SECRET
from tests.unit.channels.slack_rig import rig


async def test_a_refresh_a_close_and_a_reset_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("channels.slack.sockets.FIRST_WAIT", 0.05)
    async with rig() as r:
        link = r.twin.link
        for number, trouble in enumerate((link.refresh, link.cut, link.cut), 1):
            done = trouble()
            if done is not None:
                await done
            r.twin.say("D1", f"hello {number}")
            await r.inbound(number)
        assert link.connected == 4
        assert len(r.stored) == 3
        await r.twin.wait_for(lambda: len(link.sockets) == 1)


async def test_the_next_connection_stands_before_the_old_one_goes() -> None:
    async with rig() as r:
        old = r.twin.link.sockets[0]
        await old.send_json({"type": "disconnect", "reason": "warning"})
        await r.twin.wait_for(lambda: len(r.twin.link.sockets) == 2)
        for n in range(4):
            r.twin.say("D1", f"{n}")
        await r.inbound(4)
        await r.twin.settled()  # both are read
        await old.close()
        assert all(d.attempts == 1 for d in r.twin.deliveries)


async def test_a_socket_that_answers_no_ping_is_replaced() -> None:
    async with rig(ping_every=0.1) as r:
        r.twin.link.pongs = False
        await r.twin.wait_for(lambda: r.twin.link.connected >= 2)
        r.twin.link.pongs = True
        r.twin.say("D1", "hello")
        await r.inbound()


async def test_a_start_without_slack_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("channels.slack.channel.FIRST_WAIT", 0.05)
    monkeypatch.setattr("channels.slack.sockets.FIRST_WAIT", 0.05)
    async with rig(receiving=False) as r:
        r.twin.fault("auth.test", status=503, body="<html>")
        r.twin.fault("apps.connections.open", times=2, drop="before")
        r.twin.say("D1", "hello")
        await r.start()
        await r.inbound()


async def test_messages_sent_while_it_was_down_arrive_after_the_start() -> None:
    async with rig(receiving=False) as r:
        for n in range(6):
            r.twin.say("D1", f"{n}")
        await r.start()
        await r.inbound(6)
        assert sorted(i.text for i in r.stored) == [f"{n}" for n in range(6)]


@pytest.mark.parametrize(("tokens"), [{"bot_token": "xoxb-wrong"}, {"app_token": "xapp-wrong"}])
async def test_a_refused_token_ends_the_channel(tokens: dict[str, str]) -> None:
    async with rig(receiving=False, **tokens) as r:
        with pytest.raises(BadCredentials, match=r"api\.slack\.com/apps"):
            await r.channel.run(r.emit, r.ready.set)


@pytest.mark.parametrize(
    ("tokens", "word"),
    [
        ({"bot_token": "123:ABC", "app_token": APP_TOKEN}, "bot token"),
        ({"bot_token": BOT_TOKEN, "app_token": BOT_TOKEN}, "app token"),
        ({"bot_token": BOT_TOKEN, "mode": "http"}, "signing secret"),
    ],
)
def test_a_token_in_the_wrong_place_is_said_at_once(tokens: dict[str, str], word: str) -> None:
    with pytest.raises(BadCredentials, match=word):
        SlackChannel(SlackConfig(**tokens))  # type: ignore[arg-type]


def test_secrets_are_not_in_the_repr() -> None:
    shown = repr(SlackConfig(BOT_TOKEN, APP_TOKEN, SECRET))
    assert not any(secret in shown for secret in (BOT_TOKEN, APP_TOKEN, SECRET))


async def test_missing_scopes_are_named_with_where_to_click(
    caplog: pytest.LogCaptureFixture,
) -> None:
    from channels.slack.manifest import SCOPES

    async with rig(receiving=False) as r:
        r.twin.scopes = set(SCOPES)
        r.twin.api.missing = {"files:read", "assistant:write"}
        await r.start()
        lines = [rec.getMessage() for rec in caplog.records if "missing_scope" in rec.getMessage()]
        assert len(lines) == 2
        assert all("OAuth & Permissions" in line for line in lines)


async def test_cancelling_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()
    async with rig() as r:
        r.twin.say("D1", "hello")
        await r.inbound()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= before


async def test_connections_that_are_closed_at_once_are_not_stormed() -> None:
    async with rig() as r:
        for _ in range(3):
            r.twin.link.cut()
            await asyncio.sleep(0.1)
        assert r.twin.link.connected == 2  # one at once, then a wait
        assert len(r.twin.matching("connections.open")) == 2


async def test_off_and_on_five_times_is_one_consumer() -> None:
    async with rig(receiving=False) as r:
        for _ in range(5):
            await r.start()
            assert r.task is not None
            r.task.cancel()
            await asyncio.gather(r.task, return_exceptions=True)
            r.ready.clear()
        await r.start()
        await r.twin.wait_for(lambda: len(r.twin.link.sockets) == 1)
        r.twin.say("D1", "hello")
        await r.twin.settled()
        assert len(r.got) == 1
