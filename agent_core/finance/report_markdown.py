"""A report as Markdown. Pictures are named by their files, which lie beside it."""

import re

from agent_core.finance.report_document import (
    Block,
    Bullets,
    Document,
    Paragraph,
    Picture,
    Section,
    Table,
)

# What would be read as markup or HTML. Dashes count at the begin of a line only, where no text of ours has one.
_MARKUP = re.compile(r"([\\`*_\[\]<>|#])")


def to_markdown(document: Document) -> str:
    """The report; equal documents give equal text."""
    parts = [f"# {_plain(document.title)}", f"*{_plain(document.below)}*"]
    for section in document.sections:
        parts += [_heading(section), *map(_block, section.blocks)]
    parts += ["---", *(f"*{_plain(notice)}*" for notice in document.notices)]
    return "\n\n".join(parts) + "\n"


def _heading(section: Section) -> str:
    return f"## {_plain(section.title)}" + (f" ({_plain(section.label)})" if section.label else "")


def _block(block: Block) -> str:
    match block:
        case Paragraph():
            return _plain(block.text)
        case Bullets():
            return "\n".join(f"- {_plain(item)}" for item in block.items)
        case Picture():
            return f"![{_plain(block.caption)}]({block.name})"
        case Table():
            return _table(block)


def _table(table: Table) -> str:
    side = "---:" if table.figures else "---"
    rows = [table.header, ("---", *(side for _ in table.header[1:])), *table.rows]
    marks = [[cell if row is rows[1] else _plain(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in marks)


def _plain(text: str) -> str:
    """One line in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
