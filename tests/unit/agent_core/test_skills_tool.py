"""`load_skill`: instructions as a tool result, within what the preset allows (SKL-2, SKL-4, C-33)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent_core.instructions import Skill
from agent_core.tools.registry import Registry
from agent_core.tools.skills import INPUT_CHARS, skill_tools
from agent_core.tools.spec import ToolContext, ToolFailure
from gateway.clock import SystemClock
from gateway.recipes.own_skills import OwnSkills
from gateway.recipes.skill_house import SkillHouse

REGISTRY = Registry(skill_tools(SkillHouse()))


def context(
    language: str = "en", skills: Sequence[str] | None = None, owner: str = "telegram:1"
) -> ToolContext:
    allowed = None if skills is None else tuple(skills)
    return ToolContext(owner, "s", 1, "c1", language, SystemClock(), skills=allowed)  # type: ignore[arg-type]


async def load(ctx: ToolContext, registry: Registry = REGISTRY, **args: object) -> str:
    spec = registry.get("execute_skill")
    assert spec is not None
    assert spec.name == "load_skill"
    return (await spec.call(ctx, args)).content


async def test_the_instructions_come_in_the_persons_language_with_their_words() -> None:
    said = await load(context(), name="checkup", user_input="AAPL")
    assert "Do a check-up of: AAPL" in said
    assert "no permissions" in said
    assert "对以下对象做体检：AAPL" in await load(context("zh"), name="checkup", user_input="AAPL")


async def test_unknown_and_closed_skills_are_refused_with_those_that_are_open() -> None:
    with pytest.raises(ToolFailure, match=r"no skill 'chekup' here. Use one of: backtest, checkup"):
        await load(context(), name="chekup")
    with pytest.raises(ToolFailure, match=r"no skill 'checkup' here. Use one of: report\.$"):
        await load(context(skills=["report"]), name="checkup")
    with pytest.raises(ToolFailure, match=r"no skill 'report' here\.$"):
        await load(context(skills=[]), name="report")
    with pytest.raises(ToolFailure, match="no skills in this installation"):
        await load(context(), Registry(skill_tools(None)), name="report")


async def test_too_many_words_are_refused() -> None:
    with pytest.raises(ToolFailure, match="user_input"):
        await load(context(), name="report", user_input="x" * (INPUT_CHARS + 1))


async def test_a_persons_own_skill_is_found_by_them_alone(tmp_path: Path) -> None:
    """SKL-3 [X]: it stands in for a shipped one of the same name. TGV: the owner is the context's."""
    own = OwnSkills(tmp_path)
    own.add("telegram:1", "checkup", "My own way with {user_input}.")
    registry = Registry(skill_tools(SkillHouse(own=own)))
    hers, his = context(), context(owner="telegram:2")
    assert "My own way with AAPL." in await load(hers, registry, name="checkup", user_input="AAPL")
    assert "My own way" not in await load(his, registry, name="checkup")


async def test_many_loads_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    """TGV-3: concurrency-safe, also while the folder is read anew."""
    (tmp_path / "a.md").write_text("A {user_input}")
    house = SkillHouse(tmp_path)
    registry = Registry(skill_tools(house))
    spec = registry.get("load_skill")
    assert spec is not None
    assert spec.concurrency_safe
    loads = [load(context(), registry, name="a", user_input=str(n)) for n in range(50)]
    reads = [asyncio.to_thread(house.reload) for _ in range(5)]
    said = await asyncio.gather(*loads, *reads)
    assert [str(text).endswith(f"A {n}") for n, text in enumerate(said[:50])] == [True] * 50


def test_the_nearest_skill_wins_and_the_order_is_stable(tmp_path: Path) -> None:
    """SKL-3, SKL-4."""
    (tmp_path / "report.md").write_text("Operator's.")
    (tmp_path / "zeta.md").write_text("Z.")
    own = OwnSkills(tmp_path / "data")
    own.add("telegram:1", "zeta", "Mine.")
    house = SkillHouse(tmp_path, own)
    names = [s.name for s in house.all("telegram:1")]
    assert names == ["backtest", "checkup", "report", "screen", "strategy", "zeta"]
    origins = {s.name: s.origin for s in house.all("telegram:1")}
    assert (origins["screen"], origins["report"], origins["zeta"]) == (
        "built-in",
        "operator",
        "own",
    )
    shared = house.find("telegram:2", "zeta")
    assert isinstance(shared, Skill)
    assert shared.body("en") == "Z."
