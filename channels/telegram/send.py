"""Sending one reply: its parts in order, going on where its receipt says."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from telegram import (
    Bot,
    InlineKeyboardMarkup,
    InputFile,
    InputMediaDocument,
    InputMediaPhoto,
    LinkPreviewOptions,
    ReplyParameters,
)

from channels.base import Receipt
from channels.errors import Refused
from channels.markdown import to_telegram
from channels.telegram.calls import Calls
from channels.telegram.errors import DELETE_GONE, EDIT_GONE, NOT_MODIFIED, UNPARSED, says
from channels.telegram.render import captions, keyboard, parts, plain
from channels.types import Address, Attachment, Button, Outbound

log = logging.getLogger(__name__)

NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
PHOTO_TYPES = {"image/png", "image/jpeg", "image/webp"}
PHOTO_BYTES, FILE_BYTES = 10 * 2**20, 50 * 2**20  # Bot API: sendPhoto, sendDocument
BAD_PHOTO = ("image_process_failed", "photo_invalid_dimensions", "wrong type of the web page")
T = TypeVar("T")
# One attempt with this text and parse mode.
Attempt = Callable[[str, str | None], Awaitable[T]]


@dataclass(frozen=True, slots=True)
class Part:
    """One message: Markdown, or a file with its caption; the buttons stand under the last one."""

    text: str
    file: Attachment | None = None
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how the messages of one reply go."""

    address: Address
    reply: ReplyParameters | None = None
    silent: bool = False

    @property
    def thread(self) -> int | None:
        """message_thread_id."""
        return int(self.address.thread) if self.address.thread else None


def place_of(address: Address, reply_to: str | None, silent: bool = False) -> Place:
    """A place; in groups the reply points to what it answers, if that still exists."""
    reply = None
    if reply_to is not None and int(address.chat) < 0:
        reply = ReplyParameters(int(reply_to), allow_sending_without_reply=True)
    return Place(address, reply, silent)


def plan(out: Outbound) -> list[Part]:
    """The messages of a reply, in order."""
    found = [Part(text) for text in parts(out.text)]
    for file in out.attachments:
        under, *rest = captions(file.caption) or [""]
        found += [Part(under, file), *map(Part, rest)]
    if found and out.buttons:
        found[-1] = Part(found[-1].text, found[-1].file, out.buttons)
    return found


