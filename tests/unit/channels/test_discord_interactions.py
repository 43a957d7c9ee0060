"""Commands, buttons, menus and dialogs: acknowledged in time, done once, also when the time was missed."""

import asyncio
from collections.abc import Sequence

import pytest

from channels.discord.commands import SlashCommand
from channels.types import Address, Author, Button, Field, Form, Inbound, Kind, Outbound
from tests.twins.receipt import MemoryReceipt
from tests.unit.channels.discord_rig import Rig, rig

MENU = [
    ("new", "Start a new session"),
    ("stop", "Stop"),
    ("preset", "Choose a preset"),
    ("remind", "Remind me"),
]
FORM = Form(
    "Edit the order",
    "edit:7",
    (Field("qty", "Quantity", "10"), Field("why", "Why", multiline=True)),
)


async def synced(r: Rig) -> None:
    await r.channel.menu(MENU, None)
    await r.channel.menu([("new", "开始新会话")], "zh")


async def ask(r: Rig, *buttons: Button, user: str = "5") -> str:
    receipt = MemoryReceipt()
    await r.channel.send(Outbound(r.direct(user), "Well?", buttons=buttons), receipt)
    return receipt.ids[0]


async def test_commands_are_synced_to_the_tree_with_both_languages() -> None:
    async with rig() as r:
        await synced(r)
        found = {c["name"]: c for c in r.twin.world.commands}
        assert list(found) == ["ask", "new", "stop", "preset", "remind"]
        assert found["new"]["description_localizations"]["zh-CN"] == "开始新会话"
        assert "options" not in found["new"]
        assert found["preset"]["options"][0]["autocomplete"]
        assert found["ask"]["options"][0]["required"]


async def test_more_than_a_hundred_commands_are_the_first_hundred() -> None:
    async with rig() as r:
        await r.channel.menu([(f"c{i}", "x" * 300) for i in range(150)], None)
        assert len(r.twin.world.commands) == 100


async def test_commands_given_at_construction_are_synced_at_the_start() -> None:
    async with rig(more={"commands": (SlashCommand("why", "Why", "id"),)}) as r:
        await r.twin.wait_for(lambda: r.twin.world.commands)
        assert [c["name"] for c in r.twin.world.commands] == ["ask", "why"]


async def test_a_command_is_acknowledged_and_arrives_as_text() -> None:
    async with rig() as r:
        await synced(r)
        used = r.twin.slash(r.twin.dm_channel("5"), "preset", "trading-desk", user="5")
        (got,) = await r.inbound()
        assert (got.text, got.key, got.kind) == ("/preset trading-desk", used.id, Kind.MESSAGE)
        assert (got.address, got.private, got.addressed) == (r.direct(), True, True)
        assert got.author.language == "en-US"
        await r.twin.wait_call("DELETE .*@original")
        assert r.twin.chat(r.twin.dm_channel("5"), user="5") == []  # no "thinking …" stays


async def test_a_command_in_a_thread_belongs_to_the_thread() -> None:
    async with rig() as r:
        await synced(r)
        said = r.twin.mention(r.twin.general, "q")
        (got,) = await r.inbound()
        await r.channel.send(Outbound(got.address, "a"), MemoryReceipt())
        r.twin.slash(said, "stop")
        assert (await r.inbound(2))[1].address == got.address


async def test_ask_in_a_channel_shows_the_question_and_opens_a_thread_at_it() -> None:
    async with rig() as r:
        await synced(r)
        r.twin.slash(r.twin.general, "ask", "how is *AAPL*?")
        (got,) = await r.inbound()
        (question,) = r.twin.replies(r.twin.general)
        assert question.text == "> how is \\*AAPL\\*?"
        assert (got.address, got.text) == (r.general(question.id), "how is *AAPL*?")
        await r.channel.send(Outbound(got.address, "fine"), MemoryReceipt())
        (thread,) = r.twin.threads(r.twin.general)
        assert (thread.id, thread.name) == (question.id, "how is *AAPL*?")
        r.twin.say(thread.id, "and MSFT?")
        assert (await r.inbound(2))[1].address == got.address


async def test_a_command_whose_deadline_was_missed_is_still_run() -> None:
    async with rig() as r:
        await synced(r)
        r.twin.interactions.deadline = 0.0
        r.twin.slash(r.twin.dm_channel("5"), "new", user="5")
        (got,) = await r.inbound()
        assert got.text == "/new"
        r.twin.slash(r.twin.general, "ask", "late question")
        got = (await r.inbound(2))[1]
        (question,) = r.twin.replies(r.twin.general)
        assert (got.address, got.text) == (r.general(question.id), "late question")


async def test_acknowledging_does_not_wait_for_the_database_nor_for_a_flood() -> None:
    async with rig() as r:
        await synced(r)
        store, free = r.emit, asyncio.Event()

        async def emit(inbound: Inbound) -> None:
            await free.wait()
            await store(inbound)

        r.channel._emit = emit
        r.twin.flood(r.twin.dm_channel("5"), 30)
        used = r.twin.slash(r.twin.dm_channel("5"), "new", user="5")
        await r.twin.wait_for(lambda: used.answered is not None)
        free.set()
        assert (await r.inbound())[0].text == "/new"


