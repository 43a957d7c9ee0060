"""How long memories last: CAP-1 … CAP-5, C-15, defect 17."""

import datetime as dt
from dataclasses import replace

import pytest

from agent_core.memory.lifecycle import CAPS, HALF_LIVES, LASTS, clean_up, decay, enforce_cap
from agent_core.storage import memories
from agent_core.storage.memories import NewMemory
from gateway.storage.db import Database

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def new(text: str, kind: str, **more: object) -> NewMemory:
    return replace(NewMemory("alice", kind, text, "chat_log:s1"), **more)  # type: ignore[arg-type]


async def add(db: Database, item: NewMemory, at: dt.datetime) -> int:
    return await db.write(lambda c: memories.add(c, item, at))


async def held(db: Database, *kinds: str, owner: str = "alice") -> list[str]:
    return [m.text for m in await db.read(lambda c: memories.live(c, owner, "private", kinds))]


async def sweep(db: Database, owner: str = "alice", now: dt.datetime = NOW) -> int:
    return await db.write(lambda c: clean_up(c, owner, now))


def test_the_caps_half_lives_and_ages_of_the_source() -> None:
    """CAP-1, CAP-2, CAP-3: defaults are pinned."""
    want = {
        "preference": 50,
        "decision": 30,
        "playbook": 20,
        "persona": 5,
        "scenario": 20,
        "marker": 50,
    }
    want |= {"fact": 50, "stock_opinion": 30, "market_view": 20}
    assert {kind: CAPS[kind] for kind in want} == want
    assert [HALF_LIVES[k] for k in ("decision", "playbook", "scenario", "fact")] == [14, 21, 21, 14]
    assert HALF_LIVES["preference"] is None
    assert HALF_LIVES["persona"] is None
    ages = {"decision": 45, "playbook": 60, "scenario": 60, "stock_opinion": 45, "market_view": 30}
    ages |= {"fact": 45, "marker": 30}
    assert {kind: LASTS[kind] for kind in ages} == ages
    assert LASTS["preference"] is None
    assert LASTS["persona"] is None


@pytest.mark.parametrize(
    ("kind", "days", "weight"),
    [
        ("decision", 14, 0.5),
        ("decision", 28, 0.25),
        ("playbook", 21, 0.5),
        ("preference", 4_000, 1.0),
        ("persona", 4_000, 1.0),
        ("something else", 14, 0.5),
        ("decision", -3, 1.0),
    ],
)
def test_decay_by_kind(kind: str, days: float, weight: float) -> None:
    """CAP-2: a future time is age 0."""
    assert decay(kind, NOW - dt.timedelta(days=days), NOW) == pytest.approx(weight)


def test_an_unknown_time_weighs_half() -> None:
    """CAP-2."""
    assert decay("decision", None, NOW) == 0.5


@pytest.mark.parametrize(("kind", "cap"), [("persona", 5), ("playbook", 20)])
async def test_overflow_archives_the_oldest_of_the_kind_and_deletes_nothing(
    db: Database, kind: str, cap: int
) -> None:
    """CAP-1, CAP-4: an archived persona is still there."""
    ids = [
        await add(db, new(f"{kind} {n}", kind), NOW + dt.timedelta(hours=n)) for n in range(cap + 2)
    ]
    await add(db, new("another kind", "view"), NOW)
    await add(db, new("elsewhere", kind, scope="g"), NOW)
    assert await db.write(lambda c: enforce_cap(c, "alice", "private", kind, NOW)) == 2
    assert await held(db, kind) == [f"{kind} {n}" for n in range(cap + 1, 1, -1)]
    old = await db.read(lambda c: memories.get(c, "alice", ids[0]))
    assert old is not None
    assert old.archived_at == NOW
    assert await db.write(lambda c: enforce_cap(c, "alice", "private", kind, NOW)) == 0


@pytest.mark.parametrize(
    ("kind", "days"),
    [("decision", 45), ("playbook", 60), ("market_view", 30), ("stock_opinion", 45), ("plan", 90)],
)
async def test_the_boundary_of_an_age_is_a_time_and_not_a_text(
    db: Database, kind: str, days: int
) -> None:
    """CAP-5, defect 17: one second before the boundary stays, one second after goes."""
    edge = NOW - dt.timedelta(days=days)
    await add(db, new("older", kind), edge - dt.timedelta(seconds=1))
    await add(db, new("at the edge", kind), edge)
    await add(db, new("younger", kind), edge + dt.timedelta(seconds=1))
    zone = dt.timezone(dt.timedelta(hours=8))
    await add(db, new("younger elsewhere", kind), (edge + dt.timedelta(seconds=1)).astimezone(zone))
    assert await sweep(db) == 1
    assert sorted(await held(db, kind)) == ["at the edge", "younger", "younger elsewhere"]
    assert await sweep(db) == 0


async def test_preferences_personas_and_rules_never_grow_old(db: Database) -> None:
    """CAP-3."""
    long_ago = NOW - dt.timedelta(days=3_000)
    for kind in ("preference", "persona", "rule"):
        await add(db, new(kind, kind), long_ago)
    assert await sweep(db) == 0


async def test_what_was_said_again_counts_from_then(db: Database) -> None:
    """C-14: by the time of confirmation."""
    memory_id = await add(db, new("跌破支撑不买", "decision"), NOW - dt.timedelta(days=80))
    await db.write(lambda c: memories.confirm(c, "alice", memory_id, NOW - dt.timedelta(days=2)))
    assert await sweep(db) == 0


async def test_what_is_valid_no_longer_goes_to_the_archive(db: Database) -> None:
    """MEM-15."""
    await add(db, new("until noon", "plan", valid_until=NOW), NOW - dt.timedelta(days=1))
    await add(db, new("longer", "plan", valid_until=NOW + dt.timedelta(seconds=1)), NOW)
    assert await sweep(db) == 1
    assert await held(db, "plan") == ["longer"]


async def test_cleanup_touches_one_owner_and_purge_is_apart(db: Database) -> None:
    """CAP-4, MEM-17: only an explicit purge deletes, and only what is in the archive."""
    old = NOW - dt.timedelta(days=100)
    for owner in ("alice", "bob"):
        await add(db, new("decision", "decision", owner=owner), old)
        await add(db, new("rule", "rule", owner=owner), old)
    assert await sweep(db) == 1
    assert await held(db, "decision", owner="bob") == ["decision"]
    assert await db.write(lambda c: memories.purge(c, "bob", NOW)) == 0
    assert await db.write(lambda c: memories.purge(c, "alice", NOW)) == 0  # archived just now
    assert await db.write(lambda c: memories.purge(c, "alice", NOW + dt.timedelta(days=1))) == 1
    assert await held(db, "rule", "decision") == ["rule"]
    assert await db.read(memories.owners) == ["alice", "bob"]
