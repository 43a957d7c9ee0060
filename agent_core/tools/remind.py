"""remind: a message of the bot at a time, in the chat where the person asked for it."""

from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import Field

from agent_core.tools import answers_other
from agent_core.tools.series import dump
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["objective fact"] = "objective fact"
_OFF = {"en": "reminders cannot be kept here", "zh": "这里无法设置提醒"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it, in the person's language; `done` is false where nothing was changed and why is said."""

    text: str
    done: bool = True


class Reminders(Protocol):
    """Keeps reminders. `turn_id` tells the conversation, and the person who is reminded there."""

    async def carry_out(self, turn_id: int, words: str, language: str) -> Answer:
        """Do what the words say: a time and a text, `list`, or `cancel ID`. Durable when it returns."""
        ...


def remind_tools(kept: Reminders | None) -> list[ToolSpec]:
    """The tool of this file. Without anybody who keeps reminders it says so."""

    @tool(
        title={"en": "Reminders", "zh": "定时提醒"},
        timeout=20,
        concurrency_safe=False,
        idempotent=False,
        effect="write",
        credibility=CREDIBILITY,
        output=answers_other.Reminded,
    )
    async def remind(
        ctx: ToolContext,
        action: Literal["list", "add", "cancel"] = "list",
        when: Annotated[str | None, Field(max_length=60)] = None,
        text: Annotated[str | None, Field(max_length=1_000)] = None,
        number: int | None = None,
    ) -> ToolOutput:
        """The person's reminders in this chat: a text that is sent here at a time.

        Add one only when the person asks for it. For prices use alert.

        Args:
            action: list, add (needs when and text) or cancel (needs number).
            when: in 10m; in 2 days; tomorrow 9:30; 2026-12-01 09:00; 明天 9:30. Times are those of the installation.
            text: What to remind of, in the person's words.
            number: Number of the reminder to cancel.
        """
        if kept is None:
            raise ToolFailure(_OFF[ctx.language])
        words = {
            "list": "list",
            "cancel": f"cancel {number or ''}",
            "add": f"{when or ''} {text or ''}",
        }
        answer = await kept.carry_out(ctx.turn_id, words[action].strip(), ctx.language)
        if not answer.done:
            raise ToolFailure(answer.text)
        return ToolOutput(dump({"answer": answer.text}), answer.text.splitlines()[0])

    return [remind]
