"""How replies and previews look in Discord: parts within the limit, an embed for what goes on."""

from collections.abc import Mapping, Sequence
from typing import Any

from channels.discord.dialect import escaped, to_discord
from channels.split import ROOM, split, utf16_len, with_numbers
from channels.types import Preview, Step

# Limits of discord.com/developers/docs/resources/message; counted here in UTF-16 units, the strictest reading.
MAX_TEXT, MAX_EMBED, MAX_TITLE = 2000, 4096, 100
# A preview leaves room for what marking up adds.
PREVIEW_TEXT = 1700
STEP_LINES, DETAIL, THINKING = 12, 80, 500
MARK = {"running": "⏳", "ok": "✓", "failed": "✗"}
GREY = 0x99AAB5
INDENT = "\u2003"
SHORTEST = 60  # below it a part is cut as it stands

Json = dict[str, Any]


def parts(text: str) -> list[str]:
    """Discord texts that fit, in order; none for blank text. The same text always makes the same parts."""
    whole = _fitting(text, MAX_TEXT, MAX_TEXT)
    return (
        whole if len(whole) < 2 else with_numbers(_fitting(text, MAX_TEXT - ROOM, MAX_TEXT - ROOM))
    )


def _fitting(text: str, limit: int, most: int) -> list[str]:
    """Parts as they are shown; cut again where marking up (escapes, quotes, columns) makes one longer than `most`."""
    return [
        shown for piece in split(text, limit, utf16_len) for shown in _shown(piece, limit, most)
    ]


def _shown(piece: str, limit: int, most: int) -> list[str]:
    rendered = to_discord(piece) or escaped(piece.strip())
    if utf16_len(rendered) <= most:
        return [rendered] if rendered else []
    if limit <= SHORTEST:
        return split(rendered, most, utf16_len)
    return _fitting(piece, limit * 2 // 3, most)


def preview_body(preview: Preview) -> Json:
    """Content and embeds of a preview; empty for an empty one.

    The embed says what goes on: steps, status, reasoning.
    """
    lines = [escaped(line) for line in step_lines(preview.steps)]
    if preview.status:
        lines.append(f"*{escaped(preview.status)}*")
    if preview.thinking.strip():
        thought = escaped(tail(preview.thinking.strip(), THINKING))
        lines.append("> " + thought.replace("\n", "\n> "))
    about = "\n".join(lines)
    content = shown_end(preview.text)
    if not (about or content):
        return {}
    embeds = [{"description": about[:MAX_EMBED], "color": GREY}] if about else []
    return {"content": content, "embeds": embeds}


def shown_end(text: str) -> str:
    """The end of a text in the making that fits into one message."""
    room = PREVIEW_TEXT
    while text.strip():
        rendered = to_discord(tail(text, room))
        if utf16_len(rendered) <= MAX_TEXT:
            return rendered
        room = room * 2 // 3
    return ""


def tail(text: str, limit: int) -> str:
    """The end of a Markdown text within `limit` UTF-16 units; a fence that was cut is opened again."""
    if utf16_len(text) <= limit:
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    at = len(text) - len(units[-2 * max(limit - 20, 20) :].decode("utf-16-le", "ignore"))
    line = text.find("\n", at)
    if 0 <= line < len(text) - 1 and line - at < limit // 4:
        at = line + 1
    fences = [row for row in text[:at].splitlines() if row.lstrip().startswith("```")]
    opened = "```\n" if len(fences) % 2 else ""
    return f"…\n{opened}{text[at:]}"


def step_lines(steps: Sequence[Step]) -> list[str]:
    """Lines in order of start, those of a sub-agent indented below it; the newest when there are too many."""
    children: dict[str | None, list[Step]] = {}
    known = {step.id for step in steps}
    for step in steps:
        children.setdefault(step.parent if step.parent in known else None, []).append(step)
    lines = _branch(children, None, 0)
    return lines if len(lines) <= STEP_LINES else ["…", *lines[-STEP_LINES:]]


def _branch(children: Mapping[str | None, list[Step]], parent: str | None, depth: int) -> list[str]:
    lines: list[str] = []
    for step in children.get(parent, ()):
        detail = f" · {step.detail}" if step.detail else ""
        line = f"{INDENT * depth}{MARK[step.state]} {step.label}{detail}".replace("\n", " ")
        lines.append(line if len(line) <= DETAIL else f"{line[: DETAIL - 1]}…")
        if step.id != parent:
            lines += _branch(children, step.id, depth + 1)
    return lines


def title_of(text: str) -> str:
    """The name of a thread: the first line of what was asked, within 100 characters."""
    line = next((row.strip() for row in text.splitlines() if row.strip()), "")
    line = " ".join(line.split())
    if utf16_len(line) <= MAX_TITLE:
        return line or "…"
    short = line[: MAX_TITLE - 1 if line.isascii() else MAX_TITLE // 2 - 1]
    words = short.rsplit(" ", 1)[0]
    return (words if len(words) > MAX_TITLE // 3 else short) + "…"
