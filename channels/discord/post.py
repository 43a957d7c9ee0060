"""The bodies of messages: what Discord is sent for a part of a reply."""

import io
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import discord
from discord.http import MultipartParameters

from channels.discord.components import keyboard
from channels.discord.render import parts
from channels.errors import Refused
from channels.types import Attachment, Button, Outbound

# Ten files and, where nobody has boosted the server, 10 MB a request.
FILES, REQUEST_BYTES = 10, 10 * 10**6
ALT_TEXT = 1024
SUPPRESS_EMBEDS, SILENT = 1 << 2, 1 << 12
NO_MENTIONS = {"parse": [], "replied_user": False}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """One message: text in Discord's Markdown, files, and the buttons under the last one."""

    text: str
    files: tuple[Attachment, ...] = ()
    buttons: tuple[Button, ...] = ()


def plan(out: Outbound) -> list[Part]:
    """The messages of a reply, in order. Files stand under the last text; one with a caption under its own."""
    found = [Part(text) for text in parts(out.text)]
    fresh = False  # the last part may take files
    if found:
        fresh = True
    for file in out.attachments:
        caption = parts(file.caption)
        if caption:
            found += map(Part, caption)
        elif not (fresh and _has_room(found[-1], file)):
            found.append(Part(""))
        last = found[-1]
        found[-1] = Part(last.text, (*last.files, file))
        fresh = not caption
    if found and out.buttons:
        found[-1] = Part(found[-1].text, found[-1].files, out.buttons)
    return found


def _has_room(part: Part, file: Attachment) -> bool:
    """A file that may be too large for the server never takes a text or other files with it."""
    total = sum(len(f.data or b"") for f in (*part.files, file))
    return len(part.files) < FILES and total <= REQUEST_BYTES


def nonce_of(out: Outbound, number: int, part: Part) -> str:
    """What makes a repeated send one message: the same for each try of one part. At most 25 characters.

    Discord remembers a nonce for some minutes.
    """
    if not out.id:
        return secrets.token_hex(12)
    words = "\0".join(
        [out.id, str(out.address), str(number), part.text, *(f.name for f in part.files)]
    )
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def body_of(part: Part) -> Json:
    """What new and edited messages have in common. An edit takes away what a preview showed besides."""
    return {
        "content": part.text,
        "embeds": [],
        "components": keyboard(part.buttons),
        "allowed_mentions": NO_MENTIONS,
        "flags": SUPPRESS_EMBEDS,
    }


def with_files(body: Json, files: Sequence[Attachment]) -> MultipartParameters:
    """The request. Raises Refused for a file without content."""
    if not files:
        return MultipartParameters(payload=body, multipart=None, files=None)
    uploads = [_upload(file) for file in files]
    about = [
        {"id": number, "filename": upload.filename, **_alt(file)}
        for number, (upload, file) in enumerate(zip(uploads, files, strict=True))
    ]
    form: list[Json] = [
        {"name": "payload_json", "value": json.dumps({**body, "attachments": about})}
    ]
    form += [
        {
            "name": f"files[{number}]",
            "value": upload.fp,
            "filename": upload.filename,
            "content_type": file.media_type or "application/octet-stream",
        }
        for number, (upload, file) in enumerate(zip(uploads, files, strict=True))
    ]
    return MultipartParameters(payload=None, multipart=form, files=uploads)


def _upload(file: Attachment) -> discord.File:
    if not file.data:
        raise Refused(f"the file {file.name} is empty")
    return discord.File(io.BytesIO(file.data), filename=file.name)


def _alt(file: Attachment) -> Json:
    return {"description": file.caption[:ALT_TEXT]} if file.caption else {}
