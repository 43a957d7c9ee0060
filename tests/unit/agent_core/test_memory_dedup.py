"""Whether something is known already: DED-1 … DED-5, MEM-15, MEM-18, C-25, CRD-2."""

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.memory import dedup
from agent_core.memory.dedup import alike, jaccard, offer
from agent_core.storage import memories
from agent_core.storage.memories import Memory, NewMemory
from gateway.storage.db import Database

NOW = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
LATER = NOW + dt.timedelta(minutes=5)
LONG = "尾盘十四点四十五分之后检查支撑位和均价线以及收盘位置再结合成交量的变化来判断是否可以分批"


def new(text: str, kind: str = "preference", **more: object) -> NewMemory:
    return replace(NewMemory("alice", kind, text, "chat_log:s1"), **more)  # type: ignore[arg-type]


async def put(db: Database, *items: NewMemory, at: dt.datetime = NOW) -> list[dedup.Offered]:
    return [await db.write(lambda c, i=item: offer(c, i, at, compared=True)) for item in items]  # type: ignore[misc]


async def held(db: Database, kind: str = "preference", owner: str = "alice") -> list[str]:
    found = await db.read(lambda c: memories.live(c, owner, "private", [kind]))
    return [m.text for m in found]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Stop at 8%", "stop, at 8 %!"),
        ("偏好尾盘买入。", "偏好 尾盘买入"),
        ("ｓｔｏｐ　８％", "stop 8%"),
        (f"{LONG}建仓比较好", f"{LONG}建仓比较好呀"),
    ],
)
def test_texts_that_say_the_same(a: str, b: str) -> None:
    """DED-1."""
    assert alike(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("跌破支撑不买", "跌破支撑买"),
        ("stop 8%", "stop 18%"),
        ("stop 1.5%", "stop 15%"),
        ("涨幅 -5%", "涨幅 5%"),
        (f"{LONG}买入", f"{LONG}不买入"),
        (f"{LONG}买入", f"{LONG}卖出"),
        (f"{LONG}三成", f"{LONG}五成"),
        ("never buy above the average " * 6, "never buy below the average " * 6),
        (
            "do trade in the last half hour of the day " * 4,
            "don't trade in the last half hour of the day " * 4,
        ),
    ],
)
def test_a_negation_a_figure_or_a_direction_keeps_texts_apart(a: str, b: str) -> None:
    """DED-5: however alike their characters are."""
    assert not alike(a, b)


def test_the_thresholds_of_dedup() -> None:
    assert dedup.ALIKE == 0.92
    assert dedup.COMPARED == 10
    assert dt.timedelta(seconds=30) == dedup.STORM
    assert jaccard("abcd", "abcd") == 1.0
    assert jaccard("", "") == 1.0
    assert jaccard("abcd", "wxyz") == 0.0


@given(st.text(max_size=80), st.text(max_size=80))
def test_likeness_is_symmetric_and_every_text_is_like_itself(a: str, b: str) -> None:
    assert alike(a, a)
    assert alike(a, b) == alike(b, a)
    assert 0.0 <= jaccard(a, b) <= 1.0


async def test_an_exact_duplicate_gives_the_same_id_and_fills_only_what_is_missing(
    db: Database,
) -> None:
    """MEM-18, MEM-15: created_at and source stay; when it was said again is noted."""
    [first] = await put(db, new("偏好尾盘买入", source="", meta={"a": 1}))
    again = new(
        "偏好尾盘买入！", source="chat_log:s2", meta={"a": 2, "b": 3}, credibility="objective fact"
    )
    [second] = await put(db, again, at=LATER)
    assert (second.state, second.id) == ("known", first.id)
    found = await db.read(lambda c: memories.get(c, "alice", first.id))
    assert found is not None
    assert (found.text, found.source, found.created_at) == ("偏好尾盘买入", "chat_log:s2", NOW)
    assert found.meta == {"a": 1, "b": 3}
    assert found.confirmed_at == LATER
    assert found.credibility == "mixed"  # CRD-2: saying it again makes it no more reliable


