"""Discord's visible messages: its Markdown, embeds, attachments, components."""

import html
import re
from typing import Any

from tests.pictures.bubbles import Bubble, Key, Picked
from tests.twins.discord import DiscordTwin
from tests.twins.discord_state import Stored

STYLES = {1: "primary", 3: "primary", 4: "danger"}
HEADING = re.compile(r"(#{1,3}) +(.*)")
BULLET = re.compile(r"( *)(?:[-*]|(\d+)\.) +(.*)")


def bubbles(twin: DiscordTwin, channel: str) -> list[Bubble]:
    """What is visible in a channel or a thread."""
    return [_bubble(twin, stored) for stored in twin.chat(channel)]


def _bubble(twin: DiscordTwin, stored: Stored) -> Bubble:
    body = markdown(stored.text) + "".join(map(_embed, stored.embeds))
    files = tuple(
        Picked(f["filename"], f.get("content_type") or "", twin.world.files[f["id"]].data)
        for f in stored.files
    )
    rows = tuple(tuple(map(_key, row["components"])) for row in stored.body["components"])
    note = "(edited)" if stored.body.get("edited_timestamp") else ""
    return Bubble(stored.by_bot, body, files, rows, note)


def _key(part: dict[str, Any]) -> Key:
    if part["type"] == 2:
        return Key(part["label"], STYLES.get(part.get("style", 2), "plain"))
    return Key(f"{part.get('placeholder') or '…'} ▾")


def _embed(embed: dict[str, Any]) -> str:
    colour = f"#{embed.get('color') or 0x4E5058:06x}"
    parts = []
    if embed.get("title"):
        parts.append(f"<b>{markdown(embed['title'])}</b>")
    parts.append(markdown(embed.get("description") or ""))
    fields = embed.get("fields") or []
    parts += [f"<b>{html.escape(f['name'])}</b>{markdown(f['value'])}" for f in fields]
    if embed.get("footer"):
        parts.append(f'<div class="small">{html.escape(embed["footer"]["text"])}</div>')
    return f'<div class="embed" style="border-color:{colour}">{"".join(parts)}</div>'


def markdown(text: str) -> str:
    """Discord's Markdown as HTML."""
    parts = []
    for number, piece in enumerate(text.split("```")):
        if number % 2:
            code = re.sub(r"^[\w+#.-]*\n", "", piece).strip("\n")
            parts.append(f"<pre>{html.escape(code)}</pre>")
        else:
            parts.append(
                "".join(map(_line, piece.strip("\n").split("\n"))) if piece.strip() else ""
            )
    return "".join(parts)


def _line(line: str) -> str:
    if found := HEADING.fullmatch(line):
        return f"<h{len(found[1])}>{_spans(found[2])}</h{len(found[1])}>"
    if line.startswith("-# "):
        return f'<div class="small">{_spans(line[3:])}</div>'
    if line.startswith("> "):
        return f"<blockquote>{_spans(line[2:])}</blockquote>"
    if found := BULLET.fullmatch(line):
        depth, mark = len(found[1]) // 2, f"{found[2]}." if found[2] else "•"
        return (
            f'<div class="item" style="margin-left:{depth * 18}px"><span>{mark}</span>'
            f"<span>{_spans(found[3])}</span></div>"
        )
    return f'<div class="line">{_spans(line) or "&nbsp;"}</div>'


def _spans(text: str) -> str:
    kept: list[str] = []

    def keep(shown: str) -> str:
        kept.append(shown)
        return f"\x00{len(kept) - 1}\x00"

    def code(m: re.Match[str]) -> str:
        return keep(f"<code>{html.escape(m[2].strip())}</code>")

    text = re.sub(r"(?<!\\)(`+)(.+?)(?<!`)\1(?!`)", code, text)
    text = re.sub(r"\\([\\`*_~|>#\[\]()+.!-])", lambda m: keep(html.escape(m[1])), text)
    text = re.sub(
        r"\[([^\]]+)\]\((https?:[^)]+)\)", lambda m: keep(f"<a>{html.escape(m[1])}</a>"), text
    )
    text = re.sub(r"https?://[^\s<>]+", lambda m: keep(f"<a>{html.escape(m[0])}</a>"), text)
    text = re.sub(r"<@(\d+)>", lambda m: keep("<a>@Swarm</a>"), text)
    text = html.escape(text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"__(.+?)__", r"<u>\1</u>", text)
    text = re.sub(r"~~(.+?)~~", r"<s>\1</s>", text)
    text = re.sub(r"(?<!\w)\*(?=\S)(.+?)(?<=\S)\*(?!\w)", r"<i>\1</i>", text)
    text = re.sub(r"(?<!\w)_(?=\S)(.+?)(?<=\S)_(?!\w)", r"<i>\1</i>", text)
    return re.sub(r"\x00(\d+)\x00", lambda m: kept[int(m[1])], text)
