"""An approval under a preset's rule, as the person at each platform sees and decides it (TGV-4, TGV-6)."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from agent_core.approvals import Rule
from agent_core.models.scripted import Answer
from gateway.storage.db import Database
from tests.contract.desk import ALL, desk
from tests.contract.rigs.base import Rig
from tests.harness import agent, call, team
from tests.house import on_sqlite, until

pytestmark = on_sqlite
PAY = Answer(calls=(call("pay", "p1", to="bob", amount=3),))
AGAIN = Answer(calls=(call("pay", "p2", to="bob", amount=3),))
RULE = Rule("pay", remember="always", show=("amount",), where="direct_message", expires=600.0)


@pytest.fixture(params=ALL, ids=lambda kind: kind.__name__.removesuffix("Rig"))
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """A platform; its protocol must have been kept."""
    async with request.param() as made:
        yield made
    assert made.violations == []


async def test_a_rule_is_shown_and_decided_by_buttons_and_a_word_decides_nothing(
    db: Database, rig: Rig
) -> None:
    """FIX-4: the person writes yes, and only the button counts; then the same call needs no further one."""
    lead = replace(agent(tools=("pay",)), approvals=(RULE,))
    script = [PAY, "I wait for the button", "paid", AGAIN, "paid again"]
    async with desk(db, rig, script, the_team=team(lead)) as it:
        await rig.say("pay bob")
        await until(lambda: any("Approve" in m.buttons for m in rig.visible()), 10)
        await it.quiet()
        asked = next(m for m in rig.visible() if "Approve" in m.buttons)
        assert asked.buttons == ("Approve", "Always", "Deny")
        assert "amount=3" in asked.text
        assert "to=bob" not in asked.text
        assert "expires in 10 minutes" in asked.text
        await rig.say("yes, go on")
        await until(lambda: len(it.model.requests) == 2, 10)
        await it.quiet()
        assert it.tools.calls == []
        await rig.press("Always")
        await until(lambda: len(it.model.requests) == 3, 10)
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        await until(lambda: any("/deny 1 takes that back" in text for text in it.texts()), 10)
        await rig.say("once more")
        await until(lambda: len(it.model.requests) == 5, 10)
        await it.settled()
        assert it.tools.calls == [("pay", "bob 3")] * 2