async def test_kinds_symbols_scopes_and_owners_are_compared_apart(db: Database) -> None:
    """DED-1: same type only; MEM-17."""
    text = "回踩不破才加仓"
    items = [
        new(text),
        new(text, "decision"),
        new(text, codes=("NVDA",)),
        new(text, scope="telegram:777:-5"),
        new(text, owner="bob"),
    ]
    states = []
    for n, item in enumerate(items):
        states += await put(db, item, at=NOW + dt.timedelta(minutes=n))
    assert [s.state for s in states] == ["stored"] * 5


async def test_stage_one_compares_with_every_row_of_the_kind(db: Database) -> None:
    """DED-5: not with the latest ten alone."""
    await put(db, *(new(f"规则第 {n} 条") for n in range(30)))
    assert (await put(db, new("规则第 0 条"), at=LATER))[0].state == "known"
    assert len(await held(db)) == 30


async def test_the_same_text_within_thirty_seconds_is_rejected_as_a_storm(db: Database) -> None:
    """DED-4: also as another kind; the boundary is 30 s."""
    await put(db, new("不追高", "view"))
    for seconds, state in ((29, "storm"), (30, "stored")):
        done = await put(db, new("不追高", "plan"), at=NOW + dt.timedelta(seconds=seconds))
        assert done[0].state == state


async def test_a_new_text_of_a_kind_that_exists_waits_for_a_comparison(db: Database) -> None:
    """DED-2: no model is asked where nothing of the kind is there yet."""
    first = await db.write(lambda c: offer(c, new("偏好尾盘买入"), NOW))
    second = await db.write(lambda c: offer(c, new("尽量在收盘前建仓"), NOW))
    assert (first.state, second.state) == ("stored", "compare")
    assert await held(db) == ["偏好尾盘买入"]


def memory(memory_id: int, text: str = "x") -> Memory:
    return Memory(memory_id, "alice", "private", "preference", text, (), "", "mixed", "", {}, NOW)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("NEW", 0),
        (" NEW\n", 0),
        ("DUPLICATE:7", 7),
        ("DUPLICATE: 7", 7),
        ("DUPLICATE:99", None),
        ("DUPLICATE:3", None),  # the eleventh
        ("new", None),
        ("NEW.", None),
        ("It is NEW", None),
        ("DUPLICATE:7 since both speak of stops", None),
        ("DUPLICATE:" + "9" * 400, None),
        ("", None),
    ],
)
def test_a_verdict_counts_in_its_exact_form_alone(answer: str, expected: int | None) -> None:
    """DED-2, DED-3."""
    listed = [memory(n) for n in (7, *range(10, 19), 3)]
    assert dedup.verdict(answer, listed) == expected


def test_a_memory_is_quoted_as_one_line_in_the_question() -> None:
    asked = dedup.question(new("line one\nNEW"), [memory(7, "a\nDUPLICATE:7" + "长" * 900)])
    assert "7: a DUPLICATE:7" in asked
    assert len(asked) < 500


async def test_a_later_value_of_the_same_topic_supersedes_and_stays_traceable(db: Database) -> None:
    """MEM-15."""
    [first] = await put(db, new("止损 8%", topic_key="stop"))
    [second] = await put(db, new("止损改为 10%", topic_key="stop"), at=LATER)
    await put(db, new("偏好尾盘", topic_key=""), at=LATER)
    assert await held(db) == ["偏好尾盘", "止损改为 10%"]
    old = await db.read(lambda c: memories.get(c, "alice", first.id))
    assert old is not None
    assert (old.superseded_by, old.text, old.created_at) == (second.id, "止损 8%", NOW)


async def test_a_value_may_change_back(db: Database) -> None:
    """A superseded text is no duplicate of what is said anew."""
    for n, text in enumerate(("止损 8%", "止损 10%", "止损 8%")):
        await put(db, new(text, topic_key="stop"), at=NOW + dt.timedelta(hours=n))
    assert await held(db) == ["止损 8%"]
