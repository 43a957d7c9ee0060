"""Long polling. The platform is told that an update arrived (a higher offset) only when it is durable here."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterable

from telegram import Bot, Update
from telegram.error import Conflict, InvalidToken, TelegramError, TimedOut

from channels.errors import BadCredentials
from channels.pulse import Pulse
from channels.telegram.config import TelegramConfig
from channels.telegram.transport import FloodError
from channels.telegram.updates import UNREADABLE, chat_of, shown

log = logging.getLogger(__name__)

ALLOWED = ("message", "callback_query")
FIRST_WAIT, FACTOR, LONGEST_WAIT = 1.0, 1.5, 30.0
# A connection that died silently never answers: the poll is given up so long after its own time is over.
GRACE = 10.0
FAREWELL = 2.0

Handle = Callable[[Update], Awaitable[None]]
# The raw answer to the last poll, for an update that the library cannot read.
Raw = Callable[[], bytes]


class Poller:
    """One loop over getUpdates.

    `handle` returns when an update is durable. Updates of one chat are handled in order, chats side by side; when one
    fails, the offset stays before it and it comes again after a while. `pulse` beats at each answer.
    """

    def __init__(
        self, bot: Bot, config: TelegramConfig, handle: Handle, raw: Raw, pulse: Pulse
    ) -> None:
        self._pulse = pulse
        self._bot = bot
        self._config = config
        self._handle = handle
        self._raw = raw
        self._offset: int | None = None
        self._confirmed: int | None = None
        self._done: set[int] = set()
        self._wait = FIRST_WAIT

    async def run(self, ready: Callable[[], None]) -> None:
        """Poll until cancelled; `ready` is called after the first answer. Raises BadCredentials."""
        try:
            # The first poll asks for no waiting, so that "ready" does not take as long as the first message.
            while (updates := await self._poll(0)) is None:
                pass
            ready()
            while True:
                if updates:
                    await self._take(updates)
                updates = await self._poll(self._config.poll_timeout)
        finally:
            await self._farewell()

    async def _poll(self, hold: int) -> tuple[Update, ...] | None:
        """One poll; None after a failure that was waited for. Raises BadCredentials."""
        offset = self._offset
        try:
            async with asyncio.timeout(hold + GRACE):
                updates = await self._bot.get_updates(
                    offset=offset, timeout=hold, allowed_updates=ALLOWED
                )
        except InvalidToken as e:
            raise BadCredentials("the token is refused by Telegram") from e
        except (TimedOut, TimeoutError):
            return None
        except TelegramError as e:
            await self._recover(e)
            return None
        except UNREADABLE:
            updates = self._readable()
        self._confirmed = offset
        self._wait = FIRST_WAIT
        self._pulse.beat()
        return updates

    async def _recover(self, error: TelegramError) -> None:
        if isinstance(error, Conflict) and "webhook" in str(error).lower():
            log.warning("a webhook was set for this bot: it is deleted, so that polling works")
            with contextlib.suppress(TelegramError):
                await self._bot.delete_webhook()
            await asyncio.sleep(0.1)
            return
        if isinstance(error, FloodError):
            await asyncio.sleep(error.retry_after)
            return
        if isinstance(error, Conflict):
            log.error("another process polls with this bot's token: stop it, or use another bot")
        else:
            log.warning("polling Telegram failed, again in %.1f s: %s", self._wait, error)
        await self._back_off()

    async def _back_off(self) -> None:
        wait, self._wait = self._wait, min(self._wait * FACTOR, LONGEST_WAIT)
        await asyncio.sleep(wait)

    def _readable(self) -> tuple[Update, ...]:
        """The updates of a batch in which the library cannot read one; that one is skipped, and said so."""
        found = []
        for body in json.loads(self._raw())["result"]:
            try:
                found.append(Update.de_json(body, self._bot))
            except (*UNREADABLE, OSError) as e:
                said = "update %s cannot be read and is skipped: %s"
                log.error(said, body["update_id"], shown(e))  # noqa: TRY400 - no traceback of it
                found.append(Update(body["update_id"]))
        return tuple(found)

    async def _take(self, updates: Iterable[Update]) -> None:
        """Handle a batch and move the offset over all that is durable."""
        chats: dict[int, list[Update]] = {}
        for update in updates:
            if update.update_id not in self._done:
                chats.setdefault(chat_of(update), []).append(update)
        if len(chats) == 1:
            failed = [await self._in_order(*chats.values())]
        else:
            failed = await asyncio.gather(*map(self._in_order, chats.values()))
        stuck = [update_id for update_id in failed if update_id is not None]
        last = max(update.update_id for update in updates) + 1
        self._offset = max(self._offset or 0, min(stuck, default=last))
        self._done = {i for i in self._done if i >= self._offset}
        if stuck:
            await self._back_off()

    async def _in_order(self, updates: list[Update]) -> int | None:
        """Handle one chat's updates; returns the id of the first that failed."""
        for update in updates:
            try:
                await self._handle(update)
            except Exception:  # whatever the store says, the update must come again
                log.exception("update %s could not be stored; it will come again", update.update_id)
                return update.update_id
            self._done.add(update.update_id)
        return None

    async def _farewell(self) -> None:
        """Confirm what is durable, so that it does not come again at the next start."""
        if self._offset is None or self._offset == self._confirmed:
            return
        with contextlib.suppress(TelegramError, TimeoutError, *UNREADABLE):
            async with asyncio.timeout(FAREWELL):
                await self._bot.get_updates(
                    offset=self._offset, timeout=0, limit=1, allowed_updates=ALLOWED
                )
