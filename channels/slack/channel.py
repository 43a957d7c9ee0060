"""The Slack channel: Socket Mode or signed HTTP in, the Web API out. Importing this imports slack-sdk."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from aiohttp import web

from channels.base import Emit, Mark, PreviewStream, Receipt
from channels.errors import BadCredentials, ChannelError
from channels.flood import FloodGate
from channels.pulse import Pulse
from channels.slack.assistant import Assistants
from channels.slack.calls import Calls
from channels.slack.config import SlackConfig
from channels.slack.errors import code_of
from channels.slack.events import Me
from channels.slack.files import Files
from channels.slack.history import History
from channels.slack.look import Looker
from channels.slack.manifest import missing_scopes
from channels.slack.people import People
from channels.slack.receive import Knows, Receiver
from channels.slack.render import content
from channels.slack.send import Sender
from channels.slack.sockets import FACTOR, FIRST_WAIT, LONGEST_WAIT, SocketMode
from channels.slack.stream import Place, Stream
from channels.slack.webhooks import Webhooks
from channels.types import Address, Attachment, Inbound, Outbound

log = logging.getLogger(__name__)

MARKS: dict[Mark, str] = {
    "received": "eyes",
    "done": "white_check_mark",
    "failed": "x",
    "waiting": "hourglass_flowing_sand",
}
MANY = 2000


class SlackChannel:
    """One app in one workspace: Channel, and all capabilities of channels.base.

    `account` is "<team id>.<bot user id>"; it is empty until `run` has asked Slack. Raises BadCredentials for tokens
    that have not even the form of one.

    Args:
        config: see SlackConfig.
        knows: whether the bot is in a thread (the gateway has a conversation there); then its messages need no mention.
            Without it only threads count in which somebody addressed the bot since the start.
        clock: monotonic seconds.
    """

    name = "slack"

    def __init__(
        self,
        config: SlackConfig,
        *,
        knows: Knows | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        _check(config)
        self.account = ""
        self._config = config
        self._clock = clock
        self.pulse = Pulse(clock)
        self._me = Me("", "")
        self._tasks: set[asyncio.Task[None]] = set()
        self._marks: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._calls = Calls(config, FloodGate(clock))
        self._files = Files(self._calls, config)
        self._sender = Sender(self._calls, self._files, Looker(self._calls))
        self._assistants = Assistants(self._calls, config.prompts)
        people = People(self._calls, clock)
        self._history = History(self._calls, people)
        self._receiver = Receiver(config, self._calls, people, self._assistants, knows, self._spawn)

    # Channel -------------------------------------------------------------------------------------------------------

    async def run(self, emit: Emit, ready: Callable[[], None]) -> None:
        """Receive until cancelled; see Channel.run. In HTTP mode `routes` do the receiving."""
        try:
            await self.meet()
            self._receiver.begin(self._me, emit)
            if self._config.mode == "http":
                ready()
                await asyncio.Event().wait()
            sockets = SocketMode(self._calls, self._config, self._receiver.take, self.pulse)
            await sockets.run(_once(ready))
        finally:
            await self.close()

    async def close(self) -> None:
        """End what is under way and close all connections; harmless when repeated. A later send opens new ones."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._calls.close()

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        """Send a reply; see Channel.send. After an Ambiguous failure the next call looks before it sends."""
        await self._sender.send(out, receipt)

    @property
    def shared(self) -> bool:
        """See CanShare: request URLs reach any process, a socket is one's."""
        return self._config.mode == "http"

    async def meet(self) -> None:
        """Ask Slack who the app is; see CanShare."""
        self._me = await self._who_am_i()
        self.account = self._me.account

    # Capabilities --------------------------------------------------------------------------------------------------

    def routes(self) -> Sequence[web.RouteDef]:
        """The request URLs of HTTP mode; none in Socket Mode."""
        config = self._config
        if config.mode != "http":
            return ()
        hooks = Webhooks(
            config.signing_secret,
            self._receiver.take,
            path=config.path,
            age=config.signature_age,
            pulse=self.pulse,
        )
        return hooks.routes()

    def stream(
        self, address: Address, receipt: Receipt, *, private: bool, reply_to: str | None
    ) -> PreviewStream:
        """Show a reply in the making; see CanStream. Call it in the event loop; it opens no connection."""
        place = Place(
            address,
            private,
            reply_to,
            recipient=None if private else self._receiver.asker(address),
            assistant=self._assistants.knows(address.chat, address.thread),
        )
        return Stream(
            self._calls, self._sender, self._config, place, receipt, self._clock, self._own
        )

    async def answer(self, callback: str, text: str = "") -> None:
        """Tell who pressed something; the press itself is acknowledged when it is durable."""
        chat, _, rest = callback.partition("|")
        thread, _, user = rest.partition("|")
        if not text or not user:
            return
        try:
            await self._calls.into(
                chat,
                "chat.postEphemeral",
                channel=chat,
                user=user,
                thread_ts=thread or None,
                text=text,
                mrkdwn=False,
            )
        except ChannelError as e:
            log.debug("a press was not answered: %s", e)

    async def download(self, attachment: Attachment, limit: int) -> bytes:
        """The bytes of a file; see CanDownload. Raises ChannelError."""
        return await self._files.download(attachment, limit)

    async def menu(self, commands: Sequence[tuple[str, str]], language: str | None) -> None:
        """Which words `/swarm` takes as commands. Slack keeps its own menu in the app's manifest."""
        self._receiver.commands |= {name for name, _ in commands}

    async def react(self, address: Address, message_id: str, mark: Mark | None) -> None:
        """Set the bot's one mark; see CanReact."""
        place = (address.chat, message_id)
        name = MARKS[mark] if mark is not None else None
        # After a restart the mark that is there is unknown; most likely it is the first one.
        before = self._marks.pop(place, None if mark == "received" else MARKS["received"])
        if name is not None:
            self._marks[place] = name
            if len(self._marks) > MANY:
                self._marks.popitem(last=False)
        if name is not None and name != before:
            await self._reaction("reactions.add", place, name)
        if before is not None and name != before:
            await self._reaction("reactions.remove", place, before)

    async def home(self, person: str, out: Outbound) -> None:
        """Show this as a person's App Home; see CanHome. Raises ChannelError."""
        shown = content(out.text, out.buttons)
        blocks = [block for block in shown.blocks if block["type"] != "table"]
        if len(blocks) < len(shown.blocks):  # a view takes no tables
            blocks = content(out.text, out.buttons, tables=False).blocks
        user = person.rpartition(":")[2]
        await self._calls.call(
            "views.publish", user_id=user, view={"type": "home", "blocks": blocks}
        )

    async def earlier(self, address: Address, before: str, limit: int) -> Sequence[Inbound]:
        """What people said in a thread before the message `before`, oldest first; empty where it cannot be read."""
        return await self._history.earlier(address, before, limit)

    # Shared --------------------------------------------------------------------------------------------------------

    async def _reaction(self, method: str, place: tuple[str, str], name: str) -> None:
        chat, ts = place
        try:
            await self._calls.into(chat, method, channel=chat, timestamp=ts, name=name)
        except ChannelError as e:
            if code_of(e) not in {"already_reacted", "no_reaction"}:
                log.debug("a mark was not set: %s", e)

    async def _who_am_i(self) -> Me:
        """The app's ids, asked for until they are known. Raises BadCredentials."""
        wait = FIRST_WAIT
        while True:
            try:
                me, scopes = await self._calls.identity()
            except BadCredentials:
                raise
            except ChannelError as e:
                log.warning("Slack does not answer auth.test, again in %.1f s: %s", wait, e)
            else:
                for line in missing_scopes(scopes):
                    log.warning("slack_missing_scope: %s", line)
                return Me(str(me["team_id"]), str(me["user_id"]), str(me.get("bot_id") or ""))
            await asyncio.sleep(wait)
            wait = min(wait * FACTOR, LONGEST_WAIT)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._own(asyncio.create_task(work))

    def _own(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a Slack task ended badly", exc_info=error)


def _check(config: SlackConfig) -> None:
    where = "copy it from https://api.slack.com/apps → your app"
    if "xoxb-" not in config.bot_token:
        raise BadCredentials(
            f"the bot token does not look like xoxb-…: {where} → OAuth & Permissions"
        )
    if config.mode == "socket" and not config.app_token.startswith("xapp-"):
        raise BadCredentials(
            f"the app token does not look like xapp-…: {where} → Basic Information"
        )
    if config.mode == "http" and not config.signing_secret.strip():
        raise BadCredentials(f"the signing secret is empty: {where} → Basic Information")


def _once(ready: Callable[[], None]) -> Callable[[], None]:
    """`ready` is called at the first connection only."""
    said = False

    def call() -> None:
        nonlocal said
        if not said:
            said = True
            ready()

    return call
