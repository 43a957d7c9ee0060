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

        Use it when the request cannot be carried out without a choice that only the person can make.
        It is no way to get consent: tools that need an approval ask for it by themselves.

        Args:
            question: One short question, in the person's language.
            options: What to choose from, as buttons; empty for an answer in the person's own words.
        """
        del ctx, question, options
        raise ToolFailure("Nobody can be asked here. Go on without, and say what you assumed.")

    return [ask_user]
