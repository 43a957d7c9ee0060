"""Slack's visible messages: mrkdwn in sections, tables, task cards of a stream, files, actions."""

import html
import re
from typing import Any

from tests.pictures import discord
from tests.pictures.bubbles import Bubble, Key, Picked
from tests.twins.slack import SlackTwin
from tests.twins.slack_state import Post

CARD = {"in_progress": "⏳", "complete": "✅", "error": "⚠️", "pending": "◻️"}


def bubbles(twin: SlackTwin, room: str, thread: str | None = None) -> list[Bubble]:
    """What is visible in a channel or a thread."""
    return [_bubble(twin, post) for post in twin.posts(room, thread)]


def _bubble(twin: SlackTwin, post: Post) -> Bubble:
    body = "".join(map(_block, post.blocks)) or _text(post)
    cards = "".join(
        f'<div class="card">{CARD.get(t["status"], "")} {html.escape(t["title"])}</div>'
        for t in post.tasks.values()
    )
    files = [twin.state.files[f["id"]] for f in post.files]
    picked = tuple(
        Picked(f.name, "image/png" if f.data.startswith(b"\x89PNG") else f.media_type, f.data)
        for f in files
    )
    note = "streaming" if post.streaming else ""
    return Bubble(post.by_bot, cards + body, picked, _rows(post.blocks), note)


def _text(post: Post) -> str:
    if post.streaming:  # markdown_text, which Slack renders as Markdown
        return discord.markdown(post.text)
    return mrkdwn(post.text)


def _rows(blocks: list[dict[str, Any]]) -> tuple[tuple[Key, ...], ...]:
    rows = []
    for block in blocks:
        if block["type"] != "actions":
            continue
        keys = []
        for element in block["elements"]:
            if element["type"] == "button":
                keys.append(Key(element["text"]["text"], element.get("style", "plain")))
            else:
                keys.append(Key(f"{element.get('placeholder', {}).get('text', '…')} ▾"))
        rows.append(tuple(keys))
    return tuple(rows)


def _block(block: dict[str, Any]) -> str:
    match block["type"]:
        case "section":
            text = block["text"]
            plain = f'<div class="pre-wrap">{html.escape(text["text"])}</div>'
            return mrkdwn(text["text"]) if text["type"] == "mrkdwn" else plain
        case "header":
            return f"<h3>{html.escape(block['text']['text'])}</h3>"
        case "divider":
            return "<hr>"
        case "context":
            words = " ".join(str(e.get("text", "")) for e in block["elements"])
            return f'<div class="small">{mrkdwn(words)}</div>'
        case "markdown":
            return f'<div class="pre-wrap">{html.escape(block["text"])}</div>'
        case "table":
            return _table(block)
    return ""


def _table(block: dict[str, Any]) -> str:
    settings = block.get("column_settings") or []
    rows = []
    for number, row in enumerate(block["rows"]):
        cells = []
        for column, cell in enumerate(row):
            about = settings[column] if column < len(settings) and settings[column] else {}
            tag = "th" if number == 0 else "td"
            align = about.get("align", "left")
            cells.append(f'<{tag} style="text-align:{align}">{html.escape(cell["text"])}</{tag}>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def mrkdwn(text: str) -> str:
    """mrkdwn (which escapes &, < and > itself) as HTML."""
    parts = []
    for number, piece in enumerate(text.split("```")):
        if number % 2:
            parts.append(f"<pre>{piece.strip(chr(10))}</pre>")
        else:
            parts.append("\n".join(map(_line, piece.split("\n"))))
    joined = "".join(parts).replace("</pre>\n", "</pre>").replace("\n<pre>", "<pre>")
    joined = joined.replace("</blockquote>\n", "</blockquote>").replace(
        "\n<blockquote>", "<blockquote>"
    )
    return f'<div class="pre-wrap">{joined}</div>'


def _line(line: str) -> str:
    quote = re.match(r"(?:&gt;|>) ?", line)
    if quote:
        return f"<blockquote>{_spans(line[quote.end() :])}</blockquote>"
    return _spans(line)


def _spans(text: str) -> str:
    pieces = []
    for number, piece in enumerate(text.split("`")):
        pieces.append(f"<code>{piece}</code>" if number % 2 else _marks(piece))
    return "".join(pieces)


def _marks(text: str) -> str:
    text = re.sub(r"<@(\w+)>", r"<a>@\1</a>", text)
    text = re.sub(r"<([^<>|@/][^<>|]*)\|([^<>]*)>", r"<a>\2</a>", text)
    text = re.sub(r"<((?:https?|mailto):[^<>|]*)>", r"<a>\1</a>", text)
    for mark, tag in (("*", "b"), ("_", "i"), ("~", "s")):
        m = re.escape(mark)
        text = re.sub(
            rf"(?<![\w{m}]){m}(?=\S)([^{m}\n]+?)(?<=\S){m}(?![\w{m}])", rf"<{tag}>\1</{tag}>", text
        )
    return text
