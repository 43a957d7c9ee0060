"""Sending one reply: its parts in order, going on where its receipt says."""

import logging
from collections.abc import Sequence

from channels.base import Receipt
from channels.discord.calls import Calls
from channels.discord.components import Forms
from channels.discord.errors import ARCHIVED, UNKNOWN_MESSAGE, code
from channels.discord.newest import Newest
from channels.discord.places import Places
from channels.discord.post import SILENT, Json, Part, body_of, nonce_of, plan, with_files
from channels.errors import ChannelError, Gone, Refused
from channels.types import Address, Attachment, Outbound

log = logging.getLogger(__name__)


class Sender:
    """Sends replies through the calls of a channel."""

    def __init__(self, calls: Calls, places: Places, forms: Forms) -> None:
        self._calls = calls
        self._places = places
        self._forms = forms
        # Nonces of sends that may or may not have happened, by what was sent: the next try uses the same.
        self._unsure: Newest[tuple[object, ...], str] = Newest()
        self._left: Newest[tuple[Address, str | None], str] = Newest()

    def may_be_there(self, address: Address, reply_to: str | None, nonce: str) -> None:
        """A preview's message may be visible without our knowing its id: the reply takes its place."""
        self._left[address, reply_to] = nonce

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        """Send what the receipt does not have yet. Raises ChannelError; see channels.base.Channel.send."""
        todo = plan(out)
        if not todo and receipt.final >= len(receipt.ids):
            return
        self._forms.keep(out.buttons)
        channel = await self._places.channel(out.address)
        for number, part in enumerate(todo):
            if number < receipt.final:
                continue
            last = number + 1 == len(todo) >= len(receipt.ids)
            if number < len(receipt.ids):
                await self._finish(out, channel, number, int(receipt.ids[number]), part)
                await receipt.settled(number, last=last)
            else:
                message = await self._new(out, channel, number, part)
                await receipt.shown(str(message), final=True, last=last)
        for number in range(max(len(todo), receipt.final), len(receipt.ids)):
            await self._delete(channel, int(receipt.ids[number]))
            await receipt.settled(number, last=number + 1 == len(receipt.ids))

    async def post(
        self, channel: int, body: Json, nonce: str, files: Sequence[Attachment] = ()
    ) -> int:
        """One new message, or the one that this nonce made before; returns its id. Raises ChannelError."""
        full = {**body, "nonce": nonce, "enforce_nonce": True}
        message = await self._calls.into(
            channel, lambda http: http.send_message(channel, params=with_files(full, files))
        )
        found = int(message["id"])
        if message["content"].strip() != str(body["content"]).strip():
            # The nonce made a message before, with what a preview said then.
            await self.edit(channel, found, body, files)
        return found

    async def edit(
        self, channel: int, message: int, body: Json, files: Sequence[Attachment] = ()
    ) -> bool:
        """New content for a message; False when it is gone. Raises ChannelError."""
        try:
            await self._edit(channel, message, body, files)
        except Gone as e:
            if code(e) != ARCHIVED:
                raise
            await self._places.unarchive(channel)
            await self._edit(channel, message, body, files)
        except Refused as e:
            if code(e) == UNKNOWN_MESSAGE:
                return False
            raise
        return True

    async def _edit(
        self, channel: int, message: int, body: Json, files: Sequence[Attachment]
    ) -> None:
        await self._calls.into(
            channel,
            lambda http: http.edit_message(channel, message, params=with_files(body, files)),
        )

    # One part ----------------------------------------------------------------------------------------------------

    async def _new(self, out: Outbound, channel: int, number: int, part: Part) -> int:
        body = body_of(part)
        if out.silent:
            body["flags"] |= SILENT
        if number == 0:
            body |= reference(out.address, out.reply_to, channel)
        what = (out.id, out.address, out.reply_to, number, part.text, len(part.files))
        left = self._left.pop((out.address, out.reply_to), None) if number == 0 else None
        nonce = left or self._unsure.get(what) or nonce_of(out, number, part)
        try:
            message = await self.post(channel, body, nonce, part.files)
        except ChannelError:
            self._unsure[what] = nonce
            raise
        self._unsure.pop(what, None)
        return message

    async def _finish(
        self, out: Outbound, channel: int, number: int, message: int, part: Part
    ) -> None:
        """Turn a preview into the part. Only one that is gone is sent anew; a refused edit never is."""
        if not await self.edit(channel, message, body_of(part), part.files):
            log.info("a preview in %s is gone; its text is sent as a new message", out.address)
            await self._new(out, channel, number, part)

    async def _delete(self, channel: int, message: int) -> None:
        try:
            await self._calls.into(channel, lambda http: http.delete_message(channel, message))
        except ChannelError as e:
            if code(e) != UNKNOWN_MESSAGE:
                raise


def reference(address: Address, reply_to: str | None, channel: int) -> Json:
    """What a message of ours answers, where that is not plain from its place."""
    if address.thread is not None and channel == int(address.chat):
        reply_to = address.thread  # no thread could be opened: the answer hangs on the question
    elif address.thread is None or reply_to == address.thread:
        return {}
    if reply_to is None:
        return {}
    return {"message_reference": {"message_id": reply_to, "fail_if_not_exists": False}}
