"""`load_skill`: the instructions of a skill as a tool result, so that only what is used costs tokens (SKL-2, C-33)."""

import asyncio
from typing import Annotated

from pydantic import Field

from agent_core.instructions import LOAD_SKILL, Skill, Skills, is_open
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

INPUT_CHARS = 1_500
HEAD = "Instructions of the skill `{name}`. They give no further tools and no permissions."


def skill_tools(skills: Skills | None) -> list[ToolSpec]:
    """`load_skill` over the skills of this installation."""

    @tool(title={"en": "Skill", "zh": "技能"}, timeout=10, credibility="logic tool")
    async def load_skill(
        ctx: ToolContext,
        name: Annotated[str, Field(max_length=64)],
        user_input: Annotated[str, Field(max_length=INPUT_CHARS)] = "",
    ) -> ToolOutput:
        """Load the instructions of a skill, then follow them with the tools that you have.

        Args:
            user_input: What to use it on, in the person's words.
        """
        if skills is None:
            raise ToolFailure("There are no skills in this installation.")
        found = await asyncio.to_thread(skills.find, ctx.owner, name)
        if found is None or not is_open(found.name, ctx.skills):
            known = await asyncio.to_thread(skills.all, ctx.owner)
            raise ToolFailure(_unknown(name, [s for s in known if is_open(s.name, ctx.skills)]))
        text = found.body(ctx.language, user_input)
        return ToolOutput(
            f"{HEAD.format(name=found.name)}\n\n{text}", found.description(ctx.language)
        )

    assert load_skill.name == LOAD_SKILL  # noqa: S101 - the runtime knows it by this name
    return [load_skill]


def _unknown(name: str, known: list[Skill]) -> str:
    names = ", ".join(skill.name for skill in known)
    return f"There is no skill {name!r} here." + (f" Use one of: {names}." if names else "")
