"""The books of all persons, on both databases: whose, how far back, about what (SIX-1, PDC-1, MEM-17, RMB-2)."""

import datetime as dt

import pytest

from agent_core.book import (
    Alert,
    Event,
    Focus,
    Holding,
    Look,
    Profile,
    Report,
    Seen,
)
from agent_core.storage.tables_memory import MemoryRow
from gateway.storage.db import Database
from gateway.trading.portfolio import StoredPortfolio
from tests.databases import database_url, db, postgres_server

pytestmark = pytest.mark.statements

__all__ = ["database_url", "db", "postgres_server"]
NOW = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)
SECOND = dt.timedelta(seconds=1)
_MEMORY = MemoryRow.__table__  # type: ignore[attr-defined]


@pytest.fixture
def book(db: Database) -> StoredPortfolio:
    return StoredPortfolio(db)


async def look(
    kept: StoredPortfolio, *ids: str, owner: str = "alice", portfolio: bool = False, **more: object
) -> Seen:
    focus = Focus(ids, portfolio)
    given = {"scope": "private", "book": True} | more
    return await kept.look(Look(owner=owner, now=NOW, focus=lambda _: focus, **given))  # type: ignore[arg-type]


async def note(db: Database, text: str, **more: object) -> None:
    values = {
        "owner": "alice",
        "scope": "private",
        "kind": "view",
        "text": text,
        "hash": text,
        "codes": "",
        "source": "remember:s1",
        "credibility": "mixed",
        "topic_key": "",
        "meta": "{}",
        "level": "raw",
        "quality": 0.5,
        "access_count": 0,
        "created_at": NOW,
    } | more
    await db.write(lambda conn: conn.execute(_MEMORY.insert().values(**values)))


async def test_records_are_added_changed_listed_and_deleted(book: StoredPortfolio) -> None:
    alert = Alert("above 200", NOW, "nvda", {"price": {"above": 200}})
    first = await book.put("alice", alert)
    (kept,) = await book.records("alice", Alert)
    assert kept == Alert("above 200", NOW, "NVDA", {"price": {"above": 200}}, id=first)
    await book.put("alice", Alert("done", NOW, "NVDA", state="done", id=first))
    assert [a.state for a in await book.records("alice", Alert)] == ["done"]
    second = await book.put("alice", Alert("later", NOW + DAY))
    assert [a.id for a in await book.records("alice", Alert)] == [second, first]
    assert await book.remove("alice", Alert, first)
    assert not await book.remove("alice", Alert, first)
    assert [a.id for a in await book.records("alice", Alert)] == [second]


async def test_a_holding_and_a_profile_replace_the_one_of_their_symbol(
    book: StoredPortfolio,
) -> None:
    one = await book.put("alice", Holding("600519", 100, 1500.0, NOW, "CNY", relation="core"))
    assert await book.put("alice", Holding("贵州茅台", 200, 1450.5, NOW + DAY, "CNY")) == one
    assert await book.put("alice", Holding("600519.SH", 5, 1, NOW, account="second")) != one
    await book.put("alice", Profile("SH600519", "old", NOW))
    await book.put("alice", Profile("600519.SH", "new", NOW + DAY))
    held = {h.account: h for h in await book.records("alice", Holding)}
    assert (held["default"].symbol, held["default"].quantity) == ("600519.SH", 200)
    assert [p.text for p in await book.records("alice", Profile)] == ["new"]


async def test_nobody_reads_changes_or_deletes_the_book_of_another(
    book: StoredPortfolio, db: Database
) -> None:
    """MEM-17."""
    await note(db, "a view of alice")
    mine = [
        Holding("NVDA", 1, 2, NOW),
        Event("decision", "bought NVDA", NOW, ("NVDA",)),
        Profile("NVDA", "chips", NOW),
        Alert("watch", NOW, "NVDA"),
        Report("up", NOW, "weekly", ("NVDA",)),
    ]
    for record in mine:
        number = await book.put("alice", record)
        kind = type(record)
        assert await book.records("bob", kind) == []
        assert not await book.remove("bob", kind, number)
        with pytest.raises(KeyError):
            await book.put("bob", type(record)(**{**_fields(record), "id": number}))
        assert len(await book.records("alice", kind)) == 1
    assert await look(book, "NVDA", owner="bob", portfolio=True) == Seen(Focus(("NVDA",), True))
    seen = await look(book, "NVDA", portfolio=True)
    found = (
        seen.holdings,
        seen.profiles,
        seen.dynamics,
        seen.reports,
        seen.decisions,
        seen.alerts,
        seen.notes,
    )
    assert all(len(part) == 1 for part in found)


def _fields(record: object) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__slots__}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "record",
    [
        Event("news", "x", NOW, credibility="gospel"),
        Holding("NVDA", float("nan"), 1, NOW),
        Holding("NVDA", 1, float("inf"), NOW),
    ],
)
async def test_what_cannot_be_is_refused(book: StoredPortfolio, record: Holding | Event) -> None:
    with pytest.raises(ValueError, match=r"credibility|quantity|cost"):
        await book.put("alice", record)


