"""Playbooks and personas: MEM-3, MEM-10, MEM-11, MSC-8."""

import datetime as dt
from dataclasses import replace

import pytest

from agent_core.memory import layers
from agent_core.memory.layers import is_due, is_persona, is_playbook, parse, question, source_hash
from agent_core.storage.memories import Memory

NOW = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)


def atom(
    memory_id: int, text: str, kind: str = "preference", codes: tuple[str, ...] = ()
) -> Memory:
    return Memory(memory_id, "alice", "private", kind, text, codes, "", "mixed", "", {}, NOW)


ATOMS = [
    atom(1, "偏好 14:45 之后再建仓"),
    atom(2, "只看支撑、均价线和成交量"),
    atom(3, "跌破支撑不买", "decision"),
    atom(4, "放量冲高回落不买", "decision"),
]


def marker(*ids: int) -> Memory:
    return replace(atom(9, "h", "marker"), meta={"source_l1_ids": list(ids)})


def test_the_numbers_of_a_refresh() -> None:
    """MEM-10."""
    assert (layers.ATOMS, layers.LEAST, layers.LEAST_NEW, layers.MOST) == (30, 3, 3, 3)


@pytest.mark.parametrize(
    ("count", "last", "due"),
    [
        (2, None, False),
        (3, None, True),
        (4, (1, 2, 3), False),
        (5, (1, 2, 3), False),
        (6, (1, 2, 3), True),
        (6, (4, 5, 6), False),
    ],
)
def test_when_a_refresh_is_due(count: int, last: tuple[int, ...] | None, due: bool) -> None:
    """MEM-10: three atoms at first, three new ones later."""
    atoms = [atom(n, f"条 {n}") for n in range(1, count + 1)]
    assert is_due(atoms, None if last is None else marker(*last)) is due


def test_the_hash_of_the_source_does_not_depend_on_the_order() -> None:
    assert source_hash(ATOMS) == source_hash(ATOMS[::-1])
    assert source_hash(ATOMS) != source_hash(ATOMS[1:])
    assert len(source_hash(ATOMS)) == 16


def test_what_the_model_reads_is_dated_and_says_what_exists() -> None:
    asked = question(ATOMS, [atom(5, "稳健", "persona")])
    assert "[决策] 2026-01-05 跌破支撑不买" in asked
    assert asked.endswith("Existing:\n[画像] 稳健")


def test_both_tags_of_a_playbook_are_read_and_unknown_ones_are_not() -> None:
    """MEM-11, MEM-2: `scenario` is never newly written."""
    answer = "\n".join(
        [
            "[剧本] 14:45 后检查支撑和成交量，跌破支撑不买",
            "[交易剧本] 尾盘确认支撑后分批建仓，放量冲高回落禁止买入",
            "[画像] 偏好尾盘确认的稳健交易者",
            "[场景] 14:45 后检查支撑，跌破不买",
        ]
    )
    found = parse(answer, ATOMS)
    assert [d.kind for d in found] == ["playbook", "playbook", "persona"]


def test_three_of_each_layer_at_most() -> None:
    """MEM-10."""
    book = "[剧本] 14:45 后检查支撑，跌破支撑不买，做法 {}"
    trait = "[画像] 稳健型交易者，做法 {}"
    signs = "甲乙丙丁戊"
    answer = "\n".join(line.format(s) for s in signs for line in (book, trait))
    found = parse(answer, ATOMS)
    assert sum(d.kind == "playbook" for d in found) == 3
    assert sum(d.kind == "persona" for d in found) == 3


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("14:45 后检查支撑、均价线、收盘位置和成交量；跌破支撑或放量冲高回落时禁止买入", True),
        ("when it breaks above the average with volume, buy a third; exit below it", True),
        ("尾盘买入", False),  # nothing forbids or ends it
        ("跌破支撑禁止", False),  # nothing to do
        ("注意风险", False),
        ("buy quality", False),
    ],
)
def test_a_playbook_has_a_trigger_an_action_and_a_bound(text: str, good: bool) -> None:
    """MEM-3."""
    assert is_playbook(text) is good


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("稳健型交易者，重视回撤，只在尾盘确认后行动", True),
        ("a patient trader who avoids leverage", True),
        ("目前看好科技板块", False),
        ("从黄金转向科技", False),
        ("轮动到白酒", False),
        ("长期持有宁德时代", False),
        ("bullish on gold", False),
    ],
)
def test_a_view_of_the_moment_is_never_a_persona(text: str, good: bool) -> None:
    """MSC-8, MEM-3."""
    assert is_persona(text) is good


def test_nothing_is_made_up_on_the_way_up() -> None:
    answer = "[剧本] 14:30 后检查支撑，跌破支撑不买\n[剧本] 14:45 后检查宁德时代，跌破支撑不买"
    assert parse(answer, ATOMS) == []
