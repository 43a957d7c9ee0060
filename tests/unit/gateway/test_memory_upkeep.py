"""Memories kept in order once a day: losslessly, in order, by one switch (TIR-7 … TIR-11, GCX-1 … GCX-6)."""

import asyncio
import logging
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import Connection, text

from agent_core.memory.tiers import digest
from agent_core.storage import upkeep
from agent_core.storage.upkeep import Version
from gateway.engine.begin import begin
from gateway.engine.begun import Chosen
from gateway.engine.upcoming import hold
from gateway.memory import signals as memory_signals
from gateway.memory.upkeep import EVERY_S, FIRST_S, MemoryUpkeep
from gateway.settings.settings import Memory
from gateway.storage.db import Database
from gateway.turns.found import Found
from tests.harness import ALICE, BOB, PLACE, message, place, post
from tests.house import Watch, until
from tests.unit.gateway.remembering import remember

DAY = 86_400.0
LONG = (
    "".join(f"第{n}天的铜价是{n * 7}元，成交量{n * 13}手。" for n in range(1, 30))
    + "\r\n结尾 🙂\u200b。"
)


async def texts(db: Database, number: int, owner: str = ALICE) -> tuple[str, str, list[Version]]:
    """(level, text, versions) of a memory."""

    def work(conn: Connection) -> Any:
        found = upkeep.entry(conn, owner, number)
        assert found is not None
        return found.level, found.text, upkeep.versions(conn, owner, number)

    return await db.read(work)


async def everything(db: Database) -> list[Any]:
    """Each row of each table of memory."""

    def work(conn: Connection) -> list[Any]:
        tables = ("memory", "memory_version", "recall_space", "recall_group", "recall_doc")
        return [list(conn.execute(text(f"select * from {t} order by 1"))) for t in tables]

    return await db.read(work)


async def used_often(db: Database, number: int) -> None:
    """So that importance leaves it alone."""
    values = {"n": number}
    sql = text("update memory set access_count = 3 where id = :n")
    await db.write(lambda conn: conn.execute(sql, values) and None)


async def test_raw_becomes_daily_becomes_digest_and_raw_comes_back_to_the_byte(
    db: Database,
) -> None:
    """TIR-8, defect 1: the second step must not overwrite the original with the daily text."""
    clock = Watch()
    minder = MemoryUpkeep(db, clock)
    number = await remember(db, LONG, kind="view", codes=("SHFE:CU",))
    await used_often(db, number)
    clock.seconds = 7 * DAY
    assert (await minder.sweep())["shortened"] == 0
    clock.seconds += 1
    assert (await minder.sweep())["shortened"] == 1
    level, daily_text, kept = await texts(db, number)
    assert level == "daily"
    assert daily_text.startswith("关键词：CU\n第1天")
    assert [v.level for v in kept] == ["raw"]
    clock.seconds = 30 * DAY + 1
    assert (await minder.sweep())["shortened"] == 1
    level, digest_text, kept = await texts(db, number)
    assert (level, digest_text) == ("digest", digest(daily_text))
    assert {v.level: v.text for v in kept} == {"raw": LONG, "daily": daily_text}
    assert (await minder.sweep())["shortened"] == 0

    def back(conn: Connection) -> str | None:
        found = upkeep.entry(conn, ALICE, number)
        assert found is not None
        return upkeep.restore(conn, found, "raw", clock.now())

    assert (await db.write(back)) == LONG
    assert (await texts(db, number))[:2] == ("raw", LONG)


async def test_an_edit_between_two_steps_keeps_all_texts(db: Database) -> None:
    """TIR-8: a second raw text stands beside the first one."""
    clock = Watch()
    minder = MemoryUpkeep(db, clock)
    number = await remember(db, LONG, kind="view")
    clock.seconds = 8 * DAY
    await minder.sweep()

    def edit(conn: Connection) -> None:
        found = upkeep.entry(conn, ALICE, number)
        assert found is not None
        upkeep.edit(conn, found, LONG.replace("铜", "铝"), clock.now())

    await db.write(edit)
    clock.seconds = 16 * DAY
    await minder.sweep()
    _, _, kept = await texts(db, number)
    assert [v.level for v in kept] == ["raw", "daily", "raw.2"]
    assert kept[0].text == LONG
    assert kept[2].text == LONG.replace("铜", "铝")


