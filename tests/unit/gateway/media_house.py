"""A channel that hands files over, pictures to send, and a model that may be blind: for tests of what files become."""

import asyncio
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from agent_core.models.scripted import INFO, ScriptedModel
from agent_core.ports import Heard, Price
from agent_core.types import Usage
from channels.base import Mark
from channels.errors import Refused
from channels.types import Address, Attachment
from tests.house import House
from tests.loopback import Loopback


class Files(Loopback):
    """A loopback channel whose attachments can be fetched. `fetched` counts; `broken` refs raise; `gate` holds up."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.files: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.broken: dict[str, Exception] = {}
        self.gate: asyncio.Event | None = None
        self.marks: list[tuple[str, Mark | None]] = []

    def put(self, name: str, media_type: str, data: bytes) -> Attachment:
        """A file that somebody is about to send."""
        ref = f"ref-{len(self.files)}-{name}"
        self.files[ref] = data
        return Attachment(name, media_type, ref=ref, size=len(data))

    async def download(self, attachment: Attachment, limit: int) -> bytes:
        assert attachment.ref is not None
        self.fetched.append(attachment.ref)
        if self.gate is not None:
            await self.gate.wait()
        if error := self.broken.get(attachment.ref):
            raise error
        data = self.files[attachment.ref]
        if len(data) > limit or (attachment.size or 0) > limit:
            raise Refused(f"larger than {limit}")
        return data

    async def react(self, address: Address, message_id: str, mark: Mark | None) -> None:
        self.marks.append((message_id, mark))


class Ears:
    """A Transcriber that hears what it is told to, for `usd` dollars (None: nobody knows)."""

    name = "scripted/ears"

    def __init__(self, hears: Callable[[bytes], str], usd: float | None = None) -> None:
        self.hears = hears
        self.usd = usd
        self.calls = 0

    async def price(self) -> Price | None:
        return None if self.usd is None else Price(1.0, 1.0, 1.0, 1.0)

    async def transcribe(self, data: bytes, name: str, media_type: str) -> Heard:
        self.calls += 1
        return Heard(self.hears(data), Usage(100, 10, usd=self.usd, usd_uncached=self.usd))

    async def close(self) -> None:
        return


def blind(*answers: str) -> ScriptedModel:
    """A model that cannot see."""
    return ScriptedModel(answers, info=replace(INFO, name="scripted/blind", vision=False))


def drawn(width: int = 40, height: int = 30, form: str = "PNG", **more: Any) -> bytes:
    """A picture."""
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (width, height), (200, 30, 30)).save(out, form, **more)
    return out.getvalue()


def media_house(db: Any, script: Any, **more: Any) -> tuple[House, Files]:
    """A house on such a channel."""
    channel = Files()
    ears = more.pop("ears", None)
    house = House(db, script, channel=channel, **more)
    house.turns.transcriber = lambda: ears
    house.turns.__post_init__()
    return house, channel
