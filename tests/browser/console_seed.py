"""What a console has to show after a while: written into the database of a running gateway, beside it."""

import datetime as dt
import json
from pathlib import Path

from sqlalchemy import Connection, insert, select, text

from agent_core.compaction.decisions import Cleared, Summary, checkpoint
from agent_core.storage.sessions import add_checkpoint
from agent_core.storage.tables import UsageRow
from agent_core.storage.tables_memory import MemoryRow
from channels.types import Address
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.presets import eval_runs
from gateway.presets.eval_runs import Begin
from gateway.schedules.schedule import add_reminder
from gateway.settings.access import Access
from gateway.storage.schema import open_database
from gateway.storage.tables import Conversation, OutboxStatus, Question
from tests.harness import judged

_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]
MODELS = ("anthropic/claude-sonnet-4-5", "openai/gpt-5-mini")


async def seed(data: Path) -> None:
    """Codes, an approval, a parked reply, a reminder, memories, two weeks of cost, a summary in a session."""
    db = await open_database(f"sqlite:///{data / 'swarmgate.db'}")
    try:
        await db.write(_all)
    finally:
        await db.close()


def _all(conn: Connection) -> None:
    now = dt.datetime.now(dt.UTC)
    lane = conn.execute(select(_CONVERSATION).limit(1)).one()
    owner = "web:me"
    judged(conn, Access(default="pairing"), "telegram:8100200300", "Alice", now)
    judged(conn, Access(default="allow"), "telegram:42", "Bob", now)
    draft = Draft(1, "late", "telegram:42", Address("telegram", "9", "42"), "The evening report.")
    number = outbox.put(conn, draft, now)
    parked = "update outbox set status = :s, error = :e where id = :id"
    reason = "Forbidden: bot was blocked by the user"
    conn.execute(text(parked), {"s": int(OutboxStatus.PARKED), "e": reason, "id": number})
    add_reminder(
        conn, owner=owner, conversation_id=lane.id, text="Look at the close", timezone="UTC",
        at=now + dt.timedelta(hours=3), now=now,
    )  # fmt: skip
    _question(conn, lane, owner, now)
    _evals(conn, now)
    memories = ("I hold no more than five per cent in one name.", "GOOG is watched above 700.")
    for kind, words in zip(("preference", "decision"), memories, strict=True):
        values = {
            "owner": owner,
            "kind": kind,
            "text": words,
            "hash": words,
            "source": f"chat_log:{lane.session_id}",
            "created_at": now,
        }
        conn.execute(insert(MemoryRow.__table__), _filled(values))  # type: ignore[attr-defined]
    _usage(conn, lane.session_id, owner, now)
    summary = Summary(
        "GOOG rose by 6.31 % in 2012; its trend was sideways.",
        "structured",
        before=9_000,
        after=1_200,
    )
    add_checkpoint(conn, lane.session_id, checkpoint(Cleared((5,)), until=6), now)
    add_checkpoint(conn, lane.session_id, checkpoint(summary, until=3), now)


def _filled(values: dict[str, object]) -> dict[str, object]:
    rest = {
        "scope": "private",
        "codes": "",
        "credibility": "mixed",
        "topic_key": "",
        "meta": "{}",
        "level": "raw",
        "quality": 0.5,
        "access_count": 0,
    }
    return rest | values


def _evals(conn: Connection, now: dt.datetime) -> None:
    """Two runs of the cases of a preset: one whole, and one in which something did not hold."""
    for hours, passes in ((30, True), (2, False)):
        began = now - dt.timedelta(hours=hours)
        due = began + dt.timedelta(hours=1)
        what = Begin("token:bob", "watch", "before", "demo", 2)
        number = eval_runs.begin(conn, what, began, due)
        told = ("research answers, analysis fails", passes, "GOOG rose by 6.31 % in 2012.")
        for case, passed, answer in (("a plain question", True, "Its trend is sideways."), told):
            result = {
                "case": case, "passed": passed, "model": "demo", "status": "completed", "usd": 0.0,
                "tokens": 7_210, "seconds": 4.1, "answer": answer,
                "shortfalls": [] if passed else ["status is completed, not partial"],
            }  # fmt: skip
            eval_runs.add(conn, number, result, began + dt.timedelta(seconds=9), due)
        eval_runs.end(conn, number, "done", began + dt.timedelta(seconds=9))


def _question(conn: Connection, lane: object, owner: str, now: dt.datetime) -> None:
    args = {"symbol": "MSFT", "side": "buy", "quantity": 5, "kind": "limit", "limit_price": 27.4}
    rules = [{"by": ["admin"], "quorum": 1, "not_requester": False}]
    values = {
        "kind": "approval", "conversation_id": lane.id, "session_id": lane.session_id,  # type: ignore[attr-defined]
        "turn_id": 1, "call_id": "seeded", "owner": owner, "tool": "place_order",
        "args": json.dumps(args), "digest": "seeded", "text": "Buy 5 MSFT at 27.40?", "options": "[]",
        "approvers": json.dumps(["telegram:42"]), "status": "open", "answer": json.dumps({"rules": rules}),
        "answered_by": "", "created_at": now, "expires_at": now + dt.timedelta(hours=1),
    }  # fmt: skip
    conn.execute(insert(Question.__table__), values)  # type: ignore[attr-defined]


def _usage(conn: Connection, session: str, owner: str, now: dt.datetime) -> None:
    for day in range(13):
        for n, model in enumerate(MODELS):
            usd = 0.02 + 0.011 * ((day * 5 + n * 3) % 7)
            values = {
                "turn_id": 1, "session_id": session, "owner": owner if n else "telegram:42", "model": model,
                "input_tokens": 2_000, "output_tokens": 600 + 40 * day, "cache_read_tokens": 9_000,
                "cache_write_tokens": 800, "usd": usd, "usd_uncached": usd * 1.7,
                "cache_write_1h_tokens": 0, "at": now - dt.timedelta(days=day),
            }  # fmt: skip
            conn.execute(insert(UsageRow.__table__), values)  # type: ignore[attr-defined]
