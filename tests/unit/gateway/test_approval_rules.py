"""Approvals by the rules of a preset: who, how many, where, how long, with which values (TGV-4, TGV-6 … TGV-9)."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection

from agent_core.approvals import Condition, Rule
from agent_core.models.scripted import Answer
from agent_core.runtime.team import Agent, Team
from channels.types import Kind
from gateway.settings.settings import Settings
from gateway.storage.db import Database
from tests.harness import agent, call, delegate, team
from tests.house import House, settings
from tests.unit.gateway.asking import PAY, house, question, results, settled, status
from tests.unit.gateway.test_question_consent import NO_CONSENT

OPS = "telegram:777:ops"
PM = {"pm": {"members": ["telegram:5", "telegram:6"]}}
ALLOWED = [f"telegram:{n}" for n in (1, 2, 5, 6)]
TWO = Rule("pay", by=("role:pm", "admin"), not_requester=True, quorum=2, where="ops_channel")


def rules(**more: Any) -> Settings:
    access = {"allow": ALLOWED, "operators": ["telegram:9", "telegram:1"], "roles": PM}
    return settings(access=access, ops_channel=OPS, **more)


def under(*approvals: Rule, agents: tuple[Agent, ...] = (), tools: Any = ("pay", "order")) -> Team:
    lead = replace(agent(tools=tools), approvals=approvals)
    return team(lead, *(replace(a, approvals=approvals) for a in agents))


def ruled(db: Database, *script: Any, by: tuple[Rule, ...], **more: Any) -> House:
    return house(db, *script, the_team=under(*by), rules=more.pop("rules", rules()), **more)


def told(it: House, words: str, chat: str = "1") -> bool:
    """Whether a message of this chat says so."""
    return any(words in text for text in it.channel.texts(chat))


async def pay(it: House) -> None:
    await it.say("pay bob")
    await it.quiet()


async def press(it: House, data: str, who: int, chat: str = "ops") -> str:
    """What the press is answered with."""
    before = len(it.channel.answers)
    await it.press(data, author=str(who), chat=chat, private=chat != "ops")
    await it.quiet()
    return str(it.channel.answers[before][1])


# Who and how many ---------------------------------------------------------------------------------


async def test_a_quorum_of_different_people_decides_in_the_operators_channel(db: Database) -> None:
    async with ruled(db, PAY, "paid", by=(TWO,)) as it:
        await pay(it)
        there = question(it, "ops")
        assert told(it, "decided elsewhere")
        assert told(it, "role pm or an operator (not whoever asked), 2 different people")
        assert "Asked for by `telegram:1`." in there.text
        mine = [b.data for shown in it.channel.order if shown.chat == "1" for b in shown.buttons]
        assert not [data for data in mine if data.startswith("ok:")]
        refusal = "Only the person who was asked can decide this."
        assert await press(it, "ok:1", 2) == refusal
        assert await press(it, "ok:1", 1) == refusal  # an operator, but the one who asked
        assert await press(it, "ok:1", 5) == "Recorded."
        assert await press(it, "ok:1", 5) == "Recorded."
        assert it.tools.calls == []
        assert "Yes of name 5; 1 more needed." in there.text
        assert there.buttons
        assert await press(it, "ok:1", 9) == "Recorded."
        assert it.tools.calls == [("pay", "bob 3")]
        assert "Approved by name 5, name 9" in there.text
        assert not there.buttons
        assert told(it, "Approved by name 5, name 9")
        assert told(it, "paid")
        await settled(it)


async def test_one_no_of_an_approver_is_enough(db: Database) -> None:
    async with ruled(db, PAY, "not paid", by=(TWO,)) as it:
        await pay(it)
        await press(it, "ok:1", 5)
        assert await press(it, "no:1", 6) == "Recorded."
        assert it.tools.calls == []
        assert results(it.model.requests[-1])[0].startswith("Denied by the person")
        await settled(it)


async def test_whoever_asked_may_take_it_back_but_not_allow_it(db: Database) -> None:
    async with ruled(db, PAY, "not paid", by=(TWO,)) as it:
        await pay(it)
        assert await press(it, "no:1", 1, chat="1") == "Recorded."
        assert it.tools.calls == []
        await settled(it)


async def test_a_person_counts_once_under_linked_identities(db: Database) -> None:
    async with ruled(db, PAY, by=(TWO,)) as it:
        await pay(it)
        await db.write(_link)
        await press(it, "ok:1", 5)
        await press(it, "ok:1", 6)
        assert it.tools.calls == []
        assert await status(it) == "open"


def _link(conn: Connection) -> None:
    conn.exec_driver_sql(
        "insert into link (person_id, principal, created_at)"
        " values ('telegram:6', 'telegram:5', '2026-01-01 00:00:00')"
    )


async def test_rules_add_up_and_each_must_be_satisfied(db: Database) -> None:
    both = (Rule("pay", expires=600), Rule("pay", by=("user:telegram:2",), expires=120))
    async with ruled(db, PAY, "paid", by=both) as it:
        await pay(it)
        assert "it expires in 2 minutes" in question(it).text  # the shortest wins
        await press(it, "ok:1", 1, chat="1")
        assert it.tools.calls == []
        await press(it, "ok:1", 2, chat="2")
        assert it.tools.calls == [("pay", "bob 3")]
        await settled(it)


async def test_a_role_that_was_taken_away_takes_its_yes_along(db: Database) -> None:
    async with ruled(db, PAY, by=(TWO,)) as first:
        await pay(first)
        await press(first, "ok:1", 5)
    fewer = rules().model_copy(update={"access": rules().access.model_copy(update={"roles": {}})})
    async with ruled(db, "paid", by=(TWO,), rules=fewer) as it:
        await it.press("ok:1", author="9", chat="ops", private=False, key="later")
        await it.quiet()
        assert it.tools.calls == []
        assert await status(it) == "open"


# When ---------------------------------------------------------------------------------------------


SMALL = Rule("order", when=(Condition("n", "lte", 10),))
LARGE = Rule("order", when=(Condition("n", "gt", 10),), by=("admin",), not_requester=True)


@pytest.mark.parametrize(("n", "asker_may"), [(5, True), (10, True), (11, False)])
async def test_the_amount_says_whose_yes_is_needed(db: Database, n: int, asker_may: bool) -> None:
    """TGV-8: narrow calls and large ones are graded by their arguments."""
    buy = Answer(calls=(call("order", "o1", n=n),))
    async with ruled(db, buy, "done", by=(SMALL, LARGE)) as it:
        await it.say("buy")
        await it.quiet()
        assert it.tools.calls == []
        await press(it, "ok:1", 1, chat="1")
        assert bool(it.tools.calls) is asker_may


async def test_a_default_value_is_judged_like_a_written_one(db: Database) -> None:
    async with ruled(db, Answer(calls=(call("order", "o1"),)), by=(SMALL, LARGE)) as it:
        await it.say("buy")
        await it.quiet()
        assert "n=0" in question(it).text


async def test_a_call_that_acts_outside_and_that_no_rule_covers_is_refused(db: Database) -> None:
    """SW302 at run time: conditions that leave a call out do not let it pass."""
    buy = Answer(calls=(call("order", "o1", n=5),))
    async with ruled(db, buy, "sorry", by=(LARGE,)) as it:
        await it.say("buy")
        await it.quiet()
        assert it.tools.calls == []
        assert (
            "no approval rule of this preset covers this call" in results(it.model.requests[-1])[0]
        )


# Values -------------------------------------------------------------------------------------------


EDIT = Rule("pay", editable=("amount",), show=("amount",))


async def test_only_what_the_rule_names_may_be_changed(db: Database) -> None:
    """TGV-4: edited arguments are judged again."""
    async with ruled(db, PAY, "paid", by=(EDIT,)) as it:
        await pay(it)
        shown = question(it)
        assert "amount=3" in shown.text
        assert "Further arguments: `to`." in shown.text
        form = next(b.form for b in shown.buttons if b.form)
        assert [(f.name, f.value) for f in form.fields] == [("amount", "3")]
        await it.say("/approve 1\nto=carol")
        await it.quiet()
        assert it.channel.texts("1")[-1] == "Not approved: to may not be changed"
        await it.say("edit:1", kind=Kind.FORM, fields=(("amount", "2"),))
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 2")]
        await settled(it)


async def test_a_change_voids_each_yes_and_old_buttons_and_sheds_no_rule(db: Database) -> None:
    """A changed argument needs a new yes; a cheaper call does not get away from the strict rule."""
    strict = replace(TWO, editable=("amount",), when=(Condition("amount", "gt", 2),), where="here")
    async with ruled(db, PAY, "paid", by=(Rule("pay", by=("role:pm",)), strict)) as it:
        await pay(it)
        await press(it, "ok:1", 5)
        await it.say("edit:1", kind=Kind.FORM, fields=(("amount", "1"),), author="6", chat="6")
        await it.quiet()
        assert it.tools.calls == []
        assert "amount=1" in question(it).text
        stale = "The values were changed meanwhile: decide with the buttons below the new ones."
        assert await press(it, "ok:1", 5) == stale
        await it.say("/approve 1", author="5", chat="5")
        await it.quiet()
        assert it.channel.texts("5")[-1] == stale
        assert await press(it, "ok:1:1", 5) == "Recorded."
        assert it.tools.calls == [("pay", "bob 1")]
        await settled(it)


# Where and how long -------------------------------------------------------------------------------


async def test_a_private_question_goes_to_the_private_chat_of_whoever_decides(db: Database) -> None:
    private = Rule("pay", where="direct_message")
    async with ruled(db, "hello", PAY, "paid", by=(private,)) as it:
        await it.say("hi", author="1", chat="1")
        await it.quiet()
        await it.say("pay bob", author="1", chat="g", private=False)
        await it.quiet()
        assert told(it, "decided elsewhere", "g")
        assert question(it, "1").buttons
        await press(it, "ok:1", 1, chat="1")
        assert it.tools.calls == [("pay", "bob 3")]
        await settled(it)


async def test_without_an_operators_channel_it_is_asked_where_it_came_up(db: Database) -> None:
    nowhere = rules().model_copy(update={"ops_channel": None})
    async with ruled(db, PAY, by=(TWO,), rules=nowhere) as it:
        await pay(it)
        assert question(it, "1").buttons


async def test_what_expires_is_said_to_be_neither_a_yes_nor_a_no_everywhere(db: Database) -> None:
    """TGV-7."""
    async with ruled(db, PAY, "nobody answered", by=(replace(TWO, expires=60.0),)) as it:
        await pay(it)
        await press(it, "ok:1", 5)
        await it.later(61)
        assert await status(it) == "expired"
        assert it.tools.calls == []
        assert told(it, "neither approved nor denied", "ops")
        assert told(it, "neither approved nor denied")
        assert results(it.model.requests[-1])[0].startswith("Expired")
        await settled(it)


# Bound, once, durable -----------------------------------------------------------------------------


async def test_votes_outlive_a_restart(db: Database) -> None:
    async with ruled(db, PAY, by=(TWO,)) as first:
        await pay(first)
        await press(first, "ok:1", 5)
    async with ruled(db, "paid", by=(TWO,)) as it:
        await it.press("ok:1", author="6", chat="ops", private=False, key="later")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        await settled(it)


async def test_a_yes_under_another_preset_allows_nothing(db: Database) -> None:
    """TGV-6: a ticket is bound to the preset's digest and the rules; a turn of its own runs under the present one."""
    async with ruled(db, PAY, "weather", by=(Rule("pay"),)) as first:
        await pay(first)
        await first.say("how is the weather?")
        await first.quiet()
        assert await status(first) == "parked"
    other = replace(under(Rule("pay")), digest="1" * 64)
    async with house(db, "no", the_team=other, rules=rules()) as it:
        await it.press("ok:1", key="later")
        await it.quiet()
        assert it.tools.calls == []
        assert "the preset has changed" in results(it.model.requests[-1])[-1]


