"""The channel contract: two methods, and small optional protocols for what a platform can do besides.

A channel has no agent and no database in it. It turns platform updates into `Inbound`, and
`Outbound` into messages.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol, runtime_checkable

from aiohttp import web

from channels.pulse import Pulse
from channels.types import Address, Attachment, Inbound, Outbound, Preview

Emit = Callable[[Inbound], Awaitable[None]]
Mark = Literal["received", "done", "failed", "waiting"]


class Receipt(Protocol):
    """What is already visible of one reply; lives in the outbox row, so that a resumed send goes on where it was.

    `ids`: message ids in order, one for each part that is visible (perhaps still as a preview).
    `final`: how many of them have their final content already.
    """

    @property
    def ids(self) -> Sequence[str]:
        """Message ids, in order."""
        ...

    @property
    def final(self) -> int:
        """How many have their final content."""
        ...

    async def shown(self, message_id: str, *, final: bool, last: bool = False) -> None:
        """A new message is visible. Committed when it returns.

        `last`: nothing follows in this `send`, so it is committed together with the end of the
        send, in one commit.
        """
        ...

    async def settled(self, index: int, *, last: bool = False) -> None:
        """Message `index` has its final content now. Committed when it returns; `last` as for `shown`."""
        ...


@runtime_checkable
class Channel(Protocol):
    """A chat platform.

    `name` is the first part of addresses; `account` is the bot's own id, known once `run` is ready.
    """

    name: str
    account: str

    async def run(self, emit: Emit, ready: Callable[[], None]) -> None:
        """Receive until cancelled. `ready` is called once, when updates flow.

        `emit` returns when the message is durable; only then may the platform be told. Raises
        BadCredentials when the token is refused; survives everything else by itself, with back-off.
        Cancellation leaves nothing open.
        """
        ...

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        """Send one reply in order of its parts, skipping what the receipt says is there.

        Splits at the platform's limit. A part that is visible as a preview is edited, never sent
        again. Text the platform cannot parse goes as plain text, once. Raises FloodLimited,
        Unreachable, Ambiguous, Refused, Gone; a later call with the same receipt goes on with the
        part that failed.
        """
        ...


@runtime_checkable
class CanShare(Protocol):
    """Tells whether several processes may run this bot at once.

    A bot without this is received for by one process; the others send for it.
    """

    @property
    def shared(self) -> bool:
        """Whether its updates come to any process (webhooks), not over a connection that one alone may hold."""
        ...

    async def meet(self) -> None:
        """Learn `account` without receiving, so that this process can send. Raises BadCredentials, else tries on."""
        ...


@runtime_checkable
class CanClose(Protocol):
    """Keeps connections for sending that outlive `run`."""

    async def close(self) -> None:
        """Close them; harmless when repeated. A later send opens new ones."""
        ...


@runtime_checkable
class PreviewStream(Protocol):
    """One reply in the making at one place."""

    async def show(self, preview: Preview) -> None:
        """Show this state, or skip it when the platform's rate asks for that.

        Never raises for a failed preview.
        """
        ...

    async def close(self) -> None:
        """End typing and drafts; visible messages stay for `send` to finish."""
        ...


@runtime_checkable
class CanStream(Protocol):
    """Shows replies while they are made."""

    def stream(
        self, address: Address, receipt: Receipt, *, private: bool, reply_to: str | None
    ) -> PreviewStream:
        """A stream for one reply. Messages it makes visible go into the receipt."""
        ...


@runtime_checkable
class CanAnswerButtons(Protocol):
    """Tells a person that a button press arrived."""

    async def answer(self, callback: str, text: str = "") -> None:
        """Acknowledge a press (Inbound.callback); a late or repeated one is ignored."""
        ...


@runtime_checkable
class CanDownload(Protocol):
    """Fetches incoming files."""

    async def download(self, attachment: Attachment, limit: int) -> bytes:
        """The bytes, at most `limit`; Refused when larger or gone."""
        ...


@runtime_checkable
class CanMenu(Protocol):
    """Shows a command menu."""

    async def menu(self, commands: Sequence[tuple[str, str]], language: str | None) -> None:
        """Set (name, description) pairs for a language code, or for all others (None)."""
        ...


@runtime_checkable
class CanReact(Protocol):
    """Marks a person's message with an emoji: received, done, failed, waiting for somebody."""

    async def react(self, address: Address, message_id: str, mark: Mark | None) -> None:
        """Set the bot's one mark on a message (None: take it away).

        Failures are ignored: a mark is never vital.
        """
        ...


@runtime_checkable
class CanHome(Protocol):
    """Has a page of its own for each person."""

    async def home(self, person: str, out: Outbound) -> None:
        """Show this as the person's page (Author.id)."""
        ...


@runtime_checkable
class CanHistory(Protocol):
    """Reads what was said in a thread before the bot was called into it."""

    async def earlier(self, address: Address, before: str, limit: int) -> Sequence[Inbound]:
        """People's newest messages before the message `before`, at most `limit`, oldest first.

        Empty for a place that is no thread, or that may not be read; never raises for that.
        """
        ...


@runtime_checkable
class CanArchive(Protocol):
    """Puts a thread away when its conversation ends."""

    def archives(self, address: Address) -> bool:
        """Whether this place is a thread that the bot opened, as far as is known without asking."""
        ...

    async def archive(self, address: Address) -> None:
        """Put the thread away; a message there brings it back. Harmless when repeated.

        What the platform refuses is logged with the right that is missing. Raises FloodLimited, Unreachable, Ambiguous.
        """
        ...


class Seen(Protocol):
    """What a channel without redelivery asks the gateway after a gap: where it was, and up to what it has seen."""

    async def places(self, channel: str, account: str) -> Sequence[tuple[Address, str]]:
        """(address, key of the newest stored Inbound) of each known place, most recently used first."""
        ...


@runtime_checkable
class HasPulse(Protocol):
    """Notes each sign of life of its platform: an answered poll, a heart-beat, a post."""

    pulse: Pulse


@runtime_checkable
class HasRoutes(Protocol):
    """Serves HTTP under the gateway's server."""

    def routes(self) -> Sequence[web.RouteDef]:
        """Routes to mount, with absolute paths."""
        ...
