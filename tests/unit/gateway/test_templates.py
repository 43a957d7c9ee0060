"""Prompt templates in chat: called by their name, asked for what is missing, made into a request (MSC-9)."""

from pathlib import Path
from typing import Any

import pytest

from agent_core.ports import ModelRequest
from channels.types import Kind
from gateway.storage.db import Database
from tests.harness import agent, team
from tests.house import House, on_sqlite
from tests.unit.gateway.asking import question, settled
from tests.unit.gateway.recipe_house import beside, house, recipes, words, write

BRIEF = """---
description: A brief
fields:
  symbol: {type: symbol, description: {en: Stock, zh: 股票}}
  horizon: {type: choice, choices: [1m, 3m], description: Horizon}
  since: {type: date, required: false}
  risk: {type: number, min: 0.1, max: 5, default: 1}
---
Brief on {symbol} over {horizon}, {risk} % since {since}. {user_input} {other}
"""
TRADE = """---
fields:
  symbol: symbol
  since: {type: date, description: First day}
  why: text
---
Look at {symbol} since {since}: {why}
"""


def request(shown: ModelRequest) -> str:
    return words(shown)[-1]


def one_house(db: Database, folder: Path, text: str = BRIEF, **more: Any) -> House:
    write(folder, "templates", "brief", text)
    return house(db, folder, "done", **more)


async def fill(it: House, number: int, **fields: str) -> None:
    """The dialog behind a question's button is sent."""
    data = f"fill:{number}"
    await it.say(data, kind=Kind.FORM, callback="cb", fields=tuple(fields.items()))
    await it.quiet()


async def test_a_complete_call_is_the_request_at_once(db: Database, tmp_path: Path) -> None:
    """On both databases: what the row keeps comes back."""
    async with one_house(db, tmp_path) as it:
        assert (await it.ask("/brief AAPL 1m since=2025-03-01"))[-1] == "done"
        (shown,) = it.model.requests
        assert words(shown)[0] == "/brief AAPL 1m since=2025-03-01"
        assert request(shown) == (
            "Brief on AAPL over 1m, 1 % since 2025-03-01. AAPL 1m since=2025-03-01 {other}"
        )
        assert await it.one("select count(*) from question") == 0
        await settled(it)


@on_sqlite
async def test_a_choice_is_asked_by_buttons_and_a_word_in_chat(
    db: Database, tmp_path: Path
) -> None:
    async with one_house(db, tmp_path) as it:
        await it.say("/brief")
        await it.quiet()
        assert it.model.requests == []
        assert [b.label for b in question(it).buttons] == ["1. 1m", "2. 3m"]
        await it.press("ask:1:2")
        await it.quiet()
        asked = question(it)
        assert "Stock" in asked.text
        assert [b.label for b in asked.buttons] == ["Fill in"]
        assert [(f.name, f.label) for f in asked.buttons[0].form.fields] == [("symbol", "Stock")]
        assert "done" in await it.ask("GOOG")
        assert "GOOG" in request(it.model.requests[0])
        assert " over 3m, 1 % since (not given)." in request(it.model.requests[0])
        await settled(it)


@on_sqlite
async def test_several_fields_are_asked_in_one_dialog(db: Database, tmp_path: Path) -> None:
    async with one_house(db, tmp_path, TRADE) as it:
        await it.say("/brief")
        await it.quiet()
        (button,) = question(it).buttons
        labels = [(f.name, f.label) for f in button.form.fields]
        assert labels == [("symbol", "symbol"), ("since", "First day"), ("why", "why")]
        await fill(it, 1, symbol="AAPL", since="2024-01-02", why="new; phone")
        assert request(it.model.requests[0]).endswith("since 2024-01-02: new, phone")
        await settled(it)


@on_sqlite
async def test_several_fields_are_told_in_words_where_there_is_no_dialog(
    db: Database, tmp_path: Path
) -> None:
    async with one_house(db, tmp_path, TRADE) as it:
        await it.say("/brief")
        await it.quiet()
        await it.press("fill:1")
        assert it.channel.answers[-1][1] == "Send the answer as a message."
        assert "`symbol = …; since = …; why = …`" in question(it).text
        await it.ask("why = a test; since = 2024-01-02; symbol = AAPL")
        assert request(it.model.requests[0]).endswith("since 2024-01-02: a test")


@on_sqlite
async def test_only_what_does_not_fit_is_asked_again(db: Database, tmp_path: Path) -> None:
    async with one_house(db, tmp_path, TRADE) as it:
        await it.say("/brief")
        await it.quiet()
        await fill(it, 1, symbol="AAPL", since="yesterday", why="x")
        asked = question(it)
        assert "`yesterday` does not fit" in asked.text
        assert [f.name for f in asked.buttons[0].form.fields] == ["since"]
        await it.ask("2024-01-02")
        assert request(it.model.requests[0]).endswith("since 2024-01-02: x")