@pytest.mark.parametrize("words", NO_CONSENT)
async def test_words_are_never_consent_under_rules(db: Database, words: str) -> None:
    """FIX-4, defect 9: neither of whoever asked nor of an approver in the operators' channel."""
    async with ruled(db, PAY, "I wait", "I wait", by=(replace(TWO, quorum=1),)) as it:
        await pay(it)
        await it.say(words, author="5", chat="ops", private=False)
        await it.quiet()
        await it.say(words)
        await it.quiet()
        assert it.tools.calls == []
        assert await status(it) in ("open", "parked")


async def test_a_late_yes_of_the_quorum_runs_the_stored_call_once(db: Database) -> None:
    async with ruled(db, PAY, "weather", "reported", by=(TWO,)) as it:
        await pay(it)
        await press(it, "ok:1", 5)
        await it.say("how is the weather?")
        await it.quiet()
        assert await status(it) == "parked"
        await press(it, "ok:1", 6)
        await press(it, "ok:1", 9)
        assert it.tools.calls == [("pay", "bob 3")]
        assert it.channel.texts("1")[-1] == "reported"
        await settled(it)


async def test_a_sub_agents_call_is_bound_by_the_same_rules(db: Database) -> None:
    """SUB-5, TGV-9."""
    the_team = under(TWO, agents=(agent("helper", tools=("pay",)),), tools=())
    send = Answer(calls=(delegate("helper", "pay bob"),))
    async with house(db, send, PAY, "paid", "done", the_team=the_team, rules=rules()) as it:
        await it.say("go")
        await it.quiet()
        for who in (5, 6):
            await press(it, "ok:1", who)
        assert it.tools.calls == [("pay", "bob 3")]
        assert told(it, "done")
        await settled(it)


