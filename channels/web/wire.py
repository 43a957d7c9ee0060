"""The JSON that the page reads: sessions, messages, previews."""

import base64
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from channels.types import Attachment, Button, Outbound, Preview, Step, without_dialogs
from channels.web.host import FileItem, HistoryItem, SessionItem

Json = dict[str, Any]


def dumps(value: object) -> str:
    """Compact JSON that always encodes: half a surrogate pair becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()


def session_json(item: SessionItem) -> Json:
    """A line of the session list."""
    return {"id": item.id, "title": item.title, "updated_at": item.updated_at.isoformat()}


def button_json(buttons: Sequence[Button]) -> list[Json]:
    """Buttons in order."""
    return [
        {"label": b.label, "data": b.data, "style": b.style} | ({"asks": True} if b.form else {})
        for b in without_dialogs(buttons)
    ]


def step_json(steps: Sequence[Step]) -> list[Json]:
    """Steps in order."""
    return [
        {
            "id": s.id,
            "label": s.label,
            "state": s.state,
            "detail": s.detail,
            "agent": s.agent,
            "parent": s.parent,
        }
        for s in steps
    ]


def file_json(item: FileItem) -> Json:
    """A stored file and where it is served."""
    url = f"/chat/files/{quote(item.ref, safe='')}"
    return {
        "url": url,
        "dark": f"{url}?theme=dark" if item.media_type == "image/png" else None,
        "name": item.name,
        "media_type": item.media_type,
        "caption": item.caption,
        "ref": item.ref,
        "size": item.size,
    }


def _attachment_json(attachment: Attachment) -> Json:
    if attachment.ref is not None:
        name, media_type = attachment.name, attachment.media_type
        return file_json(FileItem(attachment.ref, name, media_type, attachment.caption))
    data = base64.b64encode(attachment.data or b"").decode()
    return {
        "url": f"data:{attachment.media_type};base64,{data}",
        "dark": None,
        "name": attachment.name,
        "media_type": attachment.media_type,
        "caption": attachment.caption,
    }


def history_json(item: HistoryItem) -> Json:
    """A message of the history, or one that a person has just sent."""
    return {
        "id": item.id,
        "role": item.role,
        "text": item.text,
        "at": item.at.isoformat(),
        "files": [file_json(f) for f in item.files],
        "buttons": button_json(item.buttons),
        "steps": step_json(item.steps),
        "again": item.again,
    }


def outbound_json(message_id: str, at: str, out: Outbound, steps: Sequence[Step]) -> Json:
    """A message that was just sent, in the same form."""
    return {
        "id": message_id,
        "role": "assistant",
        "text": out.text,
        "at": at,
        "files": [_attachment_json(a) for a in out.attachments],
        "buttons": button_json(out.buttons),
        "steps": step_json(steps),
    }


class PreviewWriter:
    """Writes the previews of one client: growing texts as what was added, other parts only when they changed.

    So the traffic of a reply grows with its length, not with its square. `text`/`thinking` replace, `text_add`/
    `thinking_add` append; `status`, `steps` and `buttons` replace.
    """

    def __init__(self) -> None:
        self._id = ""
        self._last = Preview()

    def write(self, live_id: str, preview: Preview, closed: bool) -> Json:
        """What has to be told so that the client shows `preview`."""
        first = live_id != self._id
        last = Preview() if first else self._last
        self._id, self._last = live_id, preview
        data: Json = {"id": live_id, "closed": closed}
        for name, old, new in (
            ("text", last.text, preview.text),
            ("thinking", last.thinking, preview.thinking),
        ):
            if new.startswith(old) and not first:
                if len(new) > len(old):
                    data[f"{name}_add"] = new[len(old) :]
            else:
                data[name] = new
        if first or last.status != preview.status:
            data["status"] = preview.status
        if first or last.steps != preview.steps:
            data["steps"] = step_json(preview.steps)
        if first or last.buttons != preview.buttons:
            data["buttons"] = button_json(preview.buttons)
        return data
