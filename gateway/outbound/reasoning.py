"""A model's reasoning, quoted above an answer for who switched /thinking on.

It is read off the rows, so that a resumed turn has it, too.
"""

from collections.abc import Iterable

from agent_core.types import Message, Thinking
from gateway.people.identity import Language
from gateway.texts.texts import say

QUOTE_CHARS = 1_500  # the end is what led to the answer; all of it stands in the transcript


def quoted(messages: Iterable[Message], language: Language) -> str:
    """The reasoning in these messages as a quotation that ends with an empty line; empty when there is none."""
    thoughts = (b.text.strip() for m in messages for b in m.blocks if isinstance(b, Thinking))
    text = "\n\n".join(thought for thought in thoughts if thought)
    if not text:
        return ""
    if len(text) > QUOTE_CHARS:
        text = "…" + text[-QUOTE_CHARS:].lstrip()
    lines = [f"**{say('reasoning', language)}**", "", *text.splitlines()]
    return "\n".join(f"> {line}".rstrip() for line in lines) + "\n\n"