class Sender:
    """Sends replies through the calls of a channel."""

    def __init__(self, bot: Bot, calls: Calls) -> None:
        self._bot = bot
        self._calls = calls

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        """Send what the receipt does not have yet. Raises ChannelError; see channels.base.Channel.send."""
        chat = out.address.chat
        todo = plan(out)
        for number, part in enumerate(todo):
            if number < receipt.final:
                continue
            place = place_of(out.address, out.reply_to if number == 0 else None, out.silent)
            last = number + 1 == len(todo) >= len(receipt.ids)
            if number < len(receipt.ids):
                await self._finish(place, int(receipt.ids[number]), part)
                await receipt.settled(number, last=last)
            else:
                message = await self._new(place, part)
                await receipt.shown(str(message), final=True, last=last)
        for number in range(max(len(todo), receipt.final), len(receipt.ids)):
            await self._delete(chat, int(receipt.ids[number]))
            await receipt.settled(number, last=number + 1 == len(receipt.ids))

    async def text(
        self, place: Place, source: str, mode: str | None, keys: InlineKeyboardMarkup | None
    ) -> int:
        """One new message; returns its id. Raises ChannelError."""
        message = await self._calls.into(
            place.address.chat,
            lambda chat: self._bot.send_message(
                chat,
                source,
                parse_mode=mode,
                message_thread_id=place.thread,
                reply_markup=keys,
                reply_parameters=place.reply,
                disable_notification=place.silent or None,
                link_preview_options=NO_PREVIEW,
            ),
        )
        return message.message_id

    async def edit(
        self,
        chat: str,
        message: int,
        source: str,
        mode: str | None,
        keys: InlineKeyboardMarkup | None,
    ) -> bool:
        """New text for a message; False when it is gone. Raises ChannelError."""
        return await self._edited(
            self._calls.into(
                chat,
                lambda chat_id: self._bot.edit_message_text(
                    source,
                    chat_id,
                    message,
                    parse_mode=mode,
                    reply_markup=keys,
                    link_preview_options=NO_PREVIEW,
                ),
            )
        )

    # One part ----------------------------------------------------------------------------------------------------

    async def _new(self, place: Place, part: Part) -> int:
        keys = keyboard(part.buttons)
        if part.file is None:
            return await in_html_or_plain(
                part.text, lambda text, mode: self.text(place, text, mode, keys)
            )
        file = part.file
        if is_photo(file):
            try:
                return await in_html_or_plain(
                    part.text,
                    lambda text, mode: self._upload(place, file, text, mode, keys, photo=True),
                )
            except Refused as e:
                if not says(e, *BAD_PHOTO):
                    raise
        return await in_html_or_plain(
            part.text, lambda text, mode: self._upload(place, file, text, mode, keys, photo=False)
        )

    async def _finish(self, place: Place, message: int, part: Part) -> None:
        """Turn a preview into the part. Only one that is gone is sent anew; a refused edit never is."""
        chat, keys = place.address.chat, keyboard(part.buttons)

        async def attempt(text: str, mode: str | None) -> bool:
            if part.file is None:
                return await self.edit(chat, message, text, mode, keys)
            return await self._media(chat, message, part.file, text, mode, keys)

        if not await in_html_or_plain(part.text, attempt):
            log.info("a preview in %s is gone; its text is sent as a new message", place.address)
            await self._new(place, part)

    async def _upload(
        self,
        place: Place,
        file: Attachment,
        caption: str,
        mode: str | None,
        keys: InlineKeyboardMarkup | None,
        *,
        photo: bool,
    ) -> int:
        """A file as a message of its own; a photo is shown large, anything else is a document."""
        upload = upload_of(file)
        send = self._bot.send_photo if photo else self._bot.send_document
        message = await self._calls.into(
            place.address.chat,
            lambda chat: send(
                chat,
                upload,
                caption=caption or None,
                parse_mode=mode,
                message_thread_id=place.thread,
                reply_markup=keys,
                reply_parameters=place.reply,
                disable_notification=place.silent or None,
            ),
        )
        return message.message_id

    async def _media(
        self,
        chat: str,
        message: int,
        file: Attachment,
        caption: str,
        mode: str | None,
        keys: InlineKeyboardMarkup | None,
    ) -> bool:
        kind = InputMediaPhoto if is_photo(file) else InputMediaDocument
        media = kind(upload_of(file), caption=caption or None, parse_mode=mode)
        return await self._edited(
            self._calls.into(
                chat,
                lambda chat_id: self._bot.edit_message_media(
                    media, chat_id, message, reply_markup=keys
                ),
            )
        )

    async def _edited(self, edit: Awaitable[object]) -> bool:
        try:
            await edit
        except Refused as e:
            if says(e, *EDIT_GONE):
                return False
            if not says(e, NOT_MODIFIED):
                raise
        return True

    async def _delete(self, chat: str, message: int) -> None:
        try:
            await self._calls.into(chat, lambda chat_id: self._bot.delete_message(chat_id, message))
        except Refused as e:
            if not says(e, *DELETE_GONE):
                raise


async def in_html_or_plain(markdown: str, attempt: Attempt[T]) -> T:
    """Try the Markdown as HTML; if the platform cannot parse it, as it stands, once. Raises ChannelError."""
    source = to_telegram(markdown)
    if markdown and not plain(source).strip():  # nothing would be seen of it: a code of one space
        return await attempt(markdown, None)
    try:
        return await attempt(source, "HTML")
    except Refused as e:
        if not says(e, *UNPARSED):
            raise
        log.warning("Telegram cannot parse a text of %d characters: sent plain", len(markdown))
        return await attempt(markdown, None)


def is_photo(file: Attachment) -> bool:
    """Whether it is shown as a picture."""
    return file.media_type in PHOTO_TYPES and len(file.data or b"") <= PHOTO_BYTES


def upload_of(file: Attachment) -> InputFile:
    """The bytes with their name. Raises Refused when there are none, or too many."""
    if not file.data:
        raise Refused(f"the file {file.name} is empty")
    if len(file.data) > FILE_BYTES:
        raise Refused(f"the file {file.name} is larger than Telegram's 50 MB")
    return InputFile(file.data, filename=file.name, attach=True)
