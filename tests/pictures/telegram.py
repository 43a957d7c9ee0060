"""Telegram's visible messages: text with entities (offsets in UTF-16 units), photos, documents, inline keyboards."""

import html
from typing import Any

from tests.pictures.bubbles import Bubble, Key, Picked
from tests.twins.telegram import TelegramTwin
from tests.twins.telegram_state import Stored

TAGS = {
    "bold": "b",
    "italic": "i",
    "underline": "u",
    "strikethrough": "s",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
}
LINKS = {"text_link", "url", "mention", "bot_command", "hashtag", "email"}


def bubbles(twin: TelegramTwin, chat: int, *, draft: bool = True) -> list[Bubble]:
    """What is visible in a chat, with the draft that is on the screen."""
    found = [_bubble(twin, stored) for stored in twin.chat(chat)]
    text = twin.draft(chat) if draft else None
    if text:
        found.append(Bubble(True, _br(html.escape(text)), note="draft"))
    return found


def _bubble(twin: TelegramTwin, stored: Stored) -> Bubble:
    rows = stored.body.get("reply_markup", {}).get("inline_keyboard", [])
    keys = tuple(tuple(Key(b["text"]) for b in row) for row in rows)
    return Bubble(
        stored.by_bot,
        marked(stored.text, stored.entities),
        _files(twin, stored),
        keys,
        _note(stored),
    )


def _note(stored: Stored) -> str:
    return "edited" if stored.body.get("edit_date") else ""


def _files(twin: TelegramTwin, stored: Stored) -> tuple[Picked, ...]:
    if stored.file_id is None:
        return ()
    data = twin.state.files[stored.file_id].data
    if stored.kind == "photo":
        return (Picked("photo", "image/png", data),)
    document = stored.body.get("document", {})
    return (Picked(document.get("file_name", "file"), "application/octet-stream", data),)


def marked(text: str, entities: list[dict[str, Any]]) -> str:
    """Text with its entities as HTML."""
    units = text.encode("utf-16-le", "replace")
    opens: dict[int, list[str]] = {}
    closes: dict[int, list[str]] = {}
    for entity in sorted(entities, key=lambda e: (e["offset"], -e["length"])):
        start, end = entity["offset"], entity["offset"] + entity["length"]
        tag = "a" if entity["type"] in LINKS else TAGS.get(entity["type"], "span")
        opens.setdefault(start, []).append(f"<{tag}>")
        closes.setdefault(end, []).insert(0, f"</{tag}>")
    parts, last = [], 0
    for at in sorted({*opens, *closes, len(units) // 2}):
        parts.append(html.escape(units[2 * last : 2 * at].decode("utf-16-le", "replace")))
        parts += closes.get(at, []) + opens.get(at, [])
        last = at
    joined = "".join(parts)
    for tag in ("pre", "blockquote"):  # a block ends its line itself
        joined = joined.replace(f"</{tag}>\n", f"</{tag}>").replace(f"\n<{tag}>", f"<{tag}>")
    return _br(joined)


def _br(text: str) -> str:
    return f'<div class="pre-wrap">{text}</div>' if text else ""
