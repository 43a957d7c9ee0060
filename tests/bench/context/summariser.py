"""A summariser without a mind: it takes the first words of what was said last, so the facts column flatters no model.

Deterministic. It keeps to the form that it is asked for and repeats the items that must occur, as a model that follows
its instruction would; it has about the length of a model's summary, since output is what a summary costs most.
"""

import re
from collections.abc import Sequence

from agent_core.compaction.headings import HEADINGS
from agent_core.ports import ModelRequest
from agent_core.types import Context, Message, Text

LINE = 110
LINES = 30
_MUST = re.compile(r"These must occur in the summary, unchanged: (.*?)\.?(?:\n|$)")
_MOST = re.compile(r"Write at most (\d+) characters")
_RECORD = re.compile(r"<record[^>]*>\n(.*)\n</record>", re.DOTALL)


def extract(request: ModelRequest) -> str:
    """The summary that a request asks for."""
    told = request.messages[-1].text
    record = _RECORD.search(told)
    lines = _lines_of(record[1]) if record else _said(request.messages[:-1])
    must = _MUST.search(told)
    items = must[1] if must else ""
    if most := _MOST.search(told):
        return f"{items}. {'; '.join(reversed(lines[-LINES:]))}"[: int(most[1])]
    return _structured(lines, items)


def _structured(lines: Sequence[str], items: str) -> str:
    newest = [f"- {line}" for line in lines[-LINES:]]
    bodies = {
        HEADINGS[0]: newest[:1],
        HEADINGS[2]: ["Done:", *newest, "In Progress:", *newest[-1:]],
        HEADINGS[8]: [items] if items else [],
    }
    return "\n\n".join(f"## {h}\n" + ("\n".join(bodies.get(h, [])) or "(none)") for h in HEADINGS)


def _said(messages: Sequence[Message]) -> list[str]:
    texts = [
        b.text for m in messages if m.role == "assistant" for b in m.blocks if isinstance(b, Text)
    ]
    heads = [b.text for m in messages[:2] for b in m.blocks if isinstance(b, Context)]
    return [line for t in [*heads, *texts] for line in _lines_of(t)[:2]]


def _lines_of(text: str) -> list[str]:
    return [line.strip()[:LINE] for line in text.splitlines() if len(line.strip()) > 20]