# Remembered ---------------------------------------------------------------------------------------


SAME = Answer(calls=(call("pay", "p2", to="bob", amount=3),))
MORE = Answer(calls=(call("pay", "p3", to="bob", amount=4),))


async def test_always_is_offered_where_every_rule_allows_it_and_counts_for_the_same_call_alone(
    db: Database,
) -> None:
    by = (Rule("pay", remember="always"),)
    async with ruled(db, PAY, "one", SAME, "two", MORE, by=by) as it:
        await pay(it)
        assert [b.label for b in question(it).buttons] == ["Approve", "Always", "Deny"]
        assert await press(it, "always:1", 1, chat="1") == "Recorded."
        assert told(it, "/deny 1 takes that back")
        await it.say("/new")
        await pay(it)
        assert it.tools.calls == [("pay", "bob 3")] * 2
        await pay(it)
        assert it.tools.calls == [("pay", "bob 3")] * 2  # another amount asks again
        assert await it.one("select status from question where id = 3") == "open"


async def test_a_remembered_yes_is_somebodys_own_outlives_a_restart_and_can_be_taken_back(
    db: Database,
) -> None:
    by = (Rule("pay", remember="always"),)
    async with ruled(db, PAY, "one", by=by) as first:
        await pay(first)
        await press(first, "always:1", 1, chat="1")
    async with ruled(db, SAME, "two", SAME, SAME, by=by) as it:
        await it.say("pay bob", key="again")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        await it.say("pay bob", author="2", chat="2")
        await it.quiet()
        assert await status(it, 3) == "open"  # another person's
        await it.say("/deny 1", author="2", chat="2")
        await it.quiet()
        assert it.channel.texts("2")[-1] == "This question is no longer open."
        await it.say("/deny 1", key="deny")
        await it.quiet()
        assert it.channel.texts("1")[-1].startswith("Taken back")
        await it.say("pay bob", key="third")
        await it.quiet()
        assert await status(it, 4) == "open"


