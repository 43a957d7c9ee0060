"""How replies look in Slack: Block Kit within its limits, and the plain text for who cannot take it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from channels.blocks import Table, blocks
from channels.grid import cells
from channels.markdown import to_plain
from channels.slack.dialect import escape, to_mrkdwn
from channels.slack.forms import plain, value_of
from channels.split import numbered, split
from channels.types import Button

Json = dict[str, Any]

# docs.slack.dev/reference/block-kit/blocks. The source of a section is shorter than a section may be: marks grow.
# A part makes some 20 blocks at most, of the 50 that a message may have.
SECTION, SECTION_SOURCE = 3000, 2700
# A message may hold far more, but a person folds it open; this is one screen or two.
PART = 9000
FALLBACK = 3500  # `text` beside blocks: notifications, screen readers
PLAIN = 12_000  # without blocks; the platform's limit is 40,000
ROWS, COLUMNS, TABLE_CHARS, CELL_CHARS = 100, 20, 9000, 2000
IN_A_ROW, BUTTONS, OPTIONS, LABEL = 5, 25, 100, 75
EMPTY_CELL = "–"
_ALIGN = re.compile(r"(:?)-+(:?)")


@dataclass(frozen=True, slots=True)
class Content:
    """One message: blocks, and the same in plain words."""

    text: str
    blocks: list[Json] = field(default_factory=list)


def parts(text: str) -> list[str]:
    """Markdown for one message each; the same text always makes the same parts. None for blank text."""
    return numbered(text, PART)


def content(markdown: str, buttons: Sequence[Button] = (), *, tables: bool = True) -> Content:
    """A part as blocks, its buttons below; without `tables` they are aligned text."""
    found = list(_sections(markdown, tables=tables)) if markdown.strip() else []
    keys = keyboard(buttons)
    words = to_plain(markdown[:FALLBACK]).strip() or " · ".join(b.label for b in buttons) or "…"
    return Content(escape(words), found + keys)


def unadorned(markdown: str, buttons: Sequence[Button] = ()) -> Content:
    """The part without blocks for its text, for when Slack refuses them."""
    words = escape(markdown.strip()[:PLAIN] or "…")
    keys = keyboard(buttons)
    if not keys:
        return Content(words)
    shown = [{"type": "section", "text": plain_section(s)} for s in split(markdown, SECTION - 200)]
    return Content(words, shown + keys)


def plain_section(text: str) -> Json:
    """Text that is shown as it stands."""
    return {"type": "plain_text", "text": text[:SECTION], "emoji": False}


def section(mrkdwn: str) -> Json:
    """A block of marked-up text."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": mrkdwn}}


def keyboard(buttons: Sequence[Button]) -> list[Json]:
    """Five buttons a row; more than that as a menu, unless one of them opens a form."""
    if len(buttons) > IN_A_ROW and not any(button.form for button in buttons):
        return [_menu(buttons[:OPTIONS])]
    keys = [_button(number, button) for number, button in enumerate(buttons[:BUTTONS])]
    return [
        {"type": "actions", "block_id": f"keys-{at}", "elements": keys[at : at + IN_A_ROW]}
        for at in range(0, len(keys), IN_A_ROW)
    ]


def _button(number: int, button: Button) -> Json:
    """`action_id` carries what kind of press it is, a number that makes it unique, and the data."""
    form = value_of(button)
    kind = "b" if form is None else "f"
    key: Json = {
        "type": "button",
        "action_id": f"{kind}{number}:{button.data}",
        "text": plain(button.label, LABEL),
        "value": button.data if form is None else form,
    }
    return key if button.style == "plain" else {**key, "style": button.style}


def _menu(buttons: Sequence[Button]) -> Json:
    options = [{"text": plain(button.label, LABEL), "value": button.data} for button in buttons]
    menu = {"type": "static_select", "action_id": "menu", "options": options}
    return {
        "type": "actions",
        "block_id": "keys-0",
        "elements": [{**menu, "placeholder": plain("⋯", LABEL)}],
    }


def _sections(markdown: str, *, tables: bool) -> Iterator[Json]:
    """Text as sections; the first table as a table, others as aligned text: Slack takes one a message."""
    text: list[str] = []
    for block in blocks(markdown):
        table = _table(block) if isinstance(block, Table) and tables else None
        if table is None:
            text.append(block.text)
            continue
        tables = False
        yield from _texts("".join(text))
        text = []
        yield table
    yield from _texts("".join(text))


def _texts(markdown: str) -> Iterator[Json]:
    for piece in split(markdown, SECTION_SOURCE, lambda text: len(escape(text))):
        yield from _fitted(piece)


def _fitted(piece: str) -> Iterator[Json]:
    """One section, or more where rendering made it too long."""
    rendered = to_mrkdwn(piece)
    if not rendered.strip():
        yield {"type": "section", "text": plain_section(piece.strip())}  # marks without a text
    elif len(rendered) <= SECTION:
        yield section(rendered)
    elif len(piece) > 400:
        for smaller in split(piece, len(piece) // 2):
            yield from _fitted(smaller)
    else:
        yield {"type": "section", "text": plain_section(piece)}


def _table(block: Table) -> Json | None:
    """A table block; None for one that is too large, or stands in a list or quote."""
    head, rule, *rest = block.text.strip("\n").split("\n")
    if not head.lstrip(" ").startswith("|") and not head[:1].isalnum():
        return None
    width = len(cells(head))
    rows = [[_cell(cell) for cell in _filled(cells(row), width)] for row in (head, *rest)]
    total = sum(len(cell) for row in rows for cell in row)
    longest = max(len(cell) for row in rows for cell in row)
    if len(rows) > ROWS or width > COLUMNS or total > TABLE_CHARS or longest > CELL_CHARS:
        return None
    return {
        "type": "table",
        "rows": [[{"type": "raw_text", "text": cell} for cell in row] for row in rows],
        "column_settings": [{"align": _side(mark), "is_wrapped": True} for mark in cells(rule)],
    }


def _filled(row: list[str], width: int) -> list[str]:
    """As many cells as the head has; what is beyond joins the last one, so that nothing disappears."""
    if len(row) > width:
        return [*row[: width - 1], " | ".join(row[width - 1 :])]
    return [*row, *[""] * (width - len(row))]


def _cell(markdown: str) -> str:
    return to_plain(markdown.replace("\\|", "|")).strip() or EMPTY_CELL


def _side(mark: str) -> str:
    match = _ALIGN.fullmatch(mark.strip())
    left, right = match.groups() if match else ("", "")
    return "center" if left and right else "right" if right else "left"


def has_table(found: Content) -> bool:
    """Whether a table block is in it."""
    return any(block["type"] == "table" for block in found.blocks)
