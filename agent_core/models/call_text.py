"""Tool calls that a model writes as text: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` (PRV-2).

A fallback for servers that do not turn such markup into calls. It is a call only outside code and quotations, for a
tool that this request offers, and where the person has not written the very same markup (a model that quotes it).
"""

import json
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field

from agent_core.models.arguments import parse
from agent_core.types import ToolUse

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)


@dataclass(slots=True)
class CallText:
    """Holds back what may be a call while text streams.

    Args:
        offered: names of the request's tools; empty: nothing is ever held back.
        quoted: what people wrote in this conversation.
    """

    offered: Collection[str]
    quoted: str
    calls: list[ToolUse] = field(default_factory=list)
    shown: str = ""
    _held: str = ""

    def push(self, text: str) -> str:
        """What of the text can be shown now."""
        if not self.offered:
            self.shown += text
            return text
        self._held += text
        before = len(self.shown)
        while self._step():
            pass
        return self.shown[before:]

    def flush(self, *, cut: bool) -> str:
        """The rest, at the end. A call that the token limit cut is not shown, since it is no text for a person."""
        held, self._held = self._held, ""
        if cut and held.startswith(OPEN):
            return ""
        self.shown += held
        return held

    def _step(self) -> bool:
        """Move text from held to shown, or a call to calls; whether there may be more to move."""
        start = self._held.find(OPEN)
        if start != 0:
            return self._show(self._before(start))
        if self._is_code():
            return self._show(len(OPEN))
        end = self._held.find(CLOSE)
        if end < 0:
            return False
        call = self._call(self._held[len(OPEN) : end])
        if call is None:
            return self._show(end + len(CLOSE))
        self.calls.append(call)
        self._held = self._held[end + len(CLOSE) :].lstrip("\n")
        return bool(self._held)

    def _show(self, size: int) -> bool:
        self.shown += self._held[:size]
        self._held = self._held[size:]
        return bool(size and self._held)

    def _before(self, start: int) -> int:
        """How much of the held text stands before a mark, or before what may become one."""
        if start > 0:
            return start
        for size in range(min(len(OPEN) - 1, len(self._held)), 0, -1):
            if OPEN.startswith(self._held[-size:]):
                return len(self._held) - size
        return len(self._held)

    def _is_code(self) -> bool:
        """Whether the mark stands in a fence, in a code span or in a quotation."""
        fence = ""
        for match in _FENCE.finditer(self.shown):
            if not fence:
                fence = match[1]
            elif match[1].startswith(fence):
                fence = ""
        line = self.shown.rpartition("\n")[2]
        return bool(fence) or line.count("`") % 2 == 1 or line.lstrip().startswith(">")

    def _call(self, inner: str) -> ToolUse | None:
        if inner.strip() and inner.strip() in self.quoted:
            return None
        try:
            body = json.loads(inner)
        except ValueError:
            return None
        if not isinstance(body, dict) or body.get("name") not in self.offered:
            return None
        given = body.get("arguments", body.get("parameters", {}))
        args = given if isinstance(given, dict) else parse(str(given))
        if args is None:
            return None
        return ToolUse(f"call_{secrets.token_hex(8)}", body["name"], args)
