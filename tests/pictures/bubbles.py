"""What a picture is made of: the visible messages of one place, each as HTML."""

import base64
import html
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Picked:
    """A file under a message."""

    name: str
    media_type: str
    data: bytes

    def html(self) -> str:
        """A picture, or a card with name and size."""
        if self.media_type.startswith("image/"):
            source = f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"
            return f'<img class="photo" src="{source}" alt="{html.escape(self.name)}">'
        size = f"{len(self.data) / 1024:.1f} KB"
        return f'<div class="file">📄 <b>{html.escape(self.name)}</b> <span>{size}</span></div>'


@dataclass(frozen=True, slots=True)
class Key:
    """A button. `style`: plain, primary or danger."""

    label: str
    style: str = "plain"


@dataclass(frozen=True, slots=True)
class Bubble:
    """One message. `body` is HTML; `rows` are its buttons, row by row; `note` stands small beside it."""

    by_bot: bool
    body: str
    files: tuple[Picked, ...] = ()
    rows: tuple[tuple[Key, ...], ...] = ()
    note: str = ""


@dataclass(slots=True)
class Scene:
    """One place at one moment."""

    platform: str
    name: str
    title: str
    bubbles: list[Bubble] = field(default_factory=list)
