"""Markdown as Slack's mrkdwn (docs.slack.dev/messaging/formatting-message-text).

Slack sees a mark only where no letter touches it from outside, which Chinese text does all the time: a zero-width
space goes between them there, and nowhere else.
"""

import html
import re
from collections.abc import Callable
from itertools import groupby
from typing import ClassVar

from channels.dialects import Dialect, Mark, Pre, Solid
from channels.markdown import render

# Stands at the outer edges of marks until the text around them is known; a noncharacter, so no text has it.
_EDGE = "\ufdd0"
_ZERO_WIDTH = "\u200b"
_NO_FENCE = f"``{_ZERO_WIDTH}`"
_EDGES = re.compile(f"(?<=(.)){_EDGE}+(?=(.))|{_EDGE}+", re.DOTALL)
_SCHEME = re.compile(r"https?://\S|mailto:\S", re.IGNORECASE)
_IN_URL = {"<": "%3C", ">": "%3E", "|": "%7C", " ": "%20", "\n": "%0A", "&": "&amp;"}


def to_mrkdwn(text: str) -> str:
    """As mrkdwn, for a section or a text field; `&`, `<` and `>` of the source are escaped. Never raises."""
    return _EDGES.sub(_edge, render(text.replace(_EDGE, "\ufffd"), Mrkdwn()))


def escape(text: str) -> str:
    """Plain text that Slack shows as it is, apart from marks."""
    return html.escape(text, quote=False)


def _edge(match: re.Match[str]) -> str:
    """A zero-width space where a letter touches a mark from outside; at another mark it needs none."""
    before, after = match.group(1) or "", match.group(2) or ""
    return _ZERO_WIDTH if before.isalnum() or after.isalnum() else ""


class Mrkdwn(Dialect):
    """Marks do not cross lines, and code takes none; a link is one unit."""

    _SIGNS: ClassVar[dict[Mark, str]] = {"bold": "*", "italic": "_", "strike": "~"}

    def text(self, text: str) -> str:
        """With the three characters escaped that Slack reads as control characters, and no fence opened by chance."""
        return escape(text).replace("```", _NO_FENCE)

    def code(self, text: str) -> str:
        """Between backticks, unless it has some itself: there is no way to escape them."""
        if "`" in text or not text.strip():
            return self.text(text)
        return Solid(f"{_EDGE}`{escape(text)}`{_EDGE}")

    def pre(self, text: str, info: str) -> str:
        """A fence; the language has no place in it."""
        return Pre(f"```\n{self.text(text)}\n```")

    def mark(self, kind: Mark, pieces: list[str]) -> list[str]:
        """Around each stretch of a line that is no code."""
        sign = self._SIGNS[kind]
        return _around(pieces, Solid, lambda inner: _by_line(inner, sign))

    def link(self, pieces: list[str], url: str) -> list[str]:
        """As a link where Slack opens such an address; else its text and the address."""
        label = "".join(pieces).replace("\n", " ").replace(_EDGE, "").replace("|", "¦").strip()
        if not _SCHEME.match(url):
            shown = self.text(url)
            if label and (not url or url.startswith("#") or shown == label):
                return pieces
            return [*pieces, f" ({shown})"] if label else [shown]
        target = "".join(_IN_URL.get(char, char) for char in url)
        if not label or label in {target, self.text(url)}:
            return [f"<{target}>"]
        return [f"<{target}|{label}>"]

    def quote(self, pieces: list[str]) -> list[str]:
        """An angle before each line, but those of code blocks."""
        return _around(pieces, Pre, lambda inner: "> " + inner.replace("\n", "\n> "))


def _by_line(inner: str, sign: str) -> str:
    """Each line between marks of its own, whitespace at its ends outside of them."""
    lines = []
    for line in inner.split("\n"):
        bare = line.strip()
        if not bare:
            lines.append(line)
            continue
        lead = len(line) - len(line.lstrip())
        marked = f"{_EDGE}{sign}{bare}{sign}{_EDGE}"
        lines.append(line[:lead] + marked + line[lead + len(bare) :])
    return "\n".join(lines)


def _around(pieces: list[str], outside: type[Solid], wrap: Callable[[str], str]) -> list[str]:
    """Each stretch of pieces wrapped, those of the type `outside` left between."""
    result: list[str] = []
    for solid, run in groupby(pieces, lambda piece: isinstance(piece, outside)):
        if solid:
            result.extend(run)
            continue
        inner = "".join(run)
        bare = inner.strip("\n")
        if not bare:
            result.append(inner)
            continue
        lead = len(inner) - len(inner.lstrip("\n"))
        result.append(inner[:lead] + wrap(bare) + inner[lead + len(bare) :])
    return result
