"""Discord's own Markdown: what a model writes, marked up so that Discord shows it as meant and nothing else.

Rules as support.discord.com/hc/en-us/articles/210298617 gives them: headings to the third level, lists with two spaces
a level, no tables, no fences longer than three marks; a backslash takes the meaning of any mark.
"""

import re
from typing import ClassVar

from channels.dialects import Dialect, Mark, Pre, Solid
from channels.markdown import render

_URL = re.compile(r"https?://[^\s<]+[^\s<.,:;\"')\]]", re.IGNORECASE)
_SPECIAL = re.compile(
    r"\\|[*`]|~~|\|\||(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|\[(?=[^\]\n]*\]\()|<(?=https?:)"
)
_LINE_START = re.compile(r"^([ \t]*)(#{1,3}(?= )|>{1,3}(?= )|[-+](?= )|-#(?= ))", re.MULTILINE)
_NUMBERED = re.compile(r"^([ \t]*\d+)([.)])(?= )", re.MULTILINE)
_LANGUAGE = re.compile(r"[a-z0-9_+.#-]{1,20}", re.IGNORECASE)
_HTTP = re.compile(r"https?://\S", re.IGNORECASE)
_MARKS: dict[Mark, str] = {"bold": "**", "italic": "*", "strike": "~~"}


def to_discord(text: str) -> str:
    """Markdown as Discord reads it. It may be longer than `text`; empty for text without anything visible."""
    return render(text, DiscordMarkdown())


def escaped(text: str) -> str:
    """Plain text with the meaning taken from all marks; addresses stay as they are."""
    pieces, at = [], 0
    for url in _URL.finditer(text):
        pieces += [_escaped(text[at : url.start()]), url.group()]
        at = url.end()
    return "".join([*pieces, _escaped(text[at:])])


def _escaped(text: str) -> str:
    text = _SPECIAL.sub(lambda mark: "\\" + "\\".join(mark.group()), text)
    text = _LINE_START.sub(r"\1\\\2", text)
    return _NUMBERED.sub(r"\1\\\2", text)


class DiscordMarkdown(Dialect):
    """Discord's dialect. Marks may hold inline code; blocks of code stand outside of quotes."""

    indent: ClassVar[str] = "  "
    bullet: ClassVar[str] = "-"

    def text(self, text: str) -> str:
        """Escaped where Discord would see a mark."""
        return escaped(text)

    def code(self, text: str) -> str:
        """Between as many backticks as the text needs."""
        if not text.strip():
            return text
        runs = [len(run) for run in re.findall("`+", text)]
        if not runs:
            return Solid(f"`{text}`")
        if max(runs) > 1:  # Discord knows one and two
            text = re.sub("`{2,}", lambda run: "`\u200b" * len(run.group()), text)
        return Solid(f"`` {text} ``")

    def pre(self, text: str, info: str) -> str:
        """A fence; three backticks inside are kept apart, since Discord has no longer fence."""
        language = _LANGUAGE.match(info.strip())
        body = re.sub("`{3,}", lambda run: "\u200b".join(run.group()), text)
        return Pre(f"```{language.group() if language else ''}\n{body}\n```")

    def mark(self, kind: Mark, pieces: list[str]) -> list[str]:
        """Around the words, not around the spaces beside them."""
        inner = "".join(pieces)
        bare = inner.strip()
        if not bare:
            return pieces
        lead = len(inner) - len(inner.lstrip())
        sign = _MARKS[kind]
        return [inner[:lead], f"{sign}{bare}{sign}", inner[lead + len(bare) :]]

    def heading(self, level: int, pieces: list[str]) -> list[str]:
        """One size smaller than written, since the largest is a poster; bold below the third."""
        inner = "".join(pieces).strip()
        if not inner:
            return []
        return [f"{'#' * (level + 1)} {inner}"] if level <= 2 else self.mark("bold", [inner])

    def link(self, pieces: list[str], url: str) -> list[str]:
        """A masked link where Discord makes one; else the text and the address."""
        inner = "".join(pieces)
        if not inner.strip() or inner == url:
            return [url if _HTTP.match(url) else self.text(url)]
        if _HTTP.match(url) and "://" not in inner and "\n" not in inner:
            address = url.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
            return [f"[{inner}]({address})"]
        if not url or url.startswith("#"):
            return pieces
        return [*pieces, f" ({url if _HTTP.match(url) else self.text(url)})"]

    def quote(self, pieces: list[str]) -> list[str]:
        """Each line behind an angle; blocks of code between."""
        found: list[str] = []
        run: list[str] = []
        for piece in [*pieces, Pre("")]:
            if not isinstance(piece, Pre):
                run.append(piece)
                continue
            if (inner := "".join(run).strip("\n")).strip():
                gap = "\n" if found else ""
                found.append(f"{gap}> " + inner.replace("\n", "\n> ") + ("\n" if piece else ""))
            run = []
            if piece:
                found.append(piece)
        return found
