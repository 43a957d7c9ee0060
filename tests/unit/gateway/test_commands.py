"""The chat commands, as people see them."""

import asyncio

import pytest

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from gateway.commands.commands import MENU
from gateway.inbound.router import COMMANDS
from gateway.storage.db import Database
from tests.house import House, on_sqlite, settings, until

pytestmark = on_sqlite


def own_words(request: ModelRequest) -> list[str]:
    return [m.text for m in request.messages if m.role == "user"]


async def test_help_lists_every_command_in_the_persons_language(db: Database) -> None:
    async with House(db, []) as house:
        [text] = await house.ask("/help")
        lines = [line for line in text.splitlines() if line.startswith("- ")]
        assert [line.split(" — ")[0] for line in lines] == [f"- /{n}" for n in MENU]
        assert set(MENU) | {"start"} == COMMANDS
        assert house.commands.menu("zh")[0] == ("new", "开始新对话")


async def test_start_says_hello(db: Database) -> None:
    async with House(db, []) as house:
        assert (await house.ask("/start"))[0].startswith("Hello!")


async def test_status_tells_of_this_chat_and_of_all(db: Database) -> None:
    async def hang(_: ModelRequest) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    async with House(db, hang, rules=settings(sessions={"while_busy": "queue"})) as house:
        await house.say("first")
        await until(lambda: house.model.requests)
        await house.say("second")
        await house.say("/status")
        await until(lambda: len(house.channel.texts("1")) > 1)
        lines = house.channel.texts("1")[-1].splitlines()
        assert lines == [
            "- Preset: test",
            "- Model: demo",
            "- Running here: yes",
            "- Waiting here: 1",
            "- Running in all: 1",
            "- Uptime: 1:01:01",
        ]


async def test_new_begins_a_session_and_forgets_nothing(db: Database) -> None:
    async with House(db, ["one", "two"]) as house:
        await house.ask("first")
        assert (await house.ask("/new"))[-1] == "A new conversation begins."
        await house.ask("second")
        assert own_words(house.model.requests[1]) == ["second"]
        assert await house.one("select count(distinct session_id) from transcript") == 2


async def test_commands_of_the_lane_keep_their_place_among_messages(db: Database) -> None:
    """A message sent before /new belongs to the old session, one sent after it to the new one."""
    gate = asyncio.Event()

    async def script(request: ModelRequest) -> Answer | str:
        await gate.wait()
        return f"saw {len(own_words(request))}"

    async with House(db, script, rules=settings(sessions={"while_busy": "queue"})) as house:
        for words in ["one", "two", "/new", "three"]:
            await house.say(words)
        gate.set()
        await house.quiet()
        assert house.channel.texts("1") == ["saw 1", "saw 2", "A new conversation begins.", "saw 1"]


async def test_a_model_is_shown_chosen_and_given_back(db: Database) -> None:
    rules = settings(
        models={"default": "demo", "providers": {"openai": {"api_key": "k", "model": "gpt-x"}}}
    )
    async with House(db, [], rules=rules) as house:
        [shown] = await house.ask("/model")
        assert "demo, openai/gpt-x" in shown
        assert "openai/gpt-x." in (await house.ask("/model openai/gpt-x"))[-1]
        assert "Model: openai/gpt-x" in (await house.ask("/status"))[-1]
        assert "no model nope/x" in (await house.ask("/model nope/x"))[-1]
        assert "demo." in (await house.ask("/model auto"))[-1]
        assert await house.one("select model from conversation") == ""


async def test_a_role_bounds_the_models_that_may_be_chosen(db: Database) -> None:
    access = {
        "allow": ["telegram:1"],
        "operators": ["telegram:9"],
        "roles": {"guests": {"members": ["telegram:1"], "models": ["demo"]}},
    }
    providers = {"openai": {"api_key": "k", "model": "gpt-x"}}
    rules = settings(access=access, models={"default": "demo", "providers": providers})
    async with House(db, [], rules=rules) as house:
        assert "may not choose openai/gpt-x" in (await house.ask("/model openai/gpt-x"))[-1]
        assert "gpt-x" not in (await house.ask("/model"))[-1]
        ask = house.ask("/model openai/gpt-x", author="9", chat="9")
        assert "openai/gpt-x." in (await ask)[-1]


async def test_a_preset_is_shown_and_chosen_for_this_chat_alone(db: Database) -> None:
    async with House(db, lambda r: r.system) as house:
        assert "Preset: test" in (await house.ask("/preset"))[-1]
        assert "other" in (await house.ask("/preset other"))[-1]
        assert (await house.ask("hello"))[-1] == "You are other."
        assert (await house.ask("hello", author="2", chat="2"))[-1] == "You are supervisor."
        assert "no preset nope" in (await house.ask("/preset nope"))[-1]


async def test_a_preset_that_has_gone_is_said_and_the_next_choice_works(db: Database) -> None:
    async with House(db, lambda r: "hi") as house:
        await house.ask("/preset other")
        gone = house.teams._presets.teams.pop("other")
        assert "other is not available any more" in (await house.ask("hello"))[-1]
        assert not house.model.requests
        house.teams._presets.teams["other"] = gone
        assert (await house.ask("hello"))[-1] == "hi"


@pytest.mark.parametrize(
    "words", ["/new", "/model", "/preset", "/status", "/help", "/start", "/stop"]
)
async def test_each_command_is_answered_once_and_leaves_nothing_open(
    db: Database, words: str
) -> None:
    async with House(db, []) as house:
        assert len(await house.ask(words)) == 1
        assert await house.one("select count(*) from inbox where status < 2") == 0
        assert await house.one("select count(*) from outbox where status <> 2") == 0


async def test_in_a_group_a_reply_answers_the_message_that_asked(db: Database) -> None:
    async with House(db, ["hi", "hi"]) as house:
        await house.ask("hello", chat="g", private=False, message_id="77")
        await house.ask("hello", chat="p", message_id="78")
        assert [m.reply_to for m in house.channel.order] == ["77", None]
