"""Files that came along with a message: fetched when its turn begins, and made into what a model can use.

Pictures become Image blocks, text files quoted words, voice messages the person's words; the rest is named.
All bytes are stored under the turn's principal. Nothing is written here: what a message's files became goes into the
turn's first row, in one commit with the blobs, so a turn that is resumed fetches nothing again, and one that was killed
before fetches anew.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from agent_core.errors import ModelError
from agent_core.ports import ModelInfo, NewBlob, Transcriber
from agent_core.storage.statements import blob_id
from agent_core.tools.document_text import is_readable
from agent_core.types import Block, Image, Text, Usage
from channels.base import CanDownload, Channel
from channels.errors import Refused, UnknownChannel
from channels.types import Address, Attachment
from gateway.inbound import documents, pictures
from gateway.inbound.inbox import Item
from gateway.people.identity import Language
from gateway.texts.texts import say

log = logging.getLogger(__name__)
MAX_FILES = 10
MAX_BYTES = 20 * 2**20  # what Telegram lets a bot fetch; the smallest limit of the platforms
FETCH_S = 60.0  # for one file
AT_ONCE = 3  # files in memory at a time
READ_LATER = "read_document reads it, where you have that tool"
UNREAD = "its content cannot be read here"
_MEGA = 2**20
MayPay = Callable[[str, bool], Awaitable[bool]]  # for a model by its name, whose price is known


async def nobody_pays(model: str, priced: bool) -> bool:
    """Where nothing is limited."""
    del model, priced
    return True


@dataclass(slots=True)
class Found:
    """What one file became.

    `line` names it to the model; `words` are spoken; `problem` is a code of gateway.texts.texts.

    `usage` is what it took to hear the words.
    """

    line: str
    blocks: tuple[Block, ...] = ()
    words: str = ""
    blob: NewBlob | None = None
    problem: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Brought:
    """What the files of a message became.

    `item` is the message with spoken words in its text and a line for each file; `blocks` follow its words in the row.
    `told` is for the person, empty when all went well. `useless`: the model has nothing to go by. `usage`: what `ears`
    took to hear voice messages, None where there were none.
    """

    item: Item
    blocks: tuple[Block, ...] = ()
    blobs: tuple[NewBlob, ...] = ()
    told: str = ""
    useless: bool = False
    usage: Usage | None = None
    ears: str = ""

    @property
    def meta(self) -> dict[str, object]:
        """For the row: which blobs belong to it."""
        return {"files": [[b.id, b.name, b.media_type] for b in self.blobs]} if self.blobs else {}


@dataclass(slots=True)
class Media:
    """Fetches and reads files.

    Args:
        channel: the channel of an address. Raises UnknownChannel.
        transcriber: the one of the settings, or None.
    """

    channel: Callable[[Address], Channel]
    transcriber: Callable[[], Transcriber | None] = lambda: None
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def bring(
        self,
        item: Item,
        owner: str,
        address: Address,
        language: Language,
        model: ModelInfo,
        may_pay: MayPay = nobody_pays,
    ) -> Brought:
        """Fetch and read all files of a message for `owner`, the principal. What failed is said in the result.

        `may_pay` says whether the pots of the turn have something left for a call of a model.
        """
        files = item.attachments[:MAX_FILES]
        found = await asyncio.gather(*(self._one(file, owner, address, may_pay) for file in files))
        ears = self.transcriber()
        brought = _together(item, files, found, language, model)
        return replace(brought, ears="" if ears is None else ears.name)

    async def _one(self, file: Attachment, owner: str, address: Address, may_pay: MayPay) -> Found:
        line = _line(file)
        if file.media_type.startswith("video/"):
            return Found(f"{line}: it cannot be seen here")
        if is_spoken(file) and self.transcriber() is None:
            return Found(f"{line}: it cannot be listened to here", problem="voice_deaf")
        async with self._slots:
            try:
                async with asyncio.timeout(FETCH_S):
                    data = await self._fetch(file, address)
            except Exception as e:  # noqa: BLE001 - one file, or a channel's fault, must not stop the turn
                large = isinstance(e, Refused) and (file.size or 0) > MAX_BYTES
                log.warning("file_not_fetched", extra={"person": owner, "reason": repr(e)})
                why = "it is too large" if large else "it could not be fetched"
                return Found(f"{line}: {why}", problem="file_large" if large else "file_failed")
            return await self._read(replace(file, data=data, size=len(data)), owner, may_pay)

    async def _fetch(self, file: Attachment, address: Address) -> bytes:
        channel = self.channel(address)
        if not isinstance(channel, CanDownload):
            raise UnknownChannel(f"{address.channel} hands no files over")
        return await channel.download(file, MAX_BYTES)

    async def _read(self, file: Attachment, owner: str, may_pay: MayPay) -> Found:
        data = file.data or b""
        line = _line(file)
        blob = _blob(owner, file, data)
        if pictures.is_picture(file.name, file.media_type):
            try:
                picture = await asyncio.to_thread(pictures.prepare, data)
            except pictures.NoPicture as e:
                log.info("picture_broken", extra={"person": owner, "reason": str(e)})
                return Found(f"{line}: it cannot be opened", problem="picture_broken")
            kept = _blob(owner, replace(file, media_type=picture.media_type), picture.data)
            return Found(line, (Image(kept.id, kept.media_type),), blob=kept)
        if is_spoken(file):
            return await self._listen(file, data, blob, may_pay)
        if documents.is_text(file.name, file.media_type):
            text = documents.read(data)
            if text is not None and text.strip():
                return Found(line, (Text(text),), blob=blob)
            return Found(f"{line}: {'it is empty' if text is not None else 'no text'}", blob=blob)
        said = READ_LATER if is_readable(file.name, file.media_type) else UNREAD
        return Found(f"{line}: {said}", blob=blob)

    async def _listen(self, file: Attachment, data: bytes, blob: NewBlob, may_pay: MayPay) -> Found:
        line = _line(file)
        transcriber = self.transcriber()
        if transcriber is None:
            return Found(f"{line}: it cannot be listened to here", problem="voice_deaf")
        if not await may_pay(transcriber.name, await transcriber.price() is not None):
            log.info("voice_lacks_room", extra={"model": transcriber.name})
            return Found(f"{line}: it was not transcribed", blob=blob, problem="voice_unpaid")
        try:
            heard = await transcriber.transcribe(data, file.name, file.media_type)
        except ModelError as e:
            log.warning("voice_not_heard", extra={"reason": str(e)})
            return Found(f"{line}: it could not be transcribed", blob=blob, problem="voice_failed")
        if not heard.words:
            line = f"{line}: no words are heard in it"
            return Found(line, blob=blob, problem="voice_empty", usage=heard.usage)
        return Found(f"{line}: transcribed above", words=heard.words, blob=blob, usage=heard.usage)


def is_spoken(file: Attachment) -> bool:
    """Whether it is to be listened to."""
    return file.media_type.startswith("audio/")


def _blob(owner: str, file: Attachment, data: bytes) -> NewBlob:
    return NewBlob(blob_id(owner, data), file.name, file.media_type, data)


def _line(file: Attachment) -> str:
    """Name, type and size on one line. A name is data: it must not look like words of ours."""
    name = re.sub(r"[\s\[\]`]+", " ", file.name).strip()[:120] or "file"
    if file.size is None:
        return f"{name} ({file.media_type})"
    size = f"{file.size / _MEGA:.1f} MB" if file.size >= _MEGA // 10 else f"{file.size:,} bytes"
    return f"{name} ({file.media_type}, {size})"


def _together(
    item: Item,
    files: Sequence[Attachment],
    found: Sequence[Found],
    language: Language,
    model: ModelInfo,
) -> Brought:
    lines = [one.line for one in found]
    lines += [f"{_line(file)}: not taken" for file in item.attachments[MAX_FILES:]]
    spoken = [
        f"[voice message, transcribed by a machine]\n{one.words}" for one in found if one.words
    ]
    blocks = _blocks(files, found, model)
    text = "\n".join([*([item.text] if item.text else []), *spoken])
    blind = not model.vision and any(isinstance(block, Image) for block in blocks)
    seen = [b for b in blocks if model.vision or not isinstance(b, Image)]
    used = [one.usage for one in found if one.usage is not None]
    return Brought(
        item=replace(item, text=text, files=tuple(lines)),
        blocks=blocks,
        blobs=tuple({one.blob.id: one.blob for one in found if one.blob}.values()),
        told="\n".join(_problems(item, files, found, language, model if blind else None)),
        useless=not text and not seen and (blind or any(one.problem for one in found)),
        usage=sum(used, Usage()) if used else None,
    )


def _blocks(
    files: Sequence[Attachment], found: Sequence[Found], model: ModelInfo
) -> tuple[Block, ...]:
    """Quoted texts first, then pictures. All texts together take at most half of the model's window.

    A token has at least two bytes by our estimate (TOK-2), so a window's number of tokens is that many bytes.
    """
    left = min(documents.MAX_BYTES, model.context_window)
    texts: list[Block] = []
    for file, one in zip(files, found, strict=True):
        for block in one.blocks:
            if isinstance(block, Text):
                name = re.sub(r"[\s\[\]`]+", " ", file.name)[:120]
                texts.append(Text(documents.quoted(name, block.text, left)))
                left = max(0, left - len(block.text.encode("utf-8", "replace")))
    images = [b for one in found for b in one.blocks if isinstance(b, Image)]
    return (*texts, *images)


def _problems(
    item: Item,
    files: Sequence[Attachment],
    found: Sequence[Found],
    language: Language,
    blind: ModelInfo | None,
) -> list[str]:
    said = [
        say(one.problem, language, name=file.name, limit=MAX_BYTES // _MEGA)
        for file, one in zip(files, found, strict=True)
        if one.problem
    ]
    if len(item.attachments) > MAX_FILES:
        said.append(say("files_many", language, limit=MAX_FILES))
    if blind is not None:
        said.append(say("picture_blind", language, model=blind.name))
    return list(dict.fromkeys(said))
