"""The Discord channel. Importing this imports discord.py."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import discord

from channels.base import Emit, Mark, PreviewStream, Receipt, Seen
from channels.discord.callbacks import Callbacks
from channels.discord.calls import Calls
from channels.discord.client import Bot
from channels.discord.commands import Complete, Menu, SlashCommand
from channels.discord.components import Forms
from channels.discord.config import DiscordConfig
from channels.discord.earlier import earlier
from channels.discord.files import download
from channels.discord.gaps import Gaps
from channels.discord.http import Http
from channels.discord.inbound import Me, Spot, is_for_us, to_inbound
from channels.discord.interactions import FindForm, Interactions
from channels.discord.lanes import Lanes
from channels.discord.login import Login, connect
from channels.discord.marks import Marks
from channels.discord.places import Places
from channels.discord.send import Sender
from channels.discord.stream import Stream
from channels.errors import BadCredentials, ChannelError, Gone, Refused
from channels.flood import FloodGate
from channels.pulse import Pulse
from channels.types import Address, Attachment, Inbound, Outbound

log = logging.getLogger(__name__)

FIRST_WAIT, FACTOR, LONGEST_WAIT = 1.0, 2.0, 60.0


class DiscordChannel:
    """One bot: Channel, and all capabilities of channels.base but CanHome and HasRoutes.

    A mention or /ask in a channel opens a thread, which is the conversation; a thread that begins at a message has
    that message's id, so its address is known before it exists.

    Args:
        config: see DiscordConfig.
        seen: where the gateway was before a gap.
        commands: slash commands besides those of `menu`, which they override.
        complete: offers choices while a person types a command's argument.
        find_form: the form of a button that an earlier process sent.
        clock: monotonic seconds.
    """

    name = "discord"

    def __init__(
        self,
        config: DiscordConfig,
        *,
        seen: Seen | None = None,
        commands: Sequence[SlashCommand] = (),
        complete: Complete | None = None,
        find_form: FindForm | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.account = config.account
        self._config = config
        self._clock = clock
        self.pulse = Pulse(clock)
        self._login = Login(config, self)
        self._calls = Calls(self._api, FloodGate(clock))
        self._places = Places(self._calls, self._cached, self._my_id, config.archive_minutes)
        self._forms = Forms()
        self._sender = Sender(self._calls, self._places, self._forms)
        self._callbacks = Callbacks(config)
        self._marks = Marks(self._calls)
        self._interactions = Interactions(
            self._callbacks,
            self._places,
            self._sender,
            self._forms,
            lambda: self.account,
            complete,
            find_form,
        )
        self._lanes = Lanes()
        self._gaps = Gaps(config, seen, self._lanes, self._take)
        self._menu = Menu(commands)
        self._sync_at_start = bool(commands)
        self._tasks: set[asyncio.Task[None]] = set()
        self._emit: Emit | None = None
        self._ready: Callable[[], None] = lambda: None
        self._was_ready = False

    # Channel -----------------------------------------------------------------------------------------------------

    async def run(self, emit: Emit, ready: Callable[[], None]) -> None:
        """Listen until cancelled; see Channel.run."""
        self._emit, self._ready, self._was_ready = emit, ready, False
        wait = FIRST_WAIT
        try:
            while True:
                began = self._clock()
                try:
                    await connect(await self._bot())
                    reason = "the connection has ended"
                except BadCredentials:
                    raise
                except ChannelError as e:
                    reason = str(e)
                await self._login.close()
                if self._clock() - began > 2 * LONGEST_WAIT:
                    wait = FIRST_WAIT
                log.warning("Discord cannot be listened to, again in %.0f s: %s", wait, reason)
                await asyncio.sleep(wait)
                wait = min(wait * FACTOR, LONGEST_WAIT)
        finally:
            self._emit = None
            await self.close()

    async def close(self) -> None:
        """End streams and close all connections; harmless when repeated. A later send logs in anew."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._callbacks.close()
        await self._login.close()

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        """Send a reply; see Channel.send."""
        await self._sender.send(out, receipt)

    @property
    def shared(self) -> bool:
        """See CanShare: a bot has one session at the gateway."""
        return False

    async def meet(self) -> None:
        """Log in where the token does not say who the bot is; see CanShare."""
        wait = FIRST_WAIT
        while not self.account:
            try:
                await self._bot()
            except BadCredentials:
                raise
            except ChannelError as e:
                log.warning("Discord does not say who the bot is, again in %.0f s: %s", wait, e)
                await asyncio.sleep(wait)
                wait = min(wait * FACTOR, LONGEST_WAIT)

    # Capabilities ------------------------------------------------------------------------------------------------

    async def earlier(self, address: Address, before: str, limit: int) -> Sequence[Inbound]:
        """What was said in a thread before a message; see CanHistory."""
        return await earlier(
            await self._bot(), Me(self._my_id(), self.account), address, before, limit
        )

    def stream(
        self, address: Address, receipt: Receipt, *, private: bool, reply_to: str | None
    ) -> PreviewStream:
        """Show a reply in the making; see CanStream. Call it in the event loop; it opens no connection."""
        return Stream(
            self._calls,
            self._places,
            self._sender,
            self._config,
            address,
            reply_to,
            receipt,
            self._clock,
            self._own,
        )

    async def answer(self, callback: str, text: str = "") -> None:
        """Say something to the person who pressed, and to no other; the press itself was acknowledged at once."""
        application, _, token = callback.partition("/")
        if text and token:
            await self._callbacks.tell(int(application), token, text)

    async def download(self, attachment: Attachment, limit: int) -> bytes:
        """The bytes of a file; see CanDownload. Raises ChannelError."""
        limit = min(limit, self._config.download_limit)
        return await download(self._calls, self._callbacks, attachment, limit)

    async def menu(self, commands: Sequence[tuple[str, str]], language: str | None) -> None:
        """Set the slash commands, the first hundred with /ask among them. Raises ChannelError."""
        self._menu.set(commands, language)
        await self._sync()

    def archives(self, address: Address) -> bool:
        """Whether the bot opened this thread; see CanArchive."""
        return address.thread is not None and self._places.is_own(int(address.thread))

    async def archive(self, address: Address) -> None:
        """Put a thread away; see CanArchive. Raises ChannelError."""
        if self.archives(address):
            await self._places.archive(int(address.thread or 0))

    async def react(self, address: Address, message_id: str, mark: Mark | None) -> None:
        """Set the bot's mark on a message; see CanReact."""
        await self._marks.set(address, message_id, mark)

    # What the client hears ---------------------------------------------------------------------------------------

    async def connected(self) -> None:
        """A new session. Gaps are filled before anything that comes now is handed on."""
        bot = self._login.bot
        if bot is not None:
            self._gaps.open.clear()  # at once: the next event is handled as soon as this returns
            self._owned(self._gaps.known(bot, self.account), "discord gaps")

    async def disconnected(self) -> None:
        """The connection is gone; perhaps it is resumed."""
        self._gaps.lost()

    async def resumed(self) -> None:
        """Discord has replayed what was missed."""
        self._gaps.resumed()

    async def is_ready(self) -> None:
        """All servers are known: at the start, and after each new session."""
        if self._was_ready:
            return
        self._was_ready = True
        if self._sync_at_start:
            self._owned(self._sync(), "discord commands")
        self._ready()

    async def shard_ready(self) -> None:
        """All servers of a new session are known, with the newest message of each channel."""
        bot = self._login.bot
        if bot is not None:
            self._owned(self._gaps.others(bot), "discord gaps of other channels")

    async def message(self, message: discord.Message) -> None:
        """Somebody wrote. Messages of a channel are handed on in order, channels side by side."""
        if not is_for_us(message):
            return
        await self._gaps.open.wait()
        async with self._lanes.one(message.channel.id):
            if (bot := self._login.bot) is not None:
                await self._gaps.first_sight(bot, message)
            await self._take(message)

    async def interaction(self, interaction: discord.Interaction) -> None:
        """Somebody used a command, a button, a menu or a dialog."""
        await self._interactions.handle(interaction, self._durably)

    # Shared ------------------------------------------------------------------------------------------------------

    async def _take(self, message: discord.Message) -> None:
        """Hand a message on; returns when it is durable."""
        channel = message.channel.id
        if is_for_us(message) and (spot := await self._spot(message.channel)) is not None:
            me = Me(self._my_id(), self.account)
            place = Address(self.name, self.account, spot.chat, spot.thread)
            inbound = to_inbound(message, spot, me, self._config.mention_at(place))
            if inbound is not None:
                self._places.entitle(inbound.address.thread, inbound.text)
                await self._durably(inbound)
        self._gaps.taken(channel, message.id)

    async def _spot(self, channel: discord.abc.Snowflake) -> Spot | None:
        """Where a channel is; asked for until that is known, unless the channel is closed to us."""
        wait = FIRST_WAIT
        while True:
            try:
                return await self._places.spot(channel)
            except (Gone, Refused) as e:
                log.warning("a message of channel %s is skipped: %s", channel.id, e)
                return None
            except ChannelError as e:
                log.warning("channel %s is unknown, again in %.0f s: %s", channel.id, wait, e)
            await asyncio.sleep(wait)
            wait = min(wait * FACTOR, LONGEST_WAIT)

    async def _durably(self, inbound: Inbound) -> None:
        """Emit until it is durable: Discord delivers nothing twice."""
        wait = FIRST_WAIT
        while self._emit is not None:
            try:
                await self._emit(inbound)
            except Exception:
                log.exception("message %s waits, again in %.0f s", inbound.key, wait)
            else:
                return
            await asyncio.sleep(wait)
            wait = min(wait * FACTOR, LONGEST_WAIT)

    async def _bot(self) -> Bot:
        bot = await self._login.get()
        if bot.user is not None:
            if self.account and self.account != str(bot.user.id):
                log.warning("the token of bot %s names %s", bot.user.id, self.account)
            self.account = str(bot.user.id)
        return bot

    async def _api(self) -> Http:
        return (await self._bot()).rest

    def _my_id(self) -> int:
        return int(self.account or 0)

    def _cached(self, channel: int) -> object:
        bot = self._login.bot
        return bot.get_channel(channel) if bot is not None else None

    async def _sync(self) -> None:
        payload = self._menu.payload()
        bot = await self._bot()
        application = bot.application_id or 0
        await self._calls.into(
            application, lambda http: http.bulk_upsert_global_commands(application, payload)
        )

    def _owned(self, work: Coroutine[Any, Any, None], name: str) -> None:
        self._own(asyncio.create_task(work, name=name))

    def _own(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s ended badly", task.get_name(), exc_info=error)