@pytest.mark.parametrize(
    ("make", "part", "days", "items"),
    [
        (lambda at: Report("r", at), "reports", 3, 3),
        (lambda at: Event("decision", "d", at), "decisions", 7, 5),
        (lambda at: Event("trade", "t", at), "decisions", 7, 5),
        (lambda at: Alert("a", at), "alerts", 1, 5),
        (lambda at: Event("news", "n", at, ("NVDA",)), "dynamics", 7, 3),
    ],
)
async def test_windows_end_where_they_end_and_item_n_plus_1_is_absent(
    book: StoredPortfolio, make: object, part: str, days: int, items: int
) -> None:
    """SIX-1, SIX-2: the edge is within, a second beyond it is not; the newest are kept."""
    edge = NOW - days * DAY
    await book.put("alice", make(edge - SECOND))  # type: ignore[operator]
    assert getattr(await look(book, "NVDA"), part) == ()
    await book.put("alice", make(edge))  # type: ignore[operator]
    assert [r.at for r in getattr(await look(book, "NVDA"), part)] == [edge]
    for minute in range(items):
        await book.put("alice", make(NOW - dt.timedelta(minutes=minute)))  # type: ignore[operator]
    dates = [r.at for r in getattr(await look(book, "NVDA"), part)]
    assert dates == [NOW - dt.timedelta(minutes=m) for m in range(items)]


async def test_notes_are_those_in_force_of_thirty_days_five_at_most(
    book: StoredPortfolio, db: Database
) -> None:
    """SIX-1; MEM-15: superseded, archived and expired ones are not shown."""
    for n, kind in enumerate(("view", "plan", "rule")):
        await note(db, kind, kind=kind, created_at=NOW - n * DAY)
    await note(db, "edge", created_at=NOW - 30 * DAY)
    await note(db, "beyond", created_at=NOW - 30 * DAY - SECOND)
    await note(db, "said again", created_at=NOW - 90 * DAY, confirmed_at=NOW - 5 * DAY)
    await note(db, "no note", kind="preference")
    await note(db, "superseded", superseded_by=1)
    await note(db, "archived", archived_at=NOW)
    await note(db, "expired", valid_until=NOW)
    await note(db, "of a group", scope="g1")
    seen = await look(book)
    assert [n.text for n in seen.notes] == ["view", "plan", "rule", "said again", "edge"]
    await note(db, "one more", created_at=NOW - 3 * DAY)
    assert "edge" not in [n.text for n in (await look(book)).notes]


async def test_in_a_group_only_notes_of_that_group_are_read(
    book: StoredPortfolio, db: Database
) -> None:
    """DESIGN.md 3.4."""
    await note(db, "private")
    await note(db, "of this group", scope="g1")
    await note(db, "of another", scope="g2")
    await book.put("alice", Holding("NVDA", 1, 2, NOW))
    await book.put("alice", Report("r", NOW))
    seen = await look(book, "NVDA", scope="g1", book=False, portfolio=True)
    assert [n.text for n in seen.notes] == ["of this group"]
    assert (seen.holdings, seen.reports, seen.alerts, seen.profiles) == ((), (), (), ())


async def test_with_symbols_in_focus_only_what_concerns_them_or_all_is_read(
    book: StoredPortfolio, db: Database
) -> None:
    """PDC-1, RCL-5."""
    for codes in ((), ("NVDA",), ("AAPL", "NVDA"), ("AAPL",), ("NVDAX",)):
        await book.put("alice", Event("decision", " ".join(codes) or "global", NOW, codes))
        await note(db, " ".join(codes) or "global", codes=f" {' '.join(codes)} " if codes else "")
    for code in ("NVDA", "AAPL"):
        await book.put("alice", Profile(code, code, NOW))
        await book.put("alice", Holding(code, 1, 2, NOW))
    seen = await look(book, "NVDA")
    assert {d.text for d in seen.decisions} == {"global", "NVDA", "AAPL NVDA"}
    assert {n.text for n in seen.notes} == {"global", "NVDA", "AAPL NVDA"}
    assert [p.symbol for p in seen.profiles] == ["NVDA"]
    everything = await look(book, "NVDA", portfolio=True)
    assert len(everything.decisions) == 5
    assert {p.symbol for p in everything.profiles} == {"NVDA", "AAPL"}
    assert len((await look(book)).decisions) == 5
    assert (await look(book)).profiles == ()


async def test_the_focus_is_told_from_the_holdings_in_the_same_transaction(
    book: StoredPortfolio,
) -> None:
    await book.put("alice", Holding("830799.BJ", 1, 2, NOW, name="艾融软件"))
    await book.put("alice", Profile("830799.BJ", "software", NOW))

    def focus(holdings: object) -> Focus:
        return Focus(tuple(h.symbol for h in holdings))  # type: ignore[attr-defined]

    seen = await book.look(Look("alice", "private", NOW, True, focus))
    assert [p.text for p in seen.profiles] == ["software"]


async def test_alerts_that_are_not_pending_are_left_out(book: StoredPortfolio) -> None:
    await book.put("alice", Alert("fired", NOW, state="fired"))
    await book.put("alice", Alert("due soon", NOW + DAY))
    await book.put("alice", Alert("due later", NOW + DAY + SECOND))
    assert [a.text for a in (await look(book)).alerts] == ["due soon"]
