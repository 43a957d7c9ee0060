"""Exports of memories and what an import takes in and refuses (MEM-18, MEM-19)."""

import datetime as dt
import json
from typing import Any

import pytest
from sqlalchemy import Connection

from agent_core.storage import upkeep
from gateway.memory import book as memory_book
from gateway.memory.book import FORMAT, KINDS, Unreadable, dumped, export, load
from gateway.storage.db import Database
from gateway.texts.texts import say
from tests.harness import ALICE, BOB
from tests.house import START
from tests.unit.gateway.remembering import put

pytestmark = pytest.mark.statements

LATER = START + dt.timedelta(days=9)


def fill(conn: Connection) -> str:
    """Some memories of alice, one of them shortened; her export."""
    one = put(conn, "一句话。" * 9, kind="decision", codes=("SSE:600519",))
    put(conn, "never average down", kind="rule", credibility="mixed", topic_key="rule@x")
    put(conn, "in a group", scope="telegram:777:-5")
    gone = put(conn, "archived", kind="view")
    upkeep.archive(conn, ALICE, [gone], START)
    assert upkeep.shorten(conn, ALICE, one, "一句话。" * 9, "daily", "一句话。", START)
    return dumped(export(conn, ALICE))


async def test_what_was_exported_comes_back_whole_and_only_once(db: Database) -> None:
    data = await db.write(fill)

    def work(conn: Connection) -> tuple[Any, Any, list[Any]]:
        return (
            load(conn, BOB, data, LATER),
            load(conn, BOB, data, LATER),
            upkeep.entries(conn, BOB, everything=True),
        )

    first, second, found = await db.write(work)
    assert first == {"added": 2, "known": 0, "left_out": 2}  # a group's, and an archived one
    assert second == {"added": 0, "known": 2, "left_out": 2}
    assert {e.text for e in found} == {"一句话。" * 9, "never average down"}  # raw again
    assert {e.source for e in found} == {"import"}
    assert {e.created_at for e in found} == {START}
    rule = next(e for e in found if e.kind == "rule")
    assert (rule.topic_key, rule.credibility, rule.level) == ("rule@x", "mixed", "raw")


async def test_an_import_is_recalled_and_never_from_the_future(db: Database) -> None:
    row = {"text": "likes copper", "kind": "view", "created_at": "2031-01-01T00:00:00+00:00"}
    data = json.dumps({"format": FORMAT, "memories": [row]})

    def work(conn: Connection) -> Any:
        load(conn, ALICE, data, START)
        return upkeep.entries(conn, ALICE)[0]

    assert (await db.write(work)).created_at == START


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"text": ""}, 'memory 1: "text" must have 1 to 2000 characters'),
        ({"text": "x" * 2_001}, 'memory 1: "text"'),
        ({"text": 5}, 'memory 1: "text"'),
        ({"kind": "marker"}, 'memory 1: "kind" must be one of preference, '),
        ({"codes": "NVDA"}, 'memory 1: "codes"'),
        ({"codes": ["A B"]}, 'memory 1: "codes"'),
        ({"credibility": "certain"}, 'memory 1: "credibility"'),
        ({"created_at": "2026-01-01"}, 'memory 1: "created_at"'),
        ({"created_at": None}, 'memory 1: "created_at"'),
        ({"valid_until": 7}, 'memory 1: "created_at"'),
    ],
)
async def test_what_is_wrong_in_a_file_is_told_and_nothing_is_stored(
    db: Database, change: dict[str, Any], what: str
) -> None:
    row = {"text": "fine", "kind": "view", "created_at": "2026-01-01T00:00:00+00:00"} | change
    data = json.dumps({"format": FORMAT, "memories": [row]})
    with pytest.raises(Unreadable, match=what.replace("[", r"\[")):
        await db.write(lambda conn: load(conn, ALICE, data, START))
    assert await db.read(lambda conn: upkeep.entries(conn, ALICE)) == []


@pytest.mark.parametrize(
    "data", ["", "[]", "{}", '{"format": "x"}', '{"format": "swarmgate-memory/1"}']
)
async def test_a_file_that_is_no_export_is_refused(db: Database, data: str) -> None:
    with pytest.raises(Unreadable):
        await db.write(lambda conn: load(conn, ALICE, data, START))


async def test_an_owner_in_the_file_is_nobodys(db: Database) -> None:
    """MEM-17: whose memories they become is said by who runs the command."""
    row = {"text": "x", "kind": "view", "created_at": "2026-01-01T00:00:00+00:00", "owner": BOB}
    data = json.dumps({"format": FORMAT, "memories": [row]})

    def work(conn: Connection) -> tuple[int, int]:
        load(conn, ALICE, data, START)
        return len(upkeep.entries(conn, ALICE)), len(upkeep.entries(conn, BOB))

    assert await db.write(work) == (1, 0)


def test_every_kind_has_a_name_in_both_languages() -> None:
    for kind in KINDS:
        assert say(f"memory_kind_{kind}", "zh") != say(f"memory_kind_{kind}", "en")


def test_a_text_is_shown_on_one_line() -> None:
    assert memory_book.shown("a\n b  c", 4) == "a b…"