async def test_choices_are_offered_while_a_person_types() -> None:
    places: list[Address] = []

    async def complete(
        command: str, typed: str, author: Author, place: Address
    ) -> Sequence[tuple[str, str]]:
        places.append(place)
        if typed == "boom":
            raise RuntimeError(typed)
        if typed == "slow":
            await asyncio.sleep(9)
        return [(f"{command}:{name}", name) for name in ("desk", "solo") if name.startswith(typed)]

    async with rig(more={"complete": complete}) as r:
        await synced(r)
        dm = r.twin.dm_channel("5")
        assert await r.twin.autocomplete(dm, "preset", "d") == [("preset:desk", "desk")]
        assert await r.twin.autocomplete(dm, "preset", "boom") == []
        assert await r.twin.autocomplete(dm, "preset", "slow") == []
        thread = r.twin.new_thread(r.twin.general)
        assert len(await r.twin.autocomplete(thread, "preset", "")) == 2
        assert [places[0], places[-1]] == [r.direct(), r.general(thread)]
        assert r.got == []


async def test_a_press_is_acknowledged_and_arrives_with_its_data() -> None:
    async with rig() as r:
        message = await ask(r, Button("Approve", "a:1", "primary"), Button("Deny", "d:1", "danger"))
        pressed = r.twin.press(message, "Approve", user="5")
        (got,) = await r.inbound()
        assert (got.kind, got.text, got.key, got.message_id) == (
            Kind.BUTTON,
            "a:1",
            pressed.id,
            message,
        )
        await r.channel.answer(str(got.callback), "Approved")
        assert pressed.answered == 6
        assert pressed.followups[0]["content"] == "Approved"
        assert pressed.followups[0]["flags"] == 64
        await r.channel.answer(str(got.callback))
        await r.channel.answer("1/none", "nobody hears it")


async def test_a_button_outlives_a_restart_and_a_late_press_is_done() -> None:
    async with rig() as r:
        message = await ask(r, Button("Approve", "a:1"))
        await r.stop()
        again = Rig(r.twin)
        await again.start()
        r.twin.interactions.deadline = 0.0
        r.twin.press(message, "Approve", user="5")
        assert (await again.inbound())[0].text == "a:1"
        await again.stop()


async def test_a_choice_in_a_menu_is_a_press() -> None:
    async with rig() as r:
        message = await ask(r, *(Button(f"Choice {i}", f"c:{i}") for i in range(40)))
        r.twin.select(message, "Choice 33", user="5")
        (got,) = await r.inbound()
        assert (got.kind, got.text) == (Kind.BUTTON, "c:33")


async def test_a_button_with_a_form_opens_a_dialog_and_its_submission_arrives() -> None:
    async with rig() as r:
        message = await ask(r, Button("Edit", "e:7", form=FORM))
        pressed = r.twin.press(message, "Edit", user="5")
        await r.twin.wait_for(lambda: pressed.modal)
        assert [row["components"][0]["style"] for row in (pressed.modal or {})["components"]] == [
            1,
            2,
        ]
        r.twin.submit(pressed, why="cheaper")
        (got,) = await r.inbound()
        assert (got.kind, got.text, got.message_id) == (Kind.FORM, "edit:7", message)
        assert got.fields == (("qty", "10"), ("why", "cheaper"))


@pytest.mark.parametrize("known", [True, False])
async def test_a_form_of_an_earlier_process_is_asked_for_or_the_press_arrives(known: bool) -> None:
    async def find(data: str) -> Form | None:
        return FORM if data == "e:7" else None

    async with rig() as r:
        message = await ask(r, Button("Edit", "e:7", form=FORM))
        await r.stop()
        again = Rig(r.twin, {"find_form": find} if known else {})
        await again.start()
        pressed = r.twin.press(message, "Edit", user="5")
        if known:
            await r.twin.wait_for(lambda: pressed.modal)
            assert again.got == []
        else:
            assert (await again.inbound())[0].kind is Kind.BUTTON
        await again.stop()


async def test_a_dialog_whose_deadline_was_missed_is_a_press() -> None:
    async with rig() as r:
        message = await ask(r, Button("Edit", "e:7", form=FORM))
        r.twin.interactions.deadline = 0.0
        r.twin.press(message, "Edit", user="5")
        (got,) = await r.inbound()
        assert (got.kind, got.text) == (Kind.BUTTON, "e:7")


async def test_a_press_under_an_answer_without_a_thread_belongs_to_the_question() -> None:
    async with rig() as r:
        r.twin.world.channels[r.twin.general].denied.add("threads")
        r.twin.mention(r.twin.general, "q")
        (got,) = await r.inbound()
        receipt = MemoryReceipt()
        await r.channel.send(Outbound(got.address, "Well?", buttons=(Button("Yes", "y"),)), receipt)
        r.twin.press(receipt.ids[0], "Yes")
        assert (await r.inbound(2))[1].address == got.address