async def test_the_index_follows_a_shortened_an_edited_and_an_archived_text(db: Database) -> None:
    """TIR-10."""
    clock = Watch()
    number = await remember(db, LONG, kind="view")

    async def size() -> int:
        query = text("select coalesce(sum(tokens), 0) from recall_group where ref = :r")
        return int(await db.read(lambda conn: conn.execute(query, {"r": str(number)}).scalar_one()))

    whole = await size()
    clock.seconds = 8 * DAY
    await MemoryUpkeep(db, clock).sweep()
    assert 0 < await size() < whole
    await db.write(lambda conn: upkeep.archive(conn, ALICE, [number], clock.now()))
    assert await size() == 0


async def test_nothing_is_shortened_when_the_original_cannot_be_kept(
    db: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TIR-7: it is logged as an error, and clearing up goes on (GCX-1)."""
    clock = Watch()
    number = await remember(db, LONG, kind="view")

    monkeypatch.setattr(upkeep, "_read_back", lambda *_: "something else")
    clock.seconds = 8 * DAY
    with caplog.at_level(logging.ERROR):
        assert (await MemoryUpkeep(db, clock).sweep())["shortened"] == 0
    assert [r.message for r in caplog.records] == ["memory_not_kept"]
    monkeypatch.undo()
    assert await texts(db, number) == ("raw", LONG, [])


async def test_a_text_that_changed_meanwhile_is_left_alone(db: Database) -> None:
    number = await remember(db, LONG, kind="view")
    now = Watch().now()

    def work(conn: Connection) -> tuple[bool, bool]:
        wrong = upkeep.shorten(conn, ALICE, number, "another text", "daily", "x", now)
        others = upkeep.shorten(conn, BOB, number, LONG, "daily", "x", now)
        return wrong, others

    assert await db.write(work) == (False, False)
    assert await texts(db, number) == ("raw", LONG, [])


async def test_a_dry_run_changes_no_byte_and_names_what_the_real_one_does(db: Database) -> None:
    """GCX-4, defect 24."""
    clock = Watch()
    old = await remember(db, "sold copper", kind="decision")
    young = await remember(db, LONG, kind="view")
    await used_often(db, young)
    clock.seconds = 30 * DAY
    minder = MemoryUpkeep(db, clock)
    before = await everything(db)
    (plan,) = await minder.plans()
    assert await everything(db) == before
    assert [(a.id, a.act) for a in plan.actions] == [(old, "archive")]
    assert [(s.id, s.level) for s in plan.shorter] == [(young, "daily")]
    done = await minder.sweep()
    assert done == {"outdated": 0, "archived": 1, "deleted": 0, "shortened": 1}
    assert await everything(db) != before


async def test_clearing_up_comes_first_is_logged_and_survives_a_failure_of_shortening(
    db: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GCX-1, GCX-3: a line for each action, with figures and without the text."""
    clock = Watch()
    old = await remember(db, "sold copper", kind="decision")
    young = await remember(db, LONG, kind="view")
    await used_often(db, young)
    clock.seconds = 30 * DAY

    def broken(*_: object) -> bool:
        raise RuntimeError("no")

    monkeypatch.setattr(upkeep, "shorten", broken)
    with caplog.at_level(logging.INFO):
        done = await MemoryUpkeep(db, clock).sweep()
    assert (done["archived"], done["shortened"]) == (1, 0)
    (line,) = caplog.records
    assert line.message == "memory_gc"
    assert (line.memory, line.act, line.why) == (old, "archive", "importance")  # type: ignore[attr-defined]
    assert "copper" not in str(line.__dict__)


async def test_archived_memories_are_kept_and_found_by_their_owner_only(db: Database) -> None:
    """C-15, MEM-17."""
    clock = Watch()
    hers = await remember(db, "sold copper", kind="decision")
    his = await remember(db, "sold zinc", kind="decision", owner=BOB)
    clock.seconds = 30 * DAY
    assert (await MemoryUpkeep(db, clock).sweep(ALICE))["archived"] == 1
    found = await db.read(lambda conn: upkeep.entry(conn, BOB, his))
    assert found is not None
    assert found.state == "live"
    found = await db.read(lambda conn: upkeep.entry(conn, ALICE, hers))
    assert found is not None
    assert (found.state, found.text) == ("archived", "sold copper")


async def test_what_is_outdated_goes_before_anything_is_weighed(db: Database) -> None:
    """CAP-3: with the same pass."""
    clock = Watch()
    number = await remember(db, "sold copper", kind="decision")
    await used_often(db, number)
    clock.seconds = 46 * DAY
    assert (await MemoryUpkeep(db, clock).sweep())["outdated"] == 1


async def test_rules_stay_as_they_were_said(db: Database) -> None:
    clock = Watch()
    number = await remember(db, LONG, kind="rule")
    clock.seconds = 900 * DAY
    await MemoryUpkeep(db, clock).sweep()
    assert await texts(db, number) == ("raw", LONG, [])


async def test_use_puts_shortening_off(db: Database) -> None:
    """TIR-2, TIR-11: days are counted from the last use."""
    clock = Watch()
    number = await remember(db, LONG, kind="view")
    clock.seconds = 7 * DAY
    await db.write(lambda conn: upkeep.used(conn, ALICE, [number], clock.now()))
    clock.seconds = 14 * DAY
    minder = MemoryUpkeep(db, clock)
    assert (await minder.sweep())["shortened"] == 0
    clock.seconds += 1
    assert (await minder.sweep())["shortened"] == 1


async def test_it_runs_by_itself_once_a_day_and_waits_out_an_outage(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Watch()
    naps: list[float] = []
    gate = asyncio.Event()

    async def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 4:
            await gate.wait()

    class Away(MemoryUpkeep):
        async def sweep(self, owner: str | None = None) -> dict[str, int]:
            if len(naps) == 2:
                raise OSError("away")
            return await super().sweep(owner)

    minder = Away(db, clock, sleep)
    await remember(db, LONG, kind="view")
    clock.seconds = 8 * DAY
    with caplog.at_level(logging.INFO):
        await minder.start()
        await until(lambda: len(naps) == 4)
        await minder.stop()
    assert naps == [FIRST_S, EVERY_S, EVERY_S, EVERY_S]
    assert [r.message for r in caplog.records] == ["memory_upkeep", "memory_upkeep_waits"]
    await minder.stop()


def test_one_switch_for_clearing_up_and_shortening() -> None:
    """GCX-2, GCX-6, C-16: the half-configured state cannot be written down."""
    assert Memory().keeps_order
    assert not Memory(tiers=False).keeps_order
    assert not Memory(enabled=False).keeps_order
    assert set(Memory.model_fields) == {"enabled", "profile", "tiers"}
    for key in ("gc", "compression"):
        with pytest.raises(ValidationError):
            Memory.model_validate({key: True})


async def test_signals_of_one_session_are_bounded_and_of_another_count_anew(db: Database) -> None:
    """GCX-5."""
    number = await remember(db, "buys copper")

    async def note(session: str, signal: Any = "reject", owner: str = ALICE) -> float | None:
        return await db.write(
            lambda conn: memory_signals.note(conn, owner, number, signal, session)
        )

    assert await note("s1") == pytest.approx(0.2)
    assert await note("s1") == pytest.approx(0.0)
    assert await note("s1", "confirm") == pytest.approx(0.0)
    assert await note("s2", "confirm") == pytest.approx(0.2)
    assert await note("s2", "confirm", BOB) is None


async def test_what_was_put_before_a_model_counts_as_used_what_was_only_found_does_not(
    db: Database,
) -> None:
    """TIR-11: in the transaction that writes the row in which it stands."""
    shown = await remember(db, "buys copper")
    found_only = await remember(db, "buys zinc")
    row_id = await post(db, message("what about copper?"))
    found = Found(row_id, (), {"recalled": [f"memory:{shown}", "row:s1:3"]})
    now = Watch().now()

    def work(conn: Connection) -> list[int]:
        begun = begin(
            conn, hold(conn, str(place())), PLACE, lambda _: Chosen("test"), now, found=found
        )
        assert begun is not None
        entries = [upkeep.entry(conn, ALICE, number) for number in (shown, found_only)]
        return [entry.access_count for entry in entries if entry is not None]

    assert await db.write(work) == [1, 0]