@on_sqlite
async def test_after_three_tries_it_says_what_is_missing(db: Database, tmp_path: Path) -> None:
    async with one_house(db, tmp_path, "---\nfields: {n: number}\n---\nN {n}") as it:
        await it.say("/brief")
        await it.quiet()
        for _ in range(3):
            await it.ask("many")
        assert "Nothing was started: n missing." in "".join(it.channel.texts("1"))
        assert it.model.requests == []
        await settled(it)


@on_sqlite
async def test_stop_ends_a_template_that_asks(db: Database, tmp_path: Path) -> None:
    async with one_house(db, tmp_path) as it:
        await it.say("/brief AAPL")
        await it.quiet()
        await it.ask("/stop")
        assert it.model.requests == []
        assert await it.one("select status from question") == "cancelled"
        await settled(it)


async def test_it_goes_on_after_a_restart_as_it_was_called(db: Database, tmp_path: Path) -> None:
    """An edit meanwhile changes nothing for a call that goes on: its row keeps the template."""
    async with one_house(db, tmp_path) as it:
        await it.say("/brief AAPL")
        await it.quiet()
        assert [b.label for b in question(it).buttons] == ["1. 1m", "2. 3m"]
    write(tmp_path, "templates", "brief", "Something else.")
    async with house(db, tmp_path, "done") as it:
        await it.press("ask:1:1", key="cb:9")
        await it.quiet()
        assert request(it.model.requests[0]).startswith("Brief on ")
        assert " over 1m, 1 %" in request(it.model.requests[0])


@on_sqlite
@pytest.mark.parametrize("value", ["{since}", "{user_input}", "{0}", "\\1", "%s"])
async def test_a_value_is_never_read_as_a_place(db: Database, tmp_path: Path, value: str) -> None:
    async with one_house(db, tmp_path, "---\nfields: {why: text}\n---\nSay [{why}]") as it:
        await it.ask(f"/brief {value}")
        assert request(it.model.requests[0]) == f"Say [{value}]"


@on_sqlite
async def test_two_languages(db: Database, tmp_path: Path) -> None:
    write(tmp_path, "templates", "brief.zh", "---\ndescription: 简报\n---\n关于{symbol}")
    async with one_house(db, tmp_path) as it:
        await it.say("/brief 请")
        await it.quiet()
        await it.press("ask:1:1")
        await it.quiet()
        asked = question(it)
        assert "股票" in asked.text
        assert asked.buttons[0].label == "填写"
        await it.ask("AAPL")
        assert request(it.model.requests[0]).startswith("关于")


@on_sqlite
async def test_the_request_stays_in_the_conversation(db: Database, tmp_path: Path) -> None:
    write(tmp_path, "templates", "brief", "---\nfields: {why: text}\n---\nSay {why}")
    async with house(db, tmp_path, "one", "two") as it:
        await it.ask("/brief hello")
        await it.ask("and then?")
        assert words(it.model.requests[1]) == ["/brief hello", "Say hello", "and then?"]


@on_sqlite
async def test_a_template_calls_no_tool_by_itself(db: Database, tmp_path: Path) -> None:
    """Its question is the runtime's: the model's own `ask_user` takes no fields."""
    known = recipes(tmp_path)
    lead = agent(tools=("echo",))
    async with one_house(db, tmp_path, recipes=known, the_team=team(lead)) as it:
        known.templates.reload()
        await it.say("/brief AAPL")
        await it.quiet()
        await it.press("ask:1:1")
        await it.quiet()
        assert [t.name for t in it.model.requests[0].tools] == ["echo"]
        assert it.tools.calls == []


@on_sqlite
async def test_an_answer_that_comes_late_is_told_in_a_turn_of_its_own(
    db: Database, tmp_path: Path
) -> None:
    """The person went on with something else meanwhile: nothing of what was filled in is lost."""
    write(tmp_path, "templates", "brief", TRADE)
    async with house(db, tmp_path, "checked", "noted") as it:
        await it.say("/brief")
        await it.quiet()
        await it.ask("/checkup MSFT")
        assert await it.one("select status from question") == "parked"
        await fill(it, 1, symbol="AAPL", since="2024-01-02", why="x")
        assert "symbol = AAPL; since = 2024-01-02; why = x" in beside(it.model.requests[1])
        assert "noted" in it.channel.texts("1")
        await settled(it)
