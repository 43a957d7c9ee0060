"""The Telegram channel: updates in by polling or webhook, messages out. Importing this imports python-telegram-bot."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from aiohttp import web
from telegram import Bot, ReactionTypeEmoji, Update
from telegram.error import InvalidToken, TelegramError

from channels.base import Emit, Mark, PreviewStream, Receipt
from channels.errors import BadCredentials, ChannelError, Refused
from channels.flood import FloodGate
from channels.pulse import Pulse
from channels.telegram.calls import Calls
from channels.telegram.config import TelegramConfig
from channels.telegram.errors import translate
from channels.telegram.heard import Heard
from channels.telegram.menu import set_menu
from channels.telegram.poll import FACTOR, FIRST_WAIT, LONGEST_WAIT, Poller
from channels.telegram.reactions import EMOJI
from channels.telegram.send import Sender, place_of
from channels.telegram.stream import DraftStream, EditStream
from channels.telegram.transport import Transport
from channels.telegram.updates import Me, quoted, shown, to_inbound
from channels.telegram.webhook import Webhook
from channels.types import Address, Attachment, Inbound, Outbound

log = logging.getLogger(__name__)

POOL = 64


class TelegramChannel:
    """One bot. Implements Channel and all capabilities of channels.base but CanHome.

    Raises BadCredentials when the token has not even the form of one.

    Args:
        config: see TelegramConfig.
        clock: monotonic seconds.
    """

    name = "telegram"

    def __init__(
        self, config: TelegramConfig, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not config.account.isdigit():
            raise BadCredentials("the token does not look like 123456:ABC…, as @BotFather gives it")
        self.account = config.account
        self._config = config
        self._clock = clock
        self.pulse = Pulse(clock)
        # The two pools are apart, so that a full one never holds up the poll.
        self._transport = Transport(POOL, config.read_timeout, config.base_url)
        self._poll_transport = Transport(2, config.read_timeout, config.base_url)
        self._bot = Bot(
            config.token,
            base_url=config.base_url,
            base_file_url=config.base_file_url,
            request=self._transport,
            get_updates_request=self._poll_transport,
        )
        self._calls = Calls(FloodGate(clock))
        self._sender = Sender(self._bot, self._calls)
        self._webhook = Webhook(self._bot, config, self.pulse)
        self._heard = Heard()
        self._tasks: set[asyncio.Task[None]] = set()

    # Channel -----------------------------------------------------------------------------------------------------

    async def run(self, emit: Emit, ready: Callable[[], None]) -> None:
        """Receive until cancelled; see Channel.run. The bot's name is asked for while the first poll is on its way."""
        me = asyncio.create_task(self._who_am_i(), name="telegram getMe")

        async def handle(update: Update) -> None:
            inbound = self._read(update, await asyncio.shield(me))
            if inbound is None:
                log.info("update %s is nothing that a person says to the bot", update.update_id)
            else:
                self._listen(update, inbound)
                await emit(inbound)

        try:
            if self._config.mode == "webhook":
                await self._webhook.run(handle, ready)
            else:
                last = self._poll_transport
                poller = Poller(self._bot, self._config, handle, lambda: last.last, self.pulse)
                await poller.run(ready)
        finally:
            me.cancel()
            await asyncio.gather(me, return_exceptions=True)
            await self.close()

    async def close(self) -> None:
        """End streams and close all connections; harmless when repeated. A later send opens new ones."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._poll_transport.shutdown()
        await self._transport.shutdown()

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        """Send a reply; see Channel.send."""
        await self._sender.send(out, receipt)

    @property
    def shared(self) -> bool:
        """See CanShare: webhooks reach any process, polling is one's."""
        return self._config.mode == "webhook"

    async def meet(self) -> None:
        """See CanShare: the token says who the bot is."""

    # Capabilities ------------------------------------------------------------------------------------------------

    def stream(
        self, address: Address, receipt: Receipt, *, private: bool, reply_to: str | None
    ) -> PreviewStream:
        """Show a reply in the making; see CanStream. Call it in the event loop; it opens no connection."""
        place = place_of(address, reply_to)
        shared = (self._bot, self._calls, self._config, place, self._clock, self._own)
        if private:
            return DraftStream(*shared)
        return EditStream(*shared, self._sender, receipt)

    async def answer(self, callback: str, text: str = "") -> None:
        """Acknowledge a press; failures are of no consequence, as the press itself has arrived."""
        try:
            await self._bot.answer_callback_query(callback, text or None)
        except TelegramError as e:
            log.debug("a press was not acknowledged: %s", e)

    async def download(self, attachment: Attachment, limit: int) -> bytes:
        """The bytes of a file; see CanDownload. Raises ChannelError."""
        limit = min(limit, self._config.download_limit)
        if attachment.size is not None and attachment.size > limit:
            raise Refused(f"{attachment.name} has {attachment.size} bytes; the limit is {limit}")
        if attachment.ref is None:
            raise Refused(f"{attachment.name} has no reference to fetch it by")
        try:
            file = await self._bot.get_file(attachment.ref)
            if file.file_path is None:
                raise Refused(f"{attachment.name} is gone")
            return await self._transport.fetch(file.file_path, limit)
        except TelegramError as e:
            raise translate(e) from e

    async def menu(self, commands: Sequence[tuple[str, str]], language: str | None) -> None:
        """Set the command menus of private chats and of groups, 100 entries at most. Raises ChannelError."""
        await set_menu(self._bot, commands, language)

    async def react(self, address: Address, message_id: str, mark: Mark | None) -> None:
        """Set the bot's one reaction on a message, or take it away; see CanReact. Failures are ignored."""
        if not self._config.reactions:
            return
        wanted = [ReactionTypeEmoji(EMOJI[mark])] if mark else []
        try:
            await self._calls.into(
                address.chat,
                lambda chat: self._bot.set_message_reaction(chat, int(message_id), wanted),
            )
        except ChannelError as e:  # reactions are off in this chat, the message is gone, …
            log.debug("a reaction in %s failed: %s", address, e)

    async def earlier(self, address: Address, before: str, limit: int) -> Sequence[Inbound]:
        """What was said in a topic before a message, as far as this process heard it; see CanHistory."""
        return self._heard.before(address, before, limit)

    def routes(self) -> Sequence[web.RouteDef]:
        """See HasRoutes: the webhook, where it is wanted."""
        return self._webhook.routes() if self._config.mode == "webhook" else []

    # Shared ------------------------------------------------------------------------------------------------------

    async def _who_am_i(self) -> Me:
        """The bot's id and name, tried until it is known. Raises BadCredentials."""
        wait = FIRST_WAIT
        while True:
            try:
                me = await self._bot.get_me()
                return Me(me.id, me.username or "", self.account)
            except InvalidToken as e:
                raise BadCredentials("the token is refused by Telegram") from e
            except TelegramError as e:
                log.warning("Telegram does not answer getMe, again in %.1f s: %s", wait, e)
            await asyncio.sleep(wait)
            wait = min(wait * FACTOR, LONGEST_WAIT)

    def _read(self, update: Update, me: Me) -> Inbound | None:
        try:
            return to_inbound(update, me, self._config.mention_at)
        except Exception as e:  # noqa: BLE001 - one strange update must not stop all that come after it
            said = "update %s cannot be understood and is skipped: %s"
            log.error(said, update.update_id, shown(e))  # noqa: TRY400 - no traceback of it
            return None

    def _listen(self, update: Update, inbound: Inbound) -> None:
        if update.message is None or inbound.address.thread is None:
            return
        self._heard.take(inbound)
        if (said := quoted(update.message, inbound)) is not None:
            self._heard.take(said)

    def _own(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a preview ended badly", exc_info=error)
