"""A turn ends with the preset that it began with, whatever is edited meanwhile, also after a restart (presets, 9)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from gateway.engine.begun import Begun
from gateway.presets.team_house import KEPT, LITE
from gateway.storage.db import Database
from swarm_presets.loader import PresetSet, load_folder
from tests.harness import Toolbox, call
from tests.house import House, on_sqlite, settings
from tests.unit.gateway.asking import results

pytestmark = pytest.mark.statements

TOOLS = Toolbox().registry().names
PRESET = """
version: 1
name: test
supervisor: {{role: Head, prompt: "{prompt}", tools: [pay, echo]}}
"""


class Desk:
    """Houses on one database, one after the other as restarts have them, with a preset file between them."""

    def __init__(self, db: Database, folder: Path) -> None:
        self.db = db
        self.folder = folder
        self.houses = 0

    def read(self, prompt: str) -> PresetSet:
        """What the file comes to with this prompt."""
        (self.folder / "test.yaml").write_text(PRESET.format(prompt=prompt))
        found = load_folder(self.folder, tools=TOOLS, shipped=False)
        assert found.problems == []
        return found

    def house(self, prompt: str, **more: Any) -> House:
        """A process that has read the file as it is now."""
        found = self.read(prompt)
        made = House(self.db, self._script, the_team=found.teams["test"], **more)
        self.houses += 1
        made._keys = 100 * self.houses  # a platform numbers on over restarts
        return made

    def _script(self, request: ModelRequest) -> Answer | str:
        """Pay when told to, and say by which prompt."""
        who = "old" if "You are old." in request.system else "new"
        said = request.messages[-1].text
        if "pay" in said and not results(request):
            return Answer(calls=(call("pay", "p1", to="bob"),))
        return f"the {who} one"


@pytest.fixture
def desk(db: Database, tmp_path: Path) -> Desk:
    return Desk(db, tmp_path)


async def versions(house: House) -> list[str]:
    return [row.name for row in await house.all("select name from preset_version order by at")]


async def test_an_edit_is_for_the_next_turn_and_not_for_the_one_that_waits(desk: Desk) -> None:
    async with desk.house("You are old.") as house:
        await house.ask("pay")
        house.teams.swap(desk.read("You are new."))
        await house.press("ok:1")
        await house.quiet()
        assert house.tools.calls == [("pay", "bob 1")]
        assert "the old one" in house.channel.texts("1")
        assert (await house.ask("hello"))[-1] == "the new one"


async def test_a_restart_finds_what_the_preset_said_when_the_turn_began(desk: Desk) -> None:
    async with desk.house("You are old.") as house:
        await house.ask("pay")
        assert await versions(house) == ["test"]
    async with desk.house("You are new.") as house:
        await house.press("ok:1")
        await house.quiet()
        assert house.tools.calls == [("pay", "bob 1")]
        assert "the old one" in house.channel.texts("1")
        assert (await house.ask("hello"))[-1] == "the new one"
        kept = await house.one("select source from preset_version")
        assert "You are new." in kept  # and nothing else is kept, since no open turn needs it
    digests = await house.all("select distinct digest from turn")
    assert len(digests) == 2


async def test_what_a_turn_waits_with_is_kept_as_long_as_it_waits(desk: Desk) -> None:
    async with desk.house("You are old.") as house:
        await house.ask("pay")
    for prompt in ("You are new.", "You are newer."):
        async with desk.house(prompt) as house:
            await house.ask("hello", author="2", chat="2")
    assert len(await versions(house)) == 2  # the present one, and the one that is waited with
    async with desk.house("You are newest.") as house:
        await house.press("ok:1")
        await house.quiet()
        assert "the old one" in house.channel.texts("1")


@on_sqlite
async def test_many_edits_in_one_process_lose_nothing_either(desk: Desk) -> None:
    async with desk.house("You are old.") as house:
        await house.ask("pay")
        found = desk.read("You are new.")
        for number in range(KEPT + 2):
            team = replace(found.teams["test"], digest=str(number))
            house.teams.swap(replace(found, teams={"test": team}))
        await house.press("ok:1")
        await house.quiet()
        assert "the old one" in house.channel.texts("1")


@on_sqlite
async def test_a_turn_whose_preset_is_lost_says_so_and_does_nothing(desk: Desk) -> None:
    """Nothing goes on under limits and approvals that it did not begin with."""
    async with desk.house("You are old.") as house:
        await house.ask("pay")
    await desk.db.write(lambda conn: conn.execute(text("delete from preset_version")) and None)
    async with desk.house("You are new.") as house:
        await house.press("ok:1")
        await house.quiet()
        assert house.tools.calls == []
        assert any("The preset test has changed" in t for t in house.channel.texts("1"))
        assert (await house.ask("hello"))[-1] == "the new one"


@on_sqlite
async def test_a_group_in_lite_mode_goes_on_with_its_prompt_and_no_more_tools(desk: Desk) -> None:
    rules = settings(groups={"overrides": {"telegram:-5": {"lite": True}}})
    async with desk.house("You are old.", rules=rules) as house:
        ran: list[Begun] = []
        house.turns.spoke = ran.append
        await house.ask("hello", chat="-5", private=False)
        (begun,) = ran
        assert begun.digest == house.teams.fallback().digest
    async with desk.house("You are new.", rules=rules) as house:
        again = await desk.db.write(
            lambda c: house.turns.staff.staffed(c, begun, house.clock.now())
        )
        assert again.team is not None
        assert (again.team.name, again.team.supervisor.prompt) == (LITE, "You are old.")
        assert again.team.supervisor.tools == ()  # what pays is none of the lite tools
