"""/forget: everything that is kept of a person is deleted, after a yes, and counted before and after (ARC-8)."""

import datetime as dt
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select

from agent_core.storage import upkeep
from channels.types import Button
from gateway.commands.memory import sight
from gateway.memory import forget
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.storage.tables import Inbox, Outbox
from gateway.texts.texts import say
from gateway.workspaces import Workspaces

if TYPE_CHECKING:
    from gateway.commands.commands import Asked

_INBOX = Inbox.__table__  # type: ignore[attr-defined]
_OUTBOX = Outbox.__table__  # type: ignore[attr-defined]
MINUTES = 10  # that the question holds
TOAST_CHARS = 120
_EVERYTHING = frozenset({"everything", "all", "一切", "全部"})


@dataclass(frozen=True, slots=True)
class Done:
    """What /forget or a press of its buttons came to. `said` is the answer, "" where a question was put instead.

    `letters` rewrite the question; `wake`: conversations of others that go on, and for whom.
    """

    said: str
    letters: tuple[tuple[int, Draft], ...] = ()
    wake: tuple[tuple[str, str], ...] = ()


def run(conn: Connection, asked: "Asked", workspaces: Workspaces) -> Done:
    """/forget: asks first; /forget everything: does it."""
    wanted = asked.route.rest.lower()
    if wanted in _EVERYTHING:
        said, wake = _erased(conn, asked, workspaces)
        return Done(said, wake=wake)
    if wanted:
        return Done(say("how_to", asked.language, use=say("use_forget", asked.language)))
    asked.also.append(_question(conn, asked))
    return Done("")


def _question(conn: Connection, asked: "Asked") -> Draft:
    language = asked.language
    if asked.lane.private:
        who = ", ".join(forget.identities(conn, asked.person))
        text, yes = say("forget_ask", language, who=who, minutes=MINUTES), "forget_yes"
    else:
        here = sight(conn, asked)
        count = len(upkeep.entries(conn, here.owner, scope=here.scope, everything=True))
        text = say("forget_ask_here", language, count=count, minutes=MINUTES)
        yes = "forget_yes_here"
    return Draft(
        asked.row_id,
        forget.KEY,
        asked.person,
        asked.lane.address,
        text,
        buttons=(
            Button(say(yes, language), f"forget:{asked.row_id}:yes", "danger"),
            Button(say("forget_no", language), f"forget:{asked.row_id}:no"),
        ),
    )


def pressed(conn: Connection, asked: "Asked", workspaces: Workspaces) -> Done:
    """A press of the question's buttons: by who asked, once, in time."""
    number, _, answer = asked.route.rest.partition(":")
    question = _open(conn, asked, number)
    if isinstance(question, str):
        return Done(question)
    wake: tuple[tuple[str, str], ...] = ()
    if answer == "yes":
        said, wake = _erased(conn, asked, workspaces)
    else:
        said = say("forget_kept", asked.language)
    draft = Draft(question, forget.KEY, asked.person, asked.lane.address, said)
    row_id = outbox.rewrite(conn, draft, asked.now)
    toast = said if len(said) <= TOAST_CHARS else say("forget_toast", asked.language)
    return Done(toast, () if row_id is None else ((row_id, draft),), wake)


def _open(conn: Connection, asked: "Asked", number: str) -> int | str:
    """The row of the question that this button belongs to, or why it decides nothing."""
    row_id = int(number) if number.isascii() and number.isdecimal() and len(number) < 19 else 0
    query = (
        select(_OUTBOX.c.owner, _OUTBOX.c.body, _INBOX.c.at)
        .join(_INBOX, _INBOX.c.id == _OUTBOX.c.turn_id)
        .where(_OUTBOX.c.turn_id == row_id, _OUTBOX.c.key == forget.KEY)
        .where(_OUTBOX.c.lane == str(asked.lane.address))
    )
    row = conn.execute(query).first()
    if row is None:
        return say("forget_late", asked.language)
    if row.owner != asked.person:
        return say("forget_not_yours", asked.language)
    over = row.at + dt.timedelta(minutes=MINUTES) <= asked.now
    if over or not json.loads(row.body)["buttons"]:
        return say("forget_late", asked.language)
    return row_id


def _erased(
    conn: Connection, asked: "Asked", workspaces: Workspaces
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What to say of it, and whom to wake."""
    try:
        report = _erase(conn, asked, workspaces)
    except forget.AtBroker as error:
        ids = ", ".join(map(str, error.orders))
        return say("forget_at_broker", asked.language, ids=ids), ()
    return told(report, asked), report.wake


def _erase(conn: Connection, asked: "Asked", workspaces: Workspaces) -> forget.Report:
    if not asked.lane.private:
        return forget.memories_of_group(conn, asked.person, asked.lane.id)
    return forget.everything(
        conn, asked.person, asked.now, keep_row=asked.row_id, workspaces=workspaces
    )


def told(report: forget.Report, asked: "Asked") -> str:
    """What was erased, and that it is gone."""
    language = asked.language
    parts = [say(f"forget_{name}", language, n=n) for name, n in report.before.items() if n]
    if not parts:
        return say("forget_done_none", language)
    comma = "、" if language == "zh" else ", "
    return say("forget_done", language, removed=comma.join(parts), left=report.left)
