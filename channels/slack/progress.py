"""How a reply in the making looks: steps, status, reasoning, then the end of the text."""

from collections.abc import Sequence
from typing import Any

from channels.slack.dialect import escape, to_mrkdwn
from channels.slack.render import SECTION, Content, keyboard, section
from channels.types import Preview, Step

TEXT = 2200  # source characters of a preview's text; rendering may add some
STEP_LINES, DETAIL, THINKING = 12, 80, 400
STATUS_LIMIT = 100
TASK_TITLE = 120
MARK = {"running": "⏳", "ok": "✓", "failed": "✗"}
TASK = {"running": "in_progress", "ok": "complete", "failed": "error"}


def is_empty(preview: Preview) -> bool:
    """Nothing of it is worth a message."""
    return not (preview.text.strip() or preview.steps or preview.status or preview.thinking.strip())


def shown(preview: Preview) -> Content:
    """A preview as one message; its text is tried as mrkdwn and fits into one section each."""
    head = [escape(line) for line in lines(preview.steps)]
    if preview.status:
        head.append(f"_{escape(preview.status)}_")
    if preview.thinking.strip():
        thought = escape(tail(preview.thinking.strip(), THINKING))
        head.append("> " + thought.replace("\n", "\n> "))
    body = to_mrkdwn(tail(preview.text, TEXT)) if preview.text.strip() else ""
    if len(body) > SECTION:
        body = escape(tail(preview.text, SECTION // 6))
    pieces = ["\n".join(head)[:SECTION], body]
    blocks = [section(piece) for piece in pieces if piece.strip()]
    words = preview.status or (preview.steps[-1].label if preview.steps else "") or "…"
    text = escape(tail(preview.text, TEXT).strip() or words)
    return Content(text, [*blocks, *keyboard(preview.buttons)])


def status(preview: Preview) -> str:
    """One short line about what goes on, for a thread's status; empty when nothing is known."""
    if preview.status:
        return preview.status[:STATUS_LIMIT]
    running = [step for step in preview.steps if step.state == "running"]
    return _line(running[-1], "")[:STATUS_LIMIT] if running else ""


def task(step: Step) -> dict[str, Any]:
    """A step as a chunk of a stream: Slack shows it as a card, and the newest state of each id."""
    title = _line(step, "")
    short = title if len(title) <= TASK_TITLE else f"{title[: TASK_TITLE - 1]}…"
    return {"type": "task_update", "id": step.id, "title": short, "status": TASK[step.state]}


def tail(text: str, limit: int) -> str:
    """The end of a Markdown text within `limit` characters; a fence that was cut is opened again."""
    if len(text) <= limit:
        return text
    at = len(text) - max(limit - 20, 20)
    line = text.find("\n", at)
    if 0 <= line < len(text) - 1 and line - at < limit // 4:
        at = line + 1
    fences = sum(row.lstrip().startswith("```") for row in text[:at].splitlines())
    return f"…\n{'```' + chr(10) if fences % 2 else ''}{text[at:]}"


def lines(steps: Sequence[Step]) -> list[str]:
    """Lines in order of start, those of a sub-agent indented below it; the newest when there are too many."""
    children: dict[str | None, list[Step]] = {}
    known = {step.id for step in steps}
    for step in steps:
        children.setdefault(step.parent if step.parent in known else None, []).append(step)
    found: list[str] = []

    def walk(parent: str | None, depth: int) -> None:
        for step in children.get(parent, ()):
            line = _line(step, f"{'    ' * depth}{MARK[step.state]} ")
            found.append(line if len(line) <= DETAIL else f"{line[: DETAIL - 1]}…")
            if step.id != parent:
                walk(step.id, depth + 1)

    walk(None, 0)
    return found if len(found) <= STEP_LINES else ["…", *found[-STEP_LINES:]]


def _line(step: Step, before: str) -> str:
    detail = f" · {step.detail}" if step.detail else ""
    return f"{before}{step.label}{detail}".replace("\n", " ")
