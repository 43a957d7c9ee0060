"""Whatever platforms hand over, it is answered, what was said is stored as its author's, and the channel stays up."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_core.models.stream import mended
from tests.loopback import Loopback
from tests.property.mutations import Recorded, at, damaged, dumped, mutated
from tests.property.storing import Bench, Store, bench, store
from tests.twins.discord import BOT
from tests.unit.channels import discord_rig, slack_rig, test_discord_interactions
from tests.unit.channels.telegram_rig import CHAT
from tests.unit.channels.test_slack_http import post
from tests.unit.channels.test_slack_interact import EDIT, asks
from tests.unit.channels.test_telegram_webhook import Hooked, hooked

ALL = list(HealthCheck)
QUICK = settings(max_examples=15, deadline=None, suppress_health_check=ALL, derandomize=True)
FULL = settings(max_examples=60, deadline=None, suppress_health_check=ALL, derandomize=True)
GROUP = -100
CHOICE = test_discord_interactions.Button("Approve", "ok:7")
FORM = test_discord_interactions.Button("Edit", "edit:7", form=EDIT)
PATHS = {"events_api": "events", "slash_commands": "commands", "interactive": "interactive"}


# Telegram ------------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def telegram(where: Store) -> AsyncIterator[tuple[Hooked, Recorded[Any]]]:
    """A bot with a webhook, and an update of each kind."""
    async with hooked(running=False) as r:
        r.emit = where.emit  # type: ignore[method-assign]
        await r.start()
        await r.ready.wait()
        twin = r.twin
        first = twin.say(CHAT, "hello there")
        twin.say(GROUP, "@swarm_bot what does GOOG cost? https://a.b/c", user=CHAT)
        twin.say(CHAT, "and this?", reply_to=first)
        twin.photo(CHAT, caption="a chart")
        twin.document(CHAT, b"x,y", caption="/start")
        twin.voice(CHAT)
        bodies = list(twin.state.updates.all.values())
        pressed = {"id": "4", "from": bodies[0]["message"]["from"], "chat_instance": "1"}
        pressed |= {"message": bodies[0]["message"], "data": "stop:1"}
        await twin.wait_for(lambda: not twin.unconfirmed)
        where.taken()
        yield r, Recorded([*bodies, {"update_id": 9_000, "callback_query": pressed}])


def said_in(update: Any) -> tuple[str, str]:
    """(author, text) of an update that is a message of a person in a private chat; else two empty ones."""
    message = at(update, ("message",))
    author, chat = at(message, ("from", "id")), at(message, ("chat", "id"))
    person = at(message, ("from", "is_bot")) is False and at(message, ("chat", "type")) == "private"
    text = at(message, ("text",))
    if not (person and isinstance(text, str) and text.strip() and author and chat):
        return "", ""
    return str(author), text.strip()


def telegram_holds(on: Bench, folder: Path, profile: settings) -> None:
    with store(on, folder, Loopback()) as where:
        r, recorded = on.enter(telegram(where))

        @profile
        @given(st.one_of(mutated(recorded).map(dumped), damaged(Recorded(map(dumped, recorded)))))
        def holds(body: bytes) -> None:
            status = on.timed(r.post(data=body))
            taken, logged = where.taken(), where.errors.take()
            assert status in (200, 400, 413), logged
            assert len(logged) <= 1, "what nobody can read is said once"
            assert logged == [] or "is skipped" in logged[0]
            assert logged == [] or not taken
            if status != 200:
                return
            update = json.loads(body)
            author, text = said_in(update)
            if text and not logged:
                assert [i.author.id for i in taken] == [author], "a text is never lost in silence"
            wrote = (at(update, (part, "from", "id")) for part in ("message", "callback_query"))
            assert {i.author.id for i in taken} <= set(map(str, wrote))

        holds()
        assert on.run(r.post(json=recorded[0])) == 200
        r.twin.violations.clear()


# Slack ---------------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def slack(where: Store) -> AsyncIterator[tuple[slack_rig.Rig, Recorded[Any]]]:
    """An app over HTTP, and what it is handed of each kind, as (type, payload)."""
    async with slack_rig.rig(mode="http", receiving=False) as r:
        r.emit = where.emit  # type: ignore[method-assign]
        await r.start()
        ts = r.twin.say("D1", "hello there")
        r.twin.mention("C1", "what does GOOG cost?", thread=ts)
        r.twin.upload("D1", b"x,y", text="look")
        r.twin.slash("status")
        r.twin.open_home()
        question = await asks(r, buttons=(CHOICE, FORM))
        r.twin.press("D1", question, "Approve")
        r.twin.press("D1", question, "Edit")
        await r.twin.settled()
        r.twin.submit({})
        await r.twin.settled()
        found = [(d.type, d.payload) for d in r.twin.deliveries]
        where.taken()
        yield r, Recorded(found)
        r.twin.violations.clear()  # it was asked for what is not there


def slack_body(kind: str, payload: Any) -> str:
    """As Slack posts it."""
    if kind == "events_api":
        return json.dumps(payload)
    fields = payload if kind == "slash_commands" else {"payload": json.dumps(payload)}
    pairs = fields if isinstance(fields, dict) else {"text": json.dumps(fields)}
    return urlencode({k: str(v) for k, v in pairs.items()}, errors="replace")


def slack_holds(on: Bench, folder: Path, profile: settings) -> None:
    with store(on, folder, Loopback("slack", slack_rig.ACCOUNT)) as where:
        r, recorded = on.enter(slack(where))
        kinds = {kind: Recorded(p for k, p in recorded if k == kind) for kind, _ in recorded}
        near = st.sampled_from(sorted(kinds)).flatmap(
            lambda kind: st.tuples(st.just(kind), mutated(kinds[kind]))
        )
        whole = Recorded((kind, slack_body(kind, payload).encode()) for kind, payload in recorded)
        far = st.sampled_from(whole).flatmap(
            lambda one: st.tuples(st.just(one[0]), damaged(Recorded([one[1]])))
        )
        body = st.one_of(near.map(lambda n: (n[0], slack_body(*n))), far)

        @profile
        @given(body, st.integers(0, 20))
        def holds(kind_and_body: tuple[str, str | bytes], age: int) -> None:
            kind, sent = kind_and_body
            text = sent if isinstance(sent, str) else sent.decode("latin-1")
            odd = {"X-Slack-Request-Timestamp": "9" * 5_000} if age == 0 else {}
            path = f"/webhooks/slack/{PATHS[kind]}"
            status, _ = on.timed(post(r, text, path, "application/json", **odd))
            taken, logged = where.taken(), where.errors.take()
            assert logged == []
            assert status in ((401,) if odd else (200, 400, 413, 503))
            for one in taken if kind != "slash_commands" else ():
                who = json.dumps(one.author.id.rpartition(":")[2])[1:-1]
                assert who in unquote_plus(text), one

        holds()

        async def still_there() -> None:
            r.twin.say("D1", "still there?")
            await r.twin.settled()

        on.run(still_there())
        assert [i.text for i in where.taken()] == ["still there?"]


# Discord -------------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def discord(where: Store) -> AsyncIterator[tuple[discord_rig.Rig, Recorded[Any]]]:
    """A bot, and what its gateway tells it of each kind, as (event, body)."""
    async with discord_rig.rig(receiving=False) as r:
        own = r.emit

        async def both(inbound: Any) -> None:
            await where.emit(inbound)
            await own(inbound)

        r.emit = both  # type: ignore[method-assign]
        await r.start()
        await test_discord_interactions.synced(r)
        question = await test_discord_interactions.ask(r, CHOICE, FORM)
        r.twin.slash(r.direct().chat, "preset", "solo", user="5")
        r.twin.slash(r.twin.general, "ask", "what does GOOG cost?", user="5")
        r.twin.press(question, "Approve", user="5")
        opened = r.twin.press(question, "Edit", user="5")
        await r.twin.wait_for(lambda: opened.modal)
        r.twin.submit(opened)
        await r.inbound(4)
        (session,) = r.twin.gateway.sessions.values()
        found = [(f["t"], f["d"]) for f in session.buffer if f["t"] == "INTERACTION_CREATE"]
        yield r, Recorded(json.loads(json.dumps(found)))  # the twin goes on changing its own
        r.twin.violations.clear()
        r.twin.calls.clear()


def discord_holds(on: Bench, folder: Path, profile: settings) -> None:
    with store(on, folder, Loopback("discord", BOT)) as where:
        r, recorded = on.enter(discord(where))
        near = st.sampled_from(recorded).flatmap(
            lambda one: st.tuples(st.just(one[0]), mutated(Recorded([one[1]])))
        )

        async def told(event: str, body: Any) -> None:
            """Tell it, and then something plain: what comes after it is heard."""
            plain = str(uuid.uuid4())
            r.twin.gateway.dispatch(event, mended(body), None)  # Discord sends UTF-8
            r.twin.dm("5", plain)
            async with asyncio.timeout(8), r.arrived:
                await r.arrived.wait_for(lambda: any(i.text == plain for i in r.got))

        @profile
        @given(near)
        def holds(one: tuple[str, Any]) -> None:
            on.timed(told(*one))
            text = json.dumps(one[1])
            for inbound in where.taken():
                assert (
                    inbound.author.id == "5"
                    or f'"{inbound.author.id}"' in text
                    or (inbound.author.id in text)
                )

        holds()


WAYS: dict[str, Callable[[Bench, Path, settings], None]] = {
    "telegram": telegram_holds,
    "slack": slack_holds,
    "discord": discord_holds,
}


@pytest.mark.parametrize("way", list(WAYS))
def test_a_channel_takes_whatever_it_is_handed(way: str, tmp_path: Path) -> None:
    with bench() as on:
        WAYS[way](on, tmp_path, QUICK)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", list(WAYS))
def test_a_channel_takes_whatever_it_is_handed_at_length(way: str, tmp_path: Path) -> None:
    with bench() as on:
        WAYS[way](on, tmp_path, FULL)
