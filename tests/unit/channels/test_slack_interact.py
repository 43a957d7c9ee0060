"""Presses, dialogs, shortcuts, slash commands, the home page: acknowledged in time, when they are durable."""

import asyncio
import json
from typing import Any

import pytest

from channels.slack.interact import COMMANDS, command_text
from channels.slack.manifest import EVENTS, SCOPES, manifest
from channels.types import Address, Button, Field, Form, Inbound, Kind, Outbound
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.slack_rig import ACCOUNT, DM, Rig, rig, thread

MODES = ("socket", "http")
EDIT = Form(
    "Edit the order",
    "edit:7",
    (Field("symbol", "Symbol", "GOOG"), Field("note", "Note", multiline=True)),
    submit="Approve",
)
CHOICES = (Button("Approve", "ok:7", "primary"), Button("Edit", "edit:7", form=EDIT))


async def asks(r: Rig, to: Address = DM, buttons: tuple[Button, ...] = CHOICES) -> str:
    receipt = MemoryReceipt()
    await r.channel.send(Outbound(to, "Buy 10 GOOG?", buttons=buttons), receipt)
    return receipt.ids[0]


@pytest.mark.parametrize("mode", MODES)
async def test_a_press_arrives_once_and_is_acknowledged_when_stored(mode: str) -> None:
    async with rig(mode=mode) as r:
        ts = await asks(r)
        press = r.twin.press("D1", ts, "Approve", user="U1")
        (got,) = await r.inbound()
        assert (got.kind, got.text, got.address) == (Kind.BUTTON, "ok:7", DM)
        assert (got.message_id, got.author.id, got.private) == (ts, "T1:U1", True)
        await r.twin.settled()
        assert press.acked
        r.twin.redeliver(press)
        await r.inbound(2)
        assert len(r.stored) == 1


@pytest.mark.parametrize("mode", MODES)
async def test_a_press_that_could_not_be_stored_is_not_acknowledged(mode: str) -> None:
    async with rig(mode=mode) as r:
        r.twin.link.ack_within = 0.2

        async def fail(_: Inbound) -> None:
            raise RuntimeError("the database is away")

        ts = await asks(r)
        r.before_store = fail
        press = r.twin.press("D1", ts, "Approve")
        await r.twin.settled()
        assert not press.acked


async def test_a_press_in_a_thread_comes_from_that_thread_and_is_answered_there() -> None:
    async with rig() as r:
        root = r.twin.mention("C1", "hi")
        ts = await asks(r, thread(root))
        r.twin.press("C1", ts, "Approve", user="U2")
        got = (await r.inbound(3))[-1]
        assert (got.address, got.private, got.author.id) == (thread(root), False, "T1:U2")
        assert got.callback is not None
        await r.channel.answer(got.callback, "Only an approver may decide.")
        await r.channel.answer(got.callback)
        (told,) = [p for p in r.twin.posts("C1") if p.only_for]
        assert (told.only_for, told.thread, told.text) == (
            "U2",
            root,
            "Only an approver may decide.",
        )


async def test_a_press_on_a_channels_top_message_opens_its_thread() -> None:
    async with rig() as r:
        ts = await asks(r, Address("slack", ACCOUNT, "C1"))
        r.twin.press("C1", ts, "Approve")
        (got,) = await r.inbound()
        assert got.address == thread(ts)


async def test_a_choice_from_a_menu_is_a_press() -> None:
    async with rig() as r:
        many = tuple(Button(f"Session {n}", f"resume:{n}") for n in range(8))
        ts = await asks(r, buttons=many)
        r.twin.press("D1", ts, "Session 6")
        (got,) = await r.inbound()
        assert (got.kind, got.text) == (Kind.BUTTON, "resume:6")


