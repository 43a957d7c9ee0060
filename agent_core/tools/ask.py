"""Asking the person: a tool whose result is what the person chose or said.

The runtime carries it out (runtime/asking.py).
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

ASK_USER = "ask_user"
MAX_QUESTION = 2_000  # characters
MAX_OPTIONS = 10
MAX_OPTION = 100  # characters; a button shows the beginning of a long one

Option = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_OPTION)
]
Question = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUESTION)
]


def ask_tools() -> list[ToolSpec]:
    """`ask_user`."""

    @tool(
        title={"en": "Question to you", "zh": "向您提问"},
        concurrency_safe=False,
        effect="message",
    )
    async def ask_user(
        ctx: ToolContext,
        question: Question,
        options: Annotated[list[Option], Field(max_length=MAX_OPTIONS)] = [],  # noqa: B006 - a schema's default
    ) -> ToolOutput:
        """Ask the person one question and wait for the answer.

        For a choice that only they can make. It gives no consent: tools that need a yes ask by themselves.

        Args:
            options: Buttons to choose from; none: own words.
        """
        del ctx, question, options
        raise ToolFailure("Nobody can be asked here. Go on without, and say what you assumed.")

    return [ask_user]
