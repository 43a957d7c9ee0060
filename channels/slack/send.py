"""Sending one reply: its parts in order, going on where its receipt says, and looking first where that is in doubt."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from channels.base import Receipt
from channels.errors import Ambiguous, Refused
from channels.slack.calls import Calls
from channels.slack.dialect import to_mrkdwn
from channels.slack.errors import UNFIT, code_of
from channels.slack.files import Files
from channels.slack.look import (
    SKEW,
    Looker,
    Message,
    id_of,
    metadata,
    part_id,
    preview_id,
)
from channels.slack.render import Content, content, has_table, parts, unadorned
from channels.split import split
from channels.types import Address, Attachment, Button, Outbound

log = logging.getLogger(__name__)

CAPTION = 2700
LONG = 1500
REMEMBERED = 1000
T = TypeVar("T")
Attempt = Callable[[Content], Awaitable[T]]
FILE = "F"  # file ids begin with it; message ids are time stamps


@dataclass(frozen=True, slots=True)
class Part:
    """One message: Markdown with buttons under it, or a file with its caption."""

    text: str
    file: Attachment | None = None
    buttons: tuple[Button, ...] = ()


def plan(out: Outbound) -> list[Part]:
    """The messages of a reply, in order. Files carry no buttons: these stand under the last text."""
    found = [Part(text) for text in parts(out.text)]
    if out.buttons:
        last = found.pop().text if found else ""
        found.append(Part(last, buttons=out.buttons))
    for file in out.attachments:
        under, *rest = split(file.caption, CAPTION) or [""]
        found += [Part(under, file), *map(Part, rest)]
    return found


class Sender:
    """Sends replies through the calls of a channel.

    Args:
        now: Unix seconds.
    """

    def __init__(
        self, calls: Calls, files: Files, looker: Looker, now: Callable[[], float] = time.time
    ) -> None:
        self._calls = calls
        self._files = files
        self._looker = looker
        self._now = now
        self._tables = True
        # When a part, or the preview at a place, was first tried without our learning how it went.
        self._doubts: OrderedDict[str, float] = OrderedDict()
        self._uploads: OrderedDict[str, str] = OrderedDict()  # part: file id

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        """Send what the receipt does not have yet. Raises ChannelError; see channels.base.Channel.send."""
        todo = plan(out)
        if todo and not receipt.ids:
            await self._adopt(out, receipt, todo[0])
        for number, part in enumerate(todo):
            if number < receipt.final:
                continue
            own = part_id(out, number, part.text)
            last = number + 1 == len(todo) >= len(receipt.ids)
            if number < len(receipt.ids):
                await self._finish(out, receipt, number, part, own)
                await receipt.settled(number, last=last)
            else:
                message = await self._new(out, part, own, receipt)
                await receipt.shown(message, final=True, last=last)
        for number in range(max(len(todo), receipt.final), len(receipt.ids)):
            await self.delete(out.address.chat, receipt.ids[number])
            await receipt.settled(number, last=number + 1 == len(receipt.ids))

    async def post(self, address: Address, shown: Content, own: str) -> str:
        """One new message; returns its ts. Raises ChannelError."""
        answer = await self._calls.into(
            address.chat,
            "chat.postMessage",
            channel=address.chat,
            thread_ts=address.thread,
            text=shown.text,
            blocks=shown.blocks or None,
            mrkdwn=None if shown.blocks else False,
            unfurl_links=False,
            unfurl_media=False,
            metadata=metadata(own),
        )
        return str(answer["ts"])

    async def update(self, chat: str, ts: str, shown: Content, own: str) -> bool:
        """New content for a message, whose stream is ended; False when it is gone. Raises ChannelError."""
        try:
            await self._update(chat, ts, shown, own)
        except Refused as e:
            if code_of(e) == "message_not_found":
                return False
            if code_of(e) != "streaming_state_conflict":
                raise
            await self.stop_stream(chat, ts)
            await self._update(chat, ts, shown, own)
        return True

    async def _update(self, chat: str, ts: str, shown: Content, own: str) -> None:
        await self._calls.into(
            chat,
            "chat.update",
            channel=chat,
            ts=ts,
            text=shown.text,
            blocks=shown.blocks,  # an empty list takes old ones away
            metadata=metadata(own),
        )

    async def stop_stream(self, chat: str, ts: str) -> None:
        """End a stream; one that is ended already is fine. Raises ChannelError."""
        try:
            await self._calls.into(chat, "chat.stopStream", channel=chat, ts=ts)
        except Refused as e:
            if code_of(e) not in {"message_not_in_streaming_state", "message_not_found"}:
                raise

    async def delete(self, chat: str, message: str) -> None:
        """Take a message or a file away; one that is gone is fine. Raises ChannelError."""
        try:
            if message.startswith(FILE):
                await self._calls.into(chat, "files.delete", file=message)
            else:
                await self._calls.into(chat, "chat.delete", channel=chat, ts=message)
        except Refused as e:
            if code_of(e) not in {"message_not_found", "file_not_found", "file_deleted"}:
                raise

    def doubt(self, own: str) -> None:
        """A message with this id may or may not be there."""
        self._doubts.setdefault(own, self._now())
        while len(self._doubts) > REMEMBERED:
            self._doubts.popitem(last=False)

    # One part ----------------------------------------------------------------------------------------------------

    async def _adopt(self, out: Outbound, receipt: Receipt, first: Part) -> None:
        """Take over a preview that became visible without our learning it."""
        preview = preview_id(out.address, out.reply_to)
        since = self._since(preview, out)
        if since is None or first.file is not None:
            return

        def is_preview(message: Message) -> bool:
            # A stream carries no id before its end; everything else of ours does, or is a file.
            bare = not message.get("files") and not message.get("metadata")
            in_thread = out.address.thread not in {None, message["ts"]}
            return id_of(message) == preview or (bare and in_thread)

        found = await self._looker.find(out.address, is_preview, since)
        self._doubts.pop(preview, None)
        if found is not None:
            log.info("a preview of unknown fate was found in %s", out.address)
            await receipt.shown(found.ts, final=False)

    def _since(self, own: str, out: Outbound) -> float | None:
        """From when on to look; None when there is no doubt."""
        if own in self._doubts:
            return self._doubts[own] - SKEW
        if not (out.again and out.id):
            return None
        try:
            return float(out.reply_to or "")
        except ValueError:
            return 0.0

    async def _new(self, out: Outbound, part: Part, own: str, receipt: Receipt) -> str:
        since = self._since(own, out)
        if since is not None and (found := await self._sent(out, part, own, receipt, since)):
            self._doubts.pop(own, None)
            log.info("a message of unknown fate was found in %s: it is not sent again", out.address)
            return found
        try:
            if part.file is not None:
                return await self._file(out.address, part, part.file, own)
            return await self._fitting(
                part, lambda shown: self.post(out.address, shown, own), out.address
            )
        except Ambiguous:
            self.doubt(own)
            raise

    async def _sent(
        self, out: Outbound, part: Part, own: str, receipt: Receipt, since: float
    ) -> str | None:
        """The id of the message that this part became, if it did."""
        file = part.file
        if file is None:
            found = await self._looker.find(out.address, lambda m: id_of(m) == own, since)
            return found.ts if found else None
        if upload := self._uploads.get(own):
            return upload if await self._files.is_shared(upload, out.address.chat) else None
        before = [ts for ts in receipt.ids if not ts.startswith(FILE)]
        if not before:
            return None
        after = float(before[-1])  # a file behind our own text, of the same name and size

        def is_file(message: Message) -> bool:
            return any(
                (f.get("name"), f.get("size")) == (file.name, len(file.data or b""))
                for f in message.get("files") or ()
            )

        there = await self._looker.find(out.address, is_file, after)
        return there.ts if there else None

    async def _file(self, address: Address, part: Part, file: Attachment, own: str) -> str:
        upload = await self._files.upload(file)
        self._uploads[own] = upload
        while len(self._uploads) > REMEMBERED:
            self._uploads.popitem(last=False)
        await self._files.share(upload, file, address, to_mrkdwn(part.text) if part.text else "")
        self._uploads.pop(own, None)
        return upload

    async def _finish(
        self, out: Outbound, receipt: Receipt, number: int, part: Part, own: str
    ) -> None:
        """Turn a preview into the part. Only one that is gone is sent anew; a refused edit never is."""
        address, message = out.address, receipt.ids[number]
        if part.file is not None:
            await self.delete(address.chat, message)
            await self._new(out, part, own, receipt)
            return
        there = await self._fitting(
            part, lambda shown: self.update(address.chat, message, shown, own), address
        )
        if not there:
            log.info("a preview in %s is gone; its text is sent as a new message", address)
            await self._new(out, part, own, receipt)

    async def _fitting(self, part: Part, attempt: Attempt[T], address: Address) -> T:
        """Try it with blocks; if Slack refuses them, with tables as text; then as it stands. Raises ChannelError."""
        shown = await _content(part, tables=self._tables)
        try:
            return await attempt(shown)
        except Refused as e:
            if code_of(e) not in UNFIT:
                raise
            reason = e
        log.warning("Slack refuses blocks in %s: %s", address, reason)
        if has_table(shown):
            try:
                result = await attempt(await _content(part, tables=False))
            except Refused as e:
                if code_of(e) not in UNFIT:
                    raise
            else:
                self._tables = False  # this workspace does not take them
                return result
        return await attempt(unadorned(part.text, part.buttons))


async def _content(part: Part, *, tables: bool) -> Content:
    """The part as blocks; a long one is rendered in a thread, as it takes some 10 ms a thousand characters."""
    if len(part.text) < LONG:
        return content(part.text, part.buttons, tables=tables)
    return await asyncio.to_thread(content, part.text, part.buttons, tables=tables)
