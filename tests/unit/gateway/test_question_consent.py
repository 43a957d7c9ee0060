"""Only a press, a form or a command decides, for one call with one set of arguments (TGV-4, TGV-6, FIX-4)."""

import pytest
from sqlalchemy import Connection

from agent_core.models.scripted import Answer
from channels.types import Attachment, Kind
from gateway.storage.db import Database
from tests.harness import call
from tests.house import settings
from tests.unit.gateway.asking import OPEN_QUESTION, PAY, house, question, results, settled, status

# FIX-4, TGV-6: none of these is a yes, wherever it is written.
WORDS = ("yes", "确认", "/approve yes", "不要继续", "👍")
MORE_WORDS = (
    *("Yes!", "ok", "OK", "好的", "同意", "继续", "批准", "approve", "Approve 1", "1", "[1]"),
    *("我不确认", "do not allow", "allow", "token", "look", "ok:1", "/approve 不要"),
    *("approve 1 please", "是", "y", "sure, go ahead", "/deny nothing"),
)
NO_CONSENT = [*WORDS, *(pytest.param(words, marks=pytest.mark.slow) for words in MORE_WORDS)]

# No consent in words ------------------------------------------------------------------------------


@pytest.mark.parametrize("words", NO_CONSENT)
async def test_words_are_never_consent(db: Database, words: str) -> None:
    """FIX-4."""
    async with house(db, PAY, "I wait for the button", "unused") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.say(words)
        await it.quiet()
        assert it.tools.calls == []
        assert await status(it) in ("open", "parked")


async def test_one_yes_does_not_allow_the_next_call(db: Database) -> None:
    """TGV-6: single use, bound to the call."""
    again = Answer(calls=(call("pay", "p2", to="bob", amount=3),))
    async with house(db, PAY, again, "both") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert await status(it, 2) == "open"
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]


async def test_a_ticket_of_other_arguments_allows_nothing(db: Database) -> None:
    """The stored digest is what was asked; a call that differs is not run."""
    async with house(db, PAY, "no") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.db.write(
            lambda conn: conn.exec_driver_sql("update question set digest = 'other'").rowcount
        )
        await it.press("ok:1")
        await it.quiet()
        assert it.tools.calls == []
        assert results(it.model.requests[-1])[0].startswith("The approval is for another call")


# Commands and editing -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "paid"),
    [("/approve", True), ("/approve 1", True), ("/deny", False), ("!deny #1", False)],
)
async def test_commands_decide_like_buttons(db: Database, words: str, paid: bool) -> None:
    async with house(db, PAY, "done") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.say(words)
        await it.quiet()
        assert it.tools.calls == ([("pay", "bob 3")] if paid else [])
        assert "Recorded." in it.channel.texts("1")
        await settled(it)


async def test_a_command_without_a_number_needs_exactly_one_question(db: Database) -> None:
    async with house(db, PAY, Answer(calls=(call("pay", "p2", to="carol"),))) as it:
        assert (await it.ask("/approve"))[-1] == "Nothing waits for an approval here."
        await it.say("pay bob")
        await it.quiet()
        await it.say("and carol")
        await it.quiet()
        assert (await it.ask("/approve"))[-1].startswith("Several wait; say which: 1, 2")
        assert it.tools.calls == []


async def test_edited_arguments_are_validated_shown_and_run(db: Database) -> None:
    """TGV-4: edit then run, by a form."""
    async with house(db, PAY, "paid") as it:
        await it.say("pay bob")
        await it.quiet()
        form = question(it).buttons[1].form
        assert [(f.name, f.value) for f in form.fields] == [("to", "bob"), ("amount", "3")]
        fields = (("to", "carol"), ("amount", "much"))
        await it.say("edit:1", kind=Kind.FORM, fields=fields)
        await it.quiet()
        assert it.channel.texts("1")[-1].startswith("Not approved: pay was not run: amount")
        assert await status(it) == "open"
        await it.say("edit:1", kind=Kind.FORM, fields=(("to", "carol"), ("amount", "2")))
        await it.quiet()
        assert it.tools.calls == [("pay", "carol 2")]
        assert any("amount=2\nto=carol" in t and "Approved by" in t for t in it.channel.texts("1"))
        await settled(it)


async def test_without_dialogs_the_values_come_as_lines_of_the_command(db: Database) -> None:
    async with house(db, PAY, "paid") as it:
        await it.say("pay bob")
        await it.quiet()
        await it.press("edit:1")
        await it.quiet()
        assert "/approve 1\namount=3\nto=bob" in it.channel.texts("1")[-1]
        await it.say("/approve 1\nto=5\namount=7")
        await it.quiet()
        assert it.tools.calls == [("pay", "5 7")]
        await settled(it)


@pytest.mark.parametrize(
    "words", ["/approve 1\nwhom=x", "/approve 1\nto bob", "/approve 1 now", "/approve one"]
)
async def test_an_edit_that_makes_no_sense_approves_nothing(db: Database, words: str) -> None:
    async with house(db, PAY) as it:
        await it.say("pay bob")
        await it.quiet()
        await it.say(words)
        await it.quiet()
        assert it.tools.calls == []
        assert await status(it) == "open"


async def test_always_is_not_offered_and_decides_nothing(db: Database) -> None:
    async with house(db, PAY) as it:
        await it.say("pay bob")
        await it.quiet()
        await it.press("always:1")
        assert await status(it) == "open"


async def test_arguments_cannot_pass_for_the_gateways_own_words(db: Database) -> None:
    to = "bob```\n**Approval 1: nothing to see**"
    async with house(db, Answer(calls=(call("pay", "p1", to=to),))) as it:
        await it.say("pay")
        await it.quiet()
        lines = question(it).text.splitlines()
        assert lines[2] == lines[4] == "````"
        assert lines[3].startswith('to="bob```\\n')


async def test_a_linked_identity_may_decide_and_a_former_operator_may_not(db: Database) -> None:
    async with house(db, PAY) as first:
        await first.say("pay bob")
        await first.quiet()
        await db.write(_link)
    rules = settings(access={"default": "allow"})  # nobody is an operator any more
    async with house(db, "paid", rules=rules) as it:
        await it.press("ok:1", chat="9", author="9", key="cb:9")
        assert it.channel.answers[-1][1] == "This question is no longer open."
        await it.press("ok:1", chat="2", author="2", key="cb:2")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        await settled(it)


def _link(conn: Connection) -> None:
    conn.exec_driver_sql(
        "insert into link (person_id, principal, created_at)"
        " values ('telegram:2', 'telegram:1', '2026-01-01 00:00:00')"
    )


async def test_a_file_is_no_answer_and_ends_the_wait(db: Database) -> None:
    """A message with a file goes its own way: an answer is words alone, and nothing is lost."""
    async with house(db, OPEN_QUESTION, "seen") as it:
        await it.say("go")
        await it.quiet()
        await it.say(
            "this one", attachments=(Attachment("a.bin", "application/x-unknown", ref="f"),)
        )
        await it.quiet()
        assert await status(it) == "parked"
        assert await it.one("select count(*) from turn") == 2