@pytest.mark.parametrize(("scope", "asked"), [("session", 2), ("run", 2), ("always", 1)])
async def test_a_yes_is_kept_as_long_as_the_rule_says(db: Database, scope: Any, asked: int) -> None:
    by = (Rule("pay", remember=scope),)
    async with ruled(db, PAY, "one", SAME, "two", by=by) as it:
        await pay(it)
        await press(it, "always:1", 1, chat="1")
        await it.say("/new")
        await pay(it)
        assert len(await it.all("select id from question where text <> ''")) == asked


async def test_a_rule_that_changes_asks_again(db: Database) -> None:
    async with ruled(db, PAY, "one", by=(Rule("pay", remember="always"),)) as first:
        await pay(first)
        await press(first, "always:1", 1, chat="1")
    stricter = (Rule("pay", remember="always", quorum=2),)
    async with ruled(db, SAME, by=stricter) as it:
        await it.say("pay bob", key="again")
        await it.quiet()
        assert it.tools.calls == []
        assert await status(it, 2) == "open"


async def test_the_strictest_rule_says_what_may_be_remembered(db: Database) -> None:
    async with ruled(db, PAY, by=(Rule("pay", remember="always"), Rule("pay", quorum=1))) as it:
        await pay(it)
        assert [b.label for b in question(it).buttons] == ["Approve", "Deny"]
        await press(it, "always:1", 1, chat="1")
        assert await status(it) == "open"


async def test_the_question_in_chinese(db: Database) -> None:
    async with ruled(db, PAY, by=(replace(TWO, where="here", remember="session"),)) as it:
        await it.say("付款给 bob")
        await it.quiet()
        shown = question(it)
        assert [b.label for b in shown.buttons] == ["批准", "本会话总是", "拒绝"]
        assert "需要批准：角色 pm、管理员（提出者除外），共 2 人。" in shown.text
