"""A report as data: sections of paragraphs, lists, tables and pictures, which Markdown, HTML and PDF are made from.

Words are plain text: none of the three forms reads markup in them. All of it can be pickled, so that a document is
rendered in the worker process.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Language = Literal["en", "zh"]
Form = Literal["pdf", "html", "markdown"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences. `small`: a remark below a table or picture."""

    text: str
    small: bool = False


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list; at least one item."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows as wide as the header. The first column is words; the others are figures where `figures` says so."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: bool = True


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG on light paper, and on dark paper where the form can choose. `name` is a file's name with its ending."""

    name: str
    light: bytes
    dark: bytes | None
    caption: str


Block = Paragraph | Bullets | Table | Picture


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it; `label` says what kind of statement it is (CRD-1), "" where it needs none."""

    title: str
    blocks: tuple[Block, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A report. `below` is the line under the title; `notices` are lines that stand at the end of every form."""

    title: str
    below: str
    sections: tuple[Section, ...]
    notices: tuple[str, ...]
    language: Language = "en"

    def pictures(self) -> tuple[Picture, ...]:
        """All pictures, in order."""
        return tuple(
            b for section in self.sections for b in section.blocks if isinstance(b, Picture)
        )

    def words(self) -> Iterator[str]:
        """Every text that a reader sees, in order."""
        yield self.title
        yield self.below
        for section in self.sections:
            yield section.title
            yield section.label
            for block in section.blocks:
                yield from _words(block)
        yield from self.notices


def unbroken(text: str) -> str:
    """The text with a number and its percent sign on one line."""
    return text.replace(" %", "\u00a0%")


def _words(block: Block) -> Iterator[str]:
    match block:
        case Paragraph():
            yield block.text
        case Bullets():
            yield from block.items
        case Table():
            yield from block.header
            for row in block.rows:
                yield from row
        case Picture():
            yield block.caption
