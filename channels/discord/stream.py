"""A reply in the making: one message that is edited and becomes the answer.

`show` only stores the newest state; one task a stream sends it, at the pace the platform tolerates. Nothing at all is
sent for a reply that is complete within `settle` seconds.
"""

import asyncio
import json
import logging
import secrets
from collections.abc import Callable

from channels.base import Receipt
from channels.discord.calls import Calls
from channels.discord.components import keyboard
from channels.discord.config import DiscordConfig
from channels.discord.places import Places
from channels.discord.post import NO_MENTIONS, Json
from channels.discord.render import preview_body
from channels.discord.send import Sender, reference
from channels.errors import Ambiguous, ChannelError, FloodLimited, Gone, Unreachable
from channels.types import Address, Preview

log = logging.getLogger(__name__)


# How long `close` waits for a call on its way: the library tries again by itself when Discord fails.
PATIENCE = 8.0


class Stream:
    """Implements channels.base.PreviewStream. Call it in the event loop.

    Args:
        calls, places, sender: the channel's.
        config: pace.
        address, reply_to: where the reply goes and what it answers.
        receipt: gets the id of the message when it appears.
        clock: monotonic seconds, for the pace; waiting itself is the event loop's.
        own: takes the task, so that ending the channel ends it.
    """

    def __init__(
        self,
        calls: Calls,
        places: Places,
        sender: Sender,
        config: DiscordConfig,
        address: Address,
        reply_to: str | None,
        receipt: Receipt,
        clock: Callable[[], float],
        own: Callable[[asyncio.Task[None]], None],
    ) -> None:
        self._calls = calls
        self._places = places
        self._sender = sender
        self._config = config
        self._address = address
        self._reply_to = reply_to
        self._receipt = receipt
        self._clock = clock
        self._own = own
        # A resumed reply goes on in the message that is there; finished parts are left alone.
        self._message = int(receipt.ids[-1]) if receipt.final < len(receipt.ids) else None
        self._over = receipt.final > 0  # no more previews: refused, or the place is gone
        self._nonce = secrets.token_hex(12)
        self._unsure = False  # the first message may be there without our knowing its id
        self._newest = Preview()
        self._shown = ""
        self._closing = False
        self._changed = asyncio.Event()
        self._next_at = clock() + config.visible_after
        self._type_at = 0.0
        self._task: asyncio.Task[None] | None = None
        # A timer instead of a task: a quick reply pays for nothing else.
        self._timer = asyncio.get_running_loop().call_later(config.settle, self._start)

    async def show(self, preview: Preview) -> None:
        """Keep this state; it is sent in its time. Never raises, never waits."""
        self._newest = preview
        self._changed.set()

    async def close(self) -> None:
        """End typing and previews; returns when the call that is on its way has ended.

        It is not cut off soon: a late edit would come after the final text. A first message of which is not known
        whether it is there is asked for by its nonce.
        """
        self._timer.cancel()
        self._closing = True
        self._changed.set()
        if self._task is not None:
            _, late = await asyncio.wait({self._task}, timeout=PATIENCE)
            for task in late:
                task.cancel()
                await asyncio.wait({task})
        if self._unsure:
            await self._settle()

    def _start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"stream {self._address}")
        self._own(self._task)

    async def _run(self) -> None:
        while not self._closing and not self._over:
            self._changed.clear()
            pause = await self._step()
            if pause > 0 and not self._closing:
                await self._sleep(pause)

    async def _step(self) -> float:
        """Send what is due; seconds until something may be due again."""
        try:
            await self._due()
        except FloodLimited as e:
            self._next_at = self._clock() + e.retry_after
            self._type_at = self._next_at
            return e.retry_after
        except Gone:
            self._over = True
        except ChannelError as e:
            log.debug("a preview in %s failed: %s", self._address, e)
            self._next_at = self._clock() + 2 * self._config.edit_every
        return self._pause()

    async def _due(self) -> None:
        now = self._clock()
        body = self._wanted() if now >= self._next_at else {}
        if body:
            await self._put(await self._places.channel(self._address), body)
            self._shown = fingerprint(body)
            self._next_at = self._clock() + self._config.edit_every
        elif self._message is None and now >= self._type_at:
            self._type_at = now + self._config.typing_every
            channel = await self._places.channel(self._address)
            await self._calls.into(channel, lambda http: http.send_typing(channel))

    def _wanted(self) -> Json:
        """The preview to send, or nothing when it is on the screen already."""
        body = preview_body(self._newest)
        if not body:
            return {}
        body |= {
            "components": keyboard(self._newest.buttons),
            "allowed_mentions": NO_MENTIONS,
        }
        return body if fingerprint(body) != self._shown else {}

    async def _put(self, channel: int, body: Json) -> None:
        if self._message is not None:
            if not await self._sender.edit(channel, self._message, body):
                self._over = True  # deleted by somebody: `send` puts the reply there anew
            return
        body = body | reference(self._address, self._reply_to, channel)
        self._unsure = True  # the next try, of whatever text, is with the same nonce
        try:
            self._message = await self._sender.post(channel, body, self._nonce)
        except (Ambiguous, Unreachable):
            raise
        except ChannelError as e:
            self._unsure = False
            self._over = not isinstance(e, FloodLimited)
            raise
        self._unsure = False
        await self._receipt.shown(str(self._message), final=False)

    async def _settle(self) -> None:
        """Learn the id of a first message that may be there."""
        try:
            body = self._wanted() or {"content": "…"}
            await self._put(await self._places.channel(self._address), body)
        except ChannelError as e:
            log.info("a preview in %s may be there: %s", self._address, e)
            self._sender.may_be_there(self._address, self._reply_to, self._nonce)

    def _pause(self) -> float:
        """Until typing is due, or the next preview may go."""
        now = self._clock()
        # A preview that became due while typing was on its way goes at once.
        until = [self._next_at] if self._next_at > now or self._wanted() else []
        if self._message is None:
            until.append(self._type_at)
        return max(0.01, min(until, default=now + 60.0) - now)

    async def _sleep(self, pause: float) -> None:
        """Wait for the time, or for a change if a preview may go already."""
        waiting = self._next_at > self._clock()
        try:
            async with asyncio.timeout(pause):
                while True:
                    await self._changed.wait()
                    if self._closing or not waiting:
                        return
                    self._changed.clear()
        except TimeoutError:
            return


def fingerprint(body: Json) -> str:
    """For telling whether anything has changed."""
    return json.dumps(body, sort_keys=True)
