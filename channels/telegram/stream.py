"""A reply in the making: drafts in private chats, one edited message in groups.

`show` only stores the newest state; one task a stream sends it, at the pace the platform tolerates. Nothing at all is
sent for a reply that is complete within `settle` seconds.
"""

import asyncio
import itertools
import logging
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable

from telegram import Bot
from telegram.constants import ChatAction

from channels.base import Receipt
from channels.errors import ChannelError, FloodLimited, Gone, Refused
from channels.telegram.calls import Calls
from channels.telegram.config import TelegramConfig
from channels.telegram.errors import UNPARSED, says
from channels.telegram.render import keyboard, plain, preview_html
from channels.telegram.send import Place, Sender
from channels.types import Preview

log = logging.getLogger(__name__)

# A draft fades after about 30 seconds unless it is sent again.
DRAFT_REFRESH = 20.0
# The first number is chance, so that a draft of this process never continues one of a process that died.
_draft_ids = itertools.count(secrets.randbelow(2**30) + 1)


class Stream(ABC):
    """What private and group streams share: the task, the pace, typing. Implements channels.base.PreviewStream.

    `clock` is monotonic seconds and decides about pace; waiting itself is the event loop's.
    """

    pace = 1.0
    first_after = 0.0
    # How long `close` waits for a call on its way before it cuts it off; None: as long as the call may take.
    patience: float | None = None

    def __init__(
        self,
        bot: Bot,
        calls: Calls,
        config: TelegramConfig,
        place: Place,
        clock: Callable[[], float],
        own: Callable[[asyncio.Task[None]], None],
    ) -> None:
        self._bot = bot
        self._calls = calls
        self._config = config
        self._place = place
        self._clock = clock
        self._own = own
        self._newest = Preview()
        self._shown = ""
        self._visible = False
        self._over = False  # no more previews: refused, or the chat is gone
        self._closing = False
        self._changed = asyncio.Event()
        self._next_at = clock() + self.first_after
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

        In groups that call is not cut off: a first message would be visible without our knowing it, and a late edit
        would come after the final text. A draft or typing is cut off after a while: the answer does not wait for it.
        """
        self._timer.cancel()
        self._closing = True
        self._changed.set()
        if self._task is not None:
            _, late = await asyncio.wait({self._task}, timeout=self.patience)
            for task in late:
                task.cancel()
                await asyncio.wait({task})

    def _start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"stream {self._place.address}")
        self._own(self._task)

    async def _run(self) -> None:
        while not self._closing and not self._over:
            self._changed.clear()
            pause = await self._step()
            if pause > 0 and not self._closing:
                await self._sleep(pause)

    async def _step(self) -> float:
        """Send what is due; seconds until something may be due again."""
        chat = self._place.address.chat
        if left := self._calls.gate.left(chat):
            return left
        try:
            await self._due()
        except FloodLimited as e:
            return e.retry_after
        except Gone:
            self._over = True
        except ChannelError as e:
            log.debug("a preview in %s failed: %s", self._place.address, e)
            self._next_at = self._clock() + 2 * self.pace
        return self._pause()

    async def _due(self) -> None:
        now = self._clock()
        if now >= self._next_at and (source := self._wanted(now)):
            await self._send(source)
            self._shown, self._visible = source, True
            self._next_at = self._clock() + self.pace
        elif not self._visible and now >= self._type_at:
            self._type_at = now + self._config.typing_every
            await self._type()

    def _pause(self) -> float:
        """Until typing or the refresh is due, or the next preview may go."""
        now = self._clock()
        # A wanted preview whose time has come while something else was sent goes at once.
        until = [self._next_at] if self._next_at > now or self._wanted(now) else []
        if not self._visible:
            until.append(self._type_at)
        return max(0.01, min(until, default=now + self._idle()) - now)

    def _idle(self) -> float:
        return DRAFT_REFRESH

    async def _sleep(self, pause: float) -> None:
        """Wait for the time, or for a change if a preview may go already."""
        limited = self._calls.gate.left(self._place.address.chat) > 0
        waiting = limited or self._next_at > self._clock()
        try:
            async with asyncio.timeout(pause):
                while True:
                    await self._changed.wait()
                    if self._closing or not waiting:
                        return
                    self._changed.clear()
        except TimeoutError:
            return

    def _wanted(self, now: float) -> str:
        """The preview to send, or nothing when it is on the screen already."""
        source = preview_html(self._newest)
        return source if source != self._shown else ""

    @abstractmethod
    async def _send(self, source: str) -> None:
        """Put this preview, as HTML, where it is seen."""

    async def _type(self) -> None:
        await self._calls.into(
            self._place.address.chat,
            lambda chat: self._bot.send_chat_action(
                chat, ChatAction.TYPING, message_thread_id=self._place.thread
            ),
        )


class DraftStream(Stream):
    """A private chat: one draft, which leaves nothing behind."""

    patience = 1.0

    def __init__(
        self,
        bot: Bot,
        calls: Calls,
        config: TelegramConfig,
        place: Place,
        clock: Callable[[], float],
        own: Callable[[asyncio.Task[None]], None],
    ) -> None:
        self.pace = config.draft_every
        super().__init__(bot, calls, config, place, clock, own)
        self._draft = next(_draft_ids)
        self._drafts = True
        self._sent_at = 0.0

    def _wanted(self, now: float) -> str:
        if not self._drafts:
            return ""
        if self._visible and now - self._sent_at >= DRAFT_REFRESH:
            return preview_html(self._newest)
        return super()._wanted(now)

    async def _send(self, source: str) -> None:
        try:
            try:
                await self._put(source, "HTML")
            except Refused as e:
                if not says(e, *UNPARSED):
                    raise
                await self._put(plain(source), None)
        except Refused as e:
            # This chat or server has no drafts: typing goes on, the reply comes at its end.
            log.info("drafts are refused in %s: %s", self._place.address, e)
            self._drafts = False
            raise
        self._sent_at = self._clock()

    async def _put(self, source: str, mode: str | None) -> None:
        await self._calls.into(
            self._place.address.chat,
            lambda chat: self._bot.send_message_draft(
                chat, self._draft, source, message_thread_id=self._place.thread, parse_mode=mode
            ),
        )


class EditStream(Stream):
    """A group or topic: one visible message, edited; its id goes into the receipt when it appears."""

    def __init__(
        self,
        bot: Bot,
        calls: Calls,
        config: TelegramConfig,
        place: Place,
        clock: Callable[[], float],
        own: Callable[[asyncio.Task[None]], None],
        sender: Sender,
        receipt: Receipt,
    ) -> None:
        self.pace = config.edit_every
        self.first_after = config.visible_after
        super().__init__(bot, calls, config, place, clock, own)
        self._sender = sender
        self._receipt = receipt
        # A resumed reply goes on in the message that is there; finished parts are left alone.
        self._message = int(receipt.ids[-1]) if receipt.final < len(receipt.ids) else None
        self._over = receipt.final > 0

    async def _send(self, source: str) -> None:
        try:
            await self._put(source, "HTML")
        except Refused as e:
            if not says(e, *UNPARSED):
                self._over = True
                raise
            await self._put(plain(source), None)

    async def _put(self, source: str, mode: str | None) -> None:
        keys = keyboard(self._newest.buttons)
        if self._message is not None:
            chat = self._place.address.chat
            if not await self._sender.edit(chat, self._message, source, mode, keys):
                self._over = True  # deleted by somebody: `send` puts the reply there anew
            return
        try:
            self._message = await self._sender.text(self._place, source, mode, keys)
        except FloodLimited:
            raise
        except ChannelError as e:
            # Perhaps it is visible; a second one would be one too many.
            self._over = not (isinstance(e, Refused) and says(e, *UNPARSED))
            raise
        await self._receipt.shown(str(self._message), final=False)
