"""The tools alert and remind in a turn: for the person of the turn, in its conversation, without asking anybody."""

import asyncio
import json
from typing import Any

from agent_core.book import Alert
from agent_core.finance.sources.chain import Sources
from agent_core.tools.alerts import alert_tools
from agent_core.tools.registry import Registry
from agent_core.tools.remind import remind_tools
from gateway.alerts.desk import AlertDesk
from gateway.presets.team_house import acting
from gateway.schedules.reminders import StoredReminders
from gateway.storage.db import Database
from gateway.toolbox import toolbox
from gateway.trading.portfolio import StoredPortfolio
from tests.harness import Toolbox, agent, team
from tests.house import House, Watch, on_sqlite
from tests.unit.gateway.asking import results
from tests.unit.gateway.order_house import calls
from tests.unit.gateway.watching import FRIDAY, Ticker

THE_TEAM = team(agent(tools=("alert", "remind")))
ALICE = "telegram:1"


class WatchingTools(Toolbox):
    """Those of the harness, and alert and remind over a database; `given` none: nobody keeps them."""

    def __init__(self, desk: AlertDesk | None, kept: StoredReminders | None) -> None:
        super().__init__()
        self.desk, self.kept = desk, kept

    def registry(self) -> Registry:
        sources = self.desk.sources if self.desk else Sources([Ticker()])
        own = [*alert_tools(sources, self.desk), *remind_tools(self.kept)]
        return Registry([*super().registry(), *own])


def house(db: Database, *script: Any, ticker: Ticker | None = None) -> House:
    clock = Watch()
    sources = Sources([ticker or Ticker()], clock)
    desk, kept = AlertDesk(db, clock, sources), StoredReminders(db, clock, "UTC")
    tools = WatchingTools(desk, kept)
    made = House(
        db, list(script), clock=clock, tools=tools, the_team=THE_TEAM, prices=sources, nap=_never
    )
    desk.wake, kept.wake = made.alerts.wake, made.timer.wake
    return made


async def _never(seconds: float) -> None:
    """A sleep of the timer that no time ends."""
    del seconds
    await asyncio.Event().wait()


def answer(it: House) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(results(it.model.requests[-1])[-1])
    return fields


async def test_a_turn_keeps_an_alert_for_its_person_where_it_runs(db: Database) -> None:
    """The owner is the turn's principal, never an argument; nobody is asked, since it notes for that very person."""
    add = calls("alert", action="add", symbol="谷歌", condition="above 400", repeat=True)
    remove = calls("alert", "c3", action="remove", number=1)
    async with house(db, add, "noted", calls("alert", "c2"), "listed", remove, "gone") as it:
        await it.ask("tell me when GOOG is above 400", chat="-5", private=False)
        fields = answer(it)
        assert (fields["number"], fields["alert"], fields["state"], fields["repeat"]) == (
            1,
            "GOOG above 400.00 USD",
            "pending",
            True,
        )
        assert (fields["symbol"], fields["source"], fields["as_of"], fields["last_close"]) == (
            "GOOG",
            "ticker",
            str(FRIDAY),
            395.0,
        )
        [kept] = await StoredPortfolio(db).records(ALICE, Alert)
        assert kept.conversation_id.endswith(":-5")
        await it.ask("which?", chat="-5", private=False)
        assert [row["number"] for row in answer(it)["alerts"]] == [1]
        await it.ask("remove it", chat="-5", private=False)
        assert answer(it) == {"removed": 1}
        assert await StoredPortfolio(db).records(ALICE, Alert) == []


@on_sqlite
async def test_failures_tell_the_model_how_to_mend_them(db: Database) -> None:
    script = [
        calls("alert", "a1", action="add", symbol="GOOG", condition="soon"),
        calls("alert", "a2", action="add", symbol="NOSUCHTHING", condition="above 4"),
        calls("alert", "a3", action="remove", number=7),
        calls("remind", "a4", action="add", when="some day", text="tea"),
        "done",
    ]
    async with house(db, *script) as it:
        await it.ask("try")
        told = results(it.model.requests[-1])
        assert "write a condition such as: above 400" in told[0]
        assert "no symbol is named 'NOSUCHTHING'" in told[1]
        assert "no alert 7 here; there are: —" in told[2]
        assert "How to use it" in told[3]


@on_sqlite
async def test_a_turn_keeps_lists_and_cancels_reminders_as_the_command_does(db: Database) -> None:
    add = calls("remind", "r1", action="add", when="in 10m", text="drink tea")
    cancel = calls("remind", "r3", action="cancel", number=1)
    async with house(db, add, calls("remind", "r2"), cancel, "done") as it:
        await it.ask("remind me to drink tea in ten minutes")
        told = [json.loads(content)["answer"] for content in results(it.model.requests[-1])]
        assert told[0].startswith("I will remind you here on 2026-01-05 12:10 (UTC): drink tea")
        assert told[1] == "- 1 · 2026-01-05 12:10 · drink tea"
        assert told[2] == "Reminder 1 is cancelled."
        assert await it.one("select status from schedule where kind = 'reminder'") == "cancelled"


@on_sqlite
async def test_without_a_keeper_the_tools_say_so(db: Database) -> None:
    """The list of tools is the same everywhere."""
    script = [calls("alert", "a1"), calls("remind", "a2"), "done"]
    tools = WatchingTools(None, None)
    async with House(db, script, tools=tools, the_team=THE_TEAM) as it:
        await it.ask("try")
        told = results(it.model.requests[-1])
        assert ["cannot be kept here" in content for content in told] == [True, True]


def test_neither_needs_a_rule_of_consent_in_a_preset() -> None:
    """They note for the very person whose turn it is, as `remember` does (SW302)."""
    assert not {"alert", "remind"} & acting(toolbox())
