"""A message as text to be read: words, reasoning, calls and results, each named for what it is."""

import json
from collections.abc import Iterator

from agent_core.types import Context, Image, Message, Text, Thinking, ToolResult, ToolUse

CHARS = 4_000  # of one row; the rest stands in `swarmgate sessions show`


def text_of(message: Message, chars: int = CHARS) -> str:
    """All blocks, cut to `chars` characters with a mark."""
    text = "\n".join(_blocks(message))
    return text if len(text) <= chars else f"{text[:chars]}\n… [+{len(text) - chars}]"


def _blocks(message: Message) -> Iterator[str]:
    for block in message.blocks:
        match block:
            case Text(text):
                yield text
            case Thinking(text):
                yield f"(reasoning) {text}"
            case ToolUse(_, name, args):
                yield f"→ {name} {json.dumps(args, ensure_ascii=False)}"
            case ToolResult(_, name, content, is_error):
                yield f"← {name}{' failed' if is_error else ''}: {content}"
            case Context(text):
                yield f"(context) {text}"
            case Image():
                yield "[picture]"
            case _:
                pass