@pytest.mark.parametrize("mode", MODES)
async def test_edit_opens_a_form_and_its_submission_arrives(mode: str) -> None:
    async with rig(mode=mode) as r:
        root = r.twin.mention("C1", "hi")
        ts = await asks(r, thread(root))
        r.twin.press("C1", ts, "Edit", user="U2")
        view = await r.twin.wait_for(lambda: r.twin.view)
        assert view is not None
        assert view["submit"]["text"] == "Approve"
        await r.twin.settled()
        assert len(r.got) == 2  # the press itself is no event
        done = r.twin.submit({"Note": "only\nhalf"}, user="U2")
        got = (await r.inbound(3))[-1]
        assert (got.kind, got.text, got.address) == (Kind.FORM, "edit:7", thread(root))
        assert got.fields == (("symbol", "GOOG"), ("note", "only\nhalf"))
        assert (got.message_id, got.author.id, got.private) == (ts, "T1:U2", False)
        await r.twin.settled()
        assert done.acked
        assert not done.answer
        r.twin.redeliver(done)
        await r.inbound(4)
        assert len(r.stored) == 2


async def test_a_form_that_comes_too_late_is_asked_for_in_words() -> None:
    async with rig() as r:
        r.twin.api.trigger_life = -1.0
        ts = await asks(r)
        r.twin.press("D1", ts, "Edit")
        (got,) = await r.inbound()
        assert (got.kind, got.text) == (Kind.BUTTON, "edit:7")


async def test_a_form_that_does_not_fit_is_a_plain_button() -> None:
    async with rig() as r:
        large = Form("Edit", "edit:7", (Field("text", "Text", "x" * 2500),))
        ts = await asks(r, buttons=(Button("Edit", "edit:7", form=large),))
        r.twin.press("D1", ts, "Edit")
        (got,) = await r.inbound()
        assert (got.kind, got.text) == (Kind.BUTTON, "edit:7")
        assert r.twin.view is None


async def test_an_old_form_still_opens_after_a_restart() -> None:
    async with rig() as r:
        ts = await asks(r)
        r.twin.press("D1", ts, "Edit")
        await r.twin.wait_for(lambda: r.twin.view)
        await r.stop()
        again = Rig(r.twin)
        await again.start()
        r.twin.submit({"Symbol": "MSFT"})
        (got,) = await again.inbound()
        assert got.fields[0] == ("symbol", "MSFT")
        await again.stop()


# Slash commands ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
async def test_a_slash_command_is_text_and_gets_a_receipt(mode: str) -> None:
    async with rig(mode=mode) as r:
        done = r.twin.slash("stop", room="D1")
        (got,) = await r.inbound()
        assert (got.kind, got.text, got.address) == (Kind.MESSAGE, "/stop", DM)
        assert (got.private, got.addressed, got.author.id) == (True, True, "T1:U1")
        await r.twin.settled()
        assert done.answer["response_type"] == "ephemeral"
        assert "/stop" in done.answer["text"]


async def test_a_slash_command_in_a_channel_is_answered_in_the_channel() -> None:
    async with rig() as r:
        r.twin.slash("ask how did GOOG do?", room="C1", user="U3")
        (got,) = await r.inbound()
        assert (got.text, got.address.chat, got.address.thread) == (
            "how did GOOG do?",
            "C1",
            None,
        )
        assert not got.private
        await r.channel.send(Outbound(got.address, "It rose."), MemoryReceipt())
        assert r.twin.replies("C1")[0].thread is None


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("", "/help"),
        ("  help ", "/help"),
        ("stop", "/stop"),
        ("/Status", "/status"),
        ("model claude  now", "/model claude  now"),
        ("ask stop the music?", "stop the music?"),
        ("how did GOOG do?", "how did GOOG do?"),
        ("分析一下 AAPL", "分析一下 AAPL"),
    ],
)
def test_what_stands_behind_the_slash_command(source: str, text: str) -> None:
    assert command_text(source, COMMANDS) == text


async def test_commands_of_skills_are_learnt_from_the_menu() -> None:
    async with rig() as r:
        await r.channel.menu([("earnings", "Earnings")], None)
        r.twin.slash("earnings GOOG")
        assert (await r.inbound())[0].text == "/earnings GOOG"


