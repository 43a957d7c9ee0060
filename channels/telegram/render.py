"""How replies and previews look in Telegram: parts within the limit, status lines, keyboards."""

import html
import re
from collections.abc import Sequence

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from channels.markdown import to_telegram
from channels.split import numbered, split, utf16_len
from channels.types import Button, Preview, Step, without_dialogs

# Limits of the Bot API, in UTF-16 units after the entities are parsed.
MAX_TEXT, MAX_CAPTION = 4096, 1024
# A preview leaves room for what rendering adds (bullets, aligned tables).
PREVIEW_TEXT = 3500
STEP_LINES, DETAIL, THINKING = 12, 80, 500
BUTTONS_IN_A_ROW = 3
SHORT_LABEL = 10  # a phone shows about so much of each of three labels
MARK = {"running": "⏳", "ok": "✓", "failed": "✗"}
TAG = re.compile(r"<[^>]+>")


def visible(source: str) -> int:
    """Length of an HTML text as Telegram counts it."""
    return utf16_len(html.unescape(TAG.sub("", source)))


def parts(text: str) -> list[str]:
    """Markdown parts that fit, rendered and as they stand (for the plain fallback); none for blank text.

    The same text always makes the same parts: a resumed send goes on by their number.
    """
    return numbered(text, MAX_TEXT, utf16_len)


def captions(text: str) -> list[str]:
    """A caption that fits under a file, and what is left of it, likewise in parts."""
    return split(text, MAX_CAPTION, utf16_len)


def keyboard(buttons: Sequence[Button]) -> InlineKeyboardMarkup | None:
    """Buttons under a message, three in a row; two where a label is long, or one would be left alone."""
    buttons = without_dialogs(buttons)
    if not buttons:
        return None
    long = any(len(b.label) > SHORT_LABEL for b in buttons) or len(buttons) == 4
    wide = 2 if long and len(buttons) > 1 else BUTTONS_IN_A_ROW
    keys = [InlineKeyboardButton(b.label, callback_data=b.data) for b in buttons]
    rows = [keys[i : i + wide] for i in range(0, len(keys), wide)]
    return InlineKeyboardMarkup(rows)


def preview_html(preview: Preview) -> str:
    """A preview as HTML: steps, status, reasoning, then the end of the text that fits. Empty for an empty one."""
    lines = [html.escape(line, quote=False) for line in _steps(preview.steps)]
    if preview.status:
        lines.append(f"<i>{html.escape(preview.status, quote=False)}</i>")
    if preview.thinking.strip():
        thought = tail(preview.thinking.strip(), THINKING)
        lines.append(f"<blockquote>{html.escape(thought, quote=False)}</blockquote>")
    head = "\n".join(lines)
    body = to_telegram(tail(preview.text, PREVIEW_TEXT - visible(head))) if preview.text else ""
    return f"{head}\n\n{body}" if head and body.strip() else head or body


def plain(source: str) -> str:
    """An HTML text without its tags, for a preview the platform cannot parse."""
    return html.unescape(TAG.sub("", source))


def tail(text: str, limit: int) -> str:
    """The end of a Markdown text within `limit` UTF-16 units; a fence that was cut is opened again."""
    if utf16_len(text) <= limit:
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    at = len(text) - len(units[-2 * max(limit - 20, 20) :].decode("utf-16-le", "ignore"))
    line = text.find("\n", at)
    if 0 <= line < len(text) - 1 and line - at < 500:
        at = line + 1
    opened = ""
    for row in text[:at].splitlines():
        if row.lstrip().startswith("```"):
            opened = "" if opened else "```\n"
    return f"…\n{opened}{text[at:]}"


def _steps(steps: Sequence[Step]) -> list[str]:
    """Lines in order of start, those of a sub-agent indented below it; the newest when there are too many."""
    children: dict[str | None, list[Step]] = {}
    known = {step.id for step in steps}
    for step in steps:
        children.setdefault(step.parent if step.parent in known else None, []).append(step)
    lines: list[str] = []

    def walk(parent: str | None, depth: int) -> None:
        for step in children.get(parent, ()):
            detail = f" · {step.detail}" if step.detail else ""
            line = f"{'  ' * depth}{MARK[step.state]} {step.label}{detail}".replace("\n", " ")
            lines.append(line if len(line) <= DETAIL else f"{line[: DETAIL - 1]}…")
            if step.id != parent:
                walk(step.id, depth + 1)

    walk(None, 0)
    return lines if len(lines) <= STEP_LINES else ["…", *lines[-STEP_LINES:]]
