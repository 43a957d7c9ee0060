"""Pages as their readers' eyes see them: headings, code, links, tables; and the blocks that a test follows.

A block to follow has `<!-- follow: NAME -->` before it, which is not shown. It belongs to the last file that the words
before it name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
ENGLISH, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
_FOLLOW = re.compile(r"<!-- follow: (\w+) -->")
_FILE = re.compile(r"[\w.-]+(?:/[\w.-]+)*\.\w+")
_COMMENT = re.compile(r"(^|\s)#.*$")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code. `step` is the name that it is followed by, `file` what the words before it name; or empty."""

    language: str
    text: str
    step: str = ""
    file: str = ""

    @property
    def bare(self) -> tuple[str, ...]:
        """Its lines without comments and empty ones; arrows and alignment as they stand."""
        lines = (_COMMENT.sub("", line).rstrip() for line in self.text.splitlines())
        return tuple(line for line in lines if line)

    def changed(self, text: str) -> str:
        """A file's text with the changes that the block, a diff, shows; each has one place in it."""
        for hunk in re.split(r"^@@.*\n", self.text, flags=re.MULTILINE):
            lines = hunk.splitlines(keepends=True)
            before = "".join(line[1:] for line in lines if line[0] in " -")
            after = "".join(line[1:] for line in lines if line[0] in " +")
            assert text.count(before) == 1, f"{self.file} has {text.count(before)} times\n{before}"
            text = text.replace(before, after)
        return text


class Readme:
    """One page."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.text = file.read_text("utf-8")
        self._tokens = MarkdownIt("commonmark").enable("table").parse(self.text)

    @cached_property
    def blocks(self) -> list[Block]:
        """All code in order."""
        found, step, file = [], "", ""
        for token in self._tokens:
            if token.type in {"fence", "code_block"}:
                found.append(Block(token.info, token.content, step, file))
            if token.type == "inline":
                file = next((name for name in reversed(_codes(token)) if _FILE.fullmatch(name)), "")
            mark = _FOLLOW.fullmatch(token.content.strip()) if token.type == "html_block" else None
            step = mark[1] if mark else ""
        return found

    @property
    def steps(self) -> dict[str, Block]:
        """The blocks to follow, in order."""
        return {block.step: block for block in self.blocks if block.step}

    @property
    def levels(self) -> list[str]:
        """The level of each heading, such as h2."""
        return [token.tag for token in self._tokens if token.type == "heading_open"]

    @property
    def links(self) -> list[str]:
        """Where its links and pictures lead, sorted."""
        spans = [span for token in self._tokens for span in token.children or ()]
        ends = (span.attrs.get("href") or span.attrs.get("src") for span in spans)
        return sorted(str(end) for end in ends if end)

    @property
    def entries(self) -> list[tuple[str, ...]]:
        """The code in the first cell of each row of its tables: commands, presets, tools."""
        return [tuple(c.content for c in cell if c.type == "code_inline") for cell in self._first()]

    def _first(self) -> Iterator[list[Token]]:
        new = False
        for token in self._tokens:
            if token.type == "tr_open":
                new = True
            elif new and token.type == "inline":
                new = False
                yield token.children or []


def _codes(token: Token) -> list[str]:
    return [child.content for child in token.children or () if child.type == "code_inline"]
