"""What a foreign MCP server answered, made into a tool's result: bounded, fenced, and of mixed credibility (MCP-3)."""

import base64
import binascii
import datetime as dt
import json
from dataclasses import dataclass, field
from typing import Any

from agent_core.tools.series import dump
from agent_core.tools.spec import Artifact, Credibility, ToolFailure, ToolOutput
from agent_core.tools.untrusted import NOTICE, fenced, one_line

TEXT_CHARS = 6_000  # of one answer; with its head it stays in the row (EVT-6)
ERROR_CHARS = 1_500
IMAGES = 4
IMAGE_BYTES = 5 * 2**20
# A picture is what its first bytes say, whatever the server calls it.
_PICTURES = {
    b"\x89PNG\r\n\x1a\n": ("png", "image/png"),
    b"\xff\xd8\xff": ("jpg", "image/jpeg"),
    b"GIF8": ("gif", "image/gif"),
}
Reply = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose answer it is: a tool by its own name, of which server, believed how far."""

    server: str
    tool: str
    credibility: Credibility = "mixed"


@dataclass(slots=True)
class _Parts:
    """`left`: characters that may still come; `cut`: how many were left out."""

    texts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pictures: list[Artifact] = field(default_factory=list)
    left: int = TEXT_CHARS
    cut: int = 0

    def text(self, text: str) -> None:
        self.texts.append(text[: self.left])
        self.cut += max(len(text) - self.left, 0)
        self.left = max(self.left - len(text), 0)


def output_of(origin: Origin, reply: Reply, now: dt.datetime) -> ToolOutput:
    """The result, as `tools/call` of the protocol has it in JSON. Raises ToolFailure for an error of the server's.

    Bounded, but some milliseconds of work for megabytes: use a thread for those.
    """
    parts = _Parts()
    for block in reply.get("content") or ():
        _take(parts, block, origin)
    structured = reply.get("structuredContent")
    if structured is not None and not any(t.lstrip()[:1] in ("{", "[") for t in parts.texts):
        # servers that give both say the same twice, for clients that know text only
        parts.text(json.dumps(structured, ensure_ascii=False))
    text = "\n".join(t for t in parts.texts if t)
    if reply.get("isError"):
        said = fenced(text[:ERROR_CHARS]) if text else "It says no more."
        raise ToolFailure(f"The MCP server {origin.server} reports an error. {NOTICE}\n{said}")
    if parts.cut:
        parts.notes.append(f"cut: {parts.cut} more characters; ask the tool for less at a time")
    if not text and not parts.pictures:
        parts.notes.append("the answer is empty")
    fields: dict[str, object] = {
        "source": f"MCP server {origin.server}",
        "tool": one_line(origin.tool, 80),
        "fetched_at": now.isoformat(timespec="seconds"),
        "as_of": str(now.date()),
        "credibility": origin.credibility,
        "notice": NOTICE,
        "note": "; ".join(parts.notes),
        "pictures": len(parts.pictures),
        "text": fenced(text),
    }
    first = next((line for line in text.splitlines() if line.strip()), "")
    return ToolOutput(dump(fields), one_line(first, 80), tuple(parts.pictures))


def _take(parts: _Parts, block: object, origin: Origin) -> None:
    if not isinstance(block, dict):
        return
    kind = block.get("type")
    if kind == "text":
        parts.text(str(block.get("text") or ""))
    elif kind == "image":
        _picture(parts, block, origin)
    elif kind == "resource" and isinstance(inner := block.get("resource"), dict):
        if isinstance(words := inner.get("text"), str):
            parts.text(words)
        else:
            parts.notes.append(f"a file was left out: {one_line(str(inner.get('uri')), 200)}")
    elif kind == "resource_link":
        parts.text(f"{block.get('name') or ''}: {block.get('uri') or ''}")
    else:
        parts.notes.append(f"{one_line(str(kind), 40)} is not read here and was left out")


def _picture(parts: _Parts, block: Reply, origin: Origin) -> None:
    encoded = str(block.get("data") or "")
    if len(parts.pictures) == IMAGES or len(encoded) > IMAGE_BYTES * 4 // 3:
        parts.notes.append("a picture was left out: too many, or larger than 5 MB")
        return
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    kind = next((kind for mark, kind in _PICTURES.items() if data.startswith(mark)), None)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = ("webp", "image/webp")
    if kind is None:
        parts.notes.append("a picture was left out: it is no PNG, JPEG, GIF or WebP")
        return
    ending, media_type = kind
    name = f"{origin.server}-{len(parts.pictures) + 1}.{ending}"
    parts.pictures.append(Artifact(name, media_type, data, one_line(origin.tool, 80)))