# Shortcuts and the home page -----------------------------------------------------------------------------------------


async def test_a_global_shortcut_is_a_command_in_the_direct_message() -> None:
    async with rig() as r:
        r.twin.shortcut("swarmgate_status", user="U4")
        r.twin.shortcut("of_another_app")
        (got,) = await r.inbound()
        assert (got.text, got.address.chat, got.private) == ("/status", "D4", True)
        await r.twin.settled()
        assert all(d.acked for d in r.twin.deliveries)


async def test_message_shortcuts_work_in_their_thread() -> None:
    async with rig() as r:
        root = r.twin.say("C1", "GOOG fell by 3 % &amp; nobody knows why")
        await r.inbound()
        r.twin.message_shortcut("swarmgate_ask", "C1", root, user="U2")
        got = (await r.inbound(2))[-1]
        assert (got.text, got.address) == ("GOOG fell by 3 % & nobody knows why", thread(root))
        answer = r.twin.say("C1", "in the thread", thread=root)
        await r.inbound(3)
        r.twin.message_shortcut("swarmgate_stop", "C1", answer)
        got = (await r.inbound(4))[-1]
        assert (got.text, got.address) == ("/stop", thread(root))
        dm = r.twin.say("D1", "hello")
        await r.inbound(5)
        r.twin.message_shortcut("swarmgate_stop", "D1", dm)
        assert (await r.inbound(6))[-1].address == DM


async def test_the_home_page_shows_and_its_buttons_come_from_the_direct_message() -> None:
    async with rig() as r:
        r.twin.open_home()
        (opened,) = await r.inbound()
        text = "# Status\n\n| model | spent |\n|---|---|\n| demo | $0 |\n\nAll is **well**."
        out = Outbound(opened.address, text, buttons=(Button("New session", "new"),))
        await r.channel.home(opened.author.id, out)
        view = r.twin.state.homes["U1"]
        assert view["type"] == "home"
        assert all(block["type"] != "table" for block in view["blocks"])
        r.twin.press_home("New session")
        got = (await r.inbound(2))[-1]
        assert (got.kind, got.text, got.address, got.message_id) == (Kind.BUTTON, "new", DM, None)


async def test_rapid_presses_of_one_chat_keep_their_order() -> None:
    async with rig() as r:
        ts = await asks(r)

        async def slow(inbound: Inbound) -> None:
            await asyncio.sleep(0.02 if inbound.text == "ok:7" else 0)

        r.before_store = slow
        r.twin.press("D1", ts, "Approve")
        r.twin.say("D1", "thanks")
        got = await r.inbound(2)
        assert [i.text for i in got] == ["ok:7", "thanks"]


# The manifest --------------------------------------------------------------------------------------------------------


def test_the_manifest_creates_the_app_for_socket_mode_in_one_paste() -> None:
    made: dict[str, Any] = json.loads(manifest())
    assert made["settings"]["socket_mode_enabled"]
    assert "request_url" not in made["settings"]["event_subscriptions"]
    assert set(made["oauth_config"]["scopes"]["bot"]) == set(SCOPES)
    assert set(made["settings"]["event_subscriptions"]["bot_events"]) == set(EVENTS)
    assert made["features"]["slash_commands"][0]["command"] == "/swarm"
    assert len(made["features"]["shortcuts"]) <= 10
    for shortcut in made["features"]["shortcuts"]:
        assert len(shortcut["name"]) <= 24
        assert len(shortcut["description"]) <= 150


def test_the_manifest_for_http_names_the_request_urls() -> None:
    made = json.loads(manifest(public_url="https://bot.example/"))
    assert not made["settings"]["socket_mode_enabled"]
    urls = (
        made["settings"]["event_subscriptions"]["request_url"],
        made["settings"]["interactivity"]["request_url"],
        made["features"]["slash_commands"][0]["url"],
    )
    assert urls == tuple(
        f"https://bot.example/webhooks/slack/{end}" for end in ("events", "interactive", "commands")
    )
