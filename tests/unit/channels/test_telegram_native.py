"""What Telegram has of its own: reactions, command menus of scopes, albums."""

import pytest

from channels.base import CanReact, HasRoutes, Mark
from channels.types import Button, Outbound
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.telegram_rig import CHAT, GROUP, PRIVATE, rig

G = int(GROUP.chat)


@pytest.mark.parametrize(
    ("mark", "emoji"), [("received", "👀"), ("done", "👍"), ("failed", "🤷"), ("waiting", "✍")]
)
async def test_a_mark_is_the_one_reaction_of_the_bot(mark: Mark, emoji: str) -> None:
    async with rig(receiving=False) as r:
        message = r.twin.say(G, "@swarm_bot hello", user=5)
        assert isinstance(r.channel, CanReact)
        await r.channel.react(GROUP, str(message), "received")
        await r.channel.react(GROUP, str(message), mark)
        assert r.twin.chat(G)[0].reaction == emoji
        await r.channel.react(GROUP, str(message), None)
        assert r.twin.chat(G)[0].reaction == ""


async def test_a_mark_that_fails_is_of_no_consequence() -> None:
    async with rig(receiving=False) as r:
        await r.channel.react(GROUP, "999", "done")  # no such message
        message = r.twin.say(G, "x", user=5)
        r.twin.fault("setMessageReaction", status=400, body={"ok": False, "description": "x"})
        await r.channel.react(GROUP, str(message), "done")
        r.twin.fault("setMessageReaction", drop="after")
        await r.channel.react(GROUP, str(message), "done")
        r.twin.flood(G, 5.0)
        await r.channel.react(GROUP, str(message), "done")
        calls = len(r.twin.calls)
        await r.channel.react(GROUP, str(message), None)  # the gate is closed: not even asked
        assert len(r.twin.calls) == calls


async def test_reactions_can_be_switched_off() -> None:
    async with rig(receiving=False, reactions=False) as r:
        message = r.twin.say(G, "x", user=5)
        await r.channel.react(GROUP, str(message), "received")
        assert not r.twin.matching("setMessageReaction")


async def test_groups_have_a_menu_without_what_is_personal() -> None:
    async with rig(receiving=False) as r:
        await r.channel.menu([("new", "begin anew"), ("memory", "what I know of you")], None)
        commands = r.twin.state.commands
        assert [c["command"] for c in commands["default", ""]] == ["new", "memory"]
        assert [c["command"] for c in commands["all_group_chats", ""]] == ["new"]


async def test_a_long_description_does_not_cost_the_menu() -> None:
    async with rig(receiving=False) as r:
        await r.channel.menu([("new", "x" * 300)], "zh-hans")
        (command,) = r.twin.state.commands["default", "zh"]
        assert len(command["description"]) == 256


async def test_each_message_of_an_album_keeps_its_key_and_says_where_it_belongs() -> None:
    async with rig() as r:
        first, second = r.twin.album(CHAT, [b"\x89PNG1", b"\x89PNG2"], "look")
        one, two = await r.inbound(2)
        assert [one.key, two.key] == [f"m:{CHAT}:{first}", f"m:{CHAT}:{second}"]
        assert one.album is not None
        assert one.album == two.album
        assert (one.text, two.text) == ("look", "")
        assert len({a.ref for i in (one, two) for a in i.attachments}) == 2
        r.twin.say(CHAT, "x")
        assert (await r.inbound(3))[2].album is None


async def test_a_polling_channel_has_no_routes() -> None:
    async with rig(receiving=False) as r:
        assert isinstance(r.channel, HasRoutes)
        assert list(r.channel.routes()) == []


@pytest.mark.parametrize(
    ("labels", "rows"),
    [
        (["Stop"], [1]),
        (["Yes", "No", "Later"], [3]),
        (["Approve once", "Always", "Edit", "Deny"], [2, 2]),
        (["Approve once", "Always", "Deny"], [2, 1]),
        (["批准", "拒绝", "编辑", "总是", "停止"], [3, 2]),
    ],
)
async def test_labels_of_buttons_can_be_read_on_a_phone(labels: list[str], rows: list[int]) -> None:
    async with rig(receiving=False) as r:
        buttons = tuple(Button(label, f"b:{n}") for n, label in enumerate(labels))
        await r.channel.send(Outbound(PRIVATE, "Go on?", buttons=buttons), MemoryReceipt())
        (shown,) = r.twin.replies(CHAT)
        assert [len(row) for row in shown.body["reply_markup"]["inline_keyboard"]] == rows
        assert [b["text"] for b in shown.buttons] == labels
