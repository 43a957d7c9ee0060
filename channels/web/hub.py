"""Who looks at which session now, and what each of them still has to be told.

A turn never waits for a browser: `publish` and `show` only put something into mailboxes. A mailbox is bounded. It
holds the messages in order and beside them the newest preview only; when it overflows, its client is told to load
the history again instead.
"""

import asyncio
import uuid
from collections import deque
from dataclasses import dataclass, field

from channels.types import Preview
from channels.web.wire import Json, PreviewWriter

MAILBOX_LIMIT = 256


@dataclass(slots=True, eq=False)
class Live:
    """The reply that is being made in a session. `owner` is the receipt of the reply it will become."""

    owner: object
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    preview: Preview = field(default_factory=Preview)
    shown: bool = False
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    name: str
    data: Json


class Mailbox:
    """What one client has not been told yet."""

    def __init__(self, live: Live | None, limit: int = MAILBOX_LIMIT) -> None:
        self.closed = False
        self.live_id = live.id if live else None  # when the client came
        self._events: deque[Event] = deque()
        self._limit = limit
        self._live = live
        self._writer = PreviewWriter()
        self._wake = asyncio.Event()
        if live is not None:
            self._wake.set()

    def put(self, event: Event) -> None:
        """Add an event. One too many, and all give way to a single `reload`."""
        if len(self._events) >= self._limit:
            self._events.clear()
            event = Event("reload", {})
        self._events.append(event)
        self._wake.set()

    def show(self, live: Live | None) -> None:
        """Note the newest preview; None takes back one that was not told yet."""
        self._live = live
        if live is not None:
            self._wake.set()

    def close(self) -> None:
        """End the stream once what is in here has been taken."""
        self.closed = True
        self._wake.set()

    async def take(self, timeout: float) -> list[Event]:  # noqa: ASYNC109 - silence is an answer here: a heartbeat
        """Everything since the last call, the preview last; empty after `timeout` seconds of silence or when closed."""
        try:
            async with asyncio.timeout(timeout):
                await self._wake.wait()
        except TimeoutError:
            return []
        self._wake.clear()
        events = list(self._events)
        self._events.clear()
        live, self._live = self._live, None
        if live is not None:
            events.append(Event("preview", self._writer.write(live.id, live.preview, live.closed)))
        return events


@dataclass(slots=True)
class Room:
    """One session with somebody looking, or with a reply in the making."""

    mailboxes: set[Mailbox] = field(default_factory=set)
    live: Live | None = None


class Hub:
    """All sessions that anything happens in."""

    def __init__(self, limit: int = MAILBOX_LIMIT) -> None:
        self._rooms: dict[str, Room] = {}
        self._limit = limit

    def join(self, session: str) -> Mailbox:
        """A mailbox that gets everything from now on, beginning with the reply in the making."""
        room = self._rooms.setdefault(session, Room())
        live = room.live if room.live and room.live.shown else None
        mailbox = Mailbox(live, self._limit)
        room.mailboxes.add(mailbox)
        return mailbox

    def leave(self, session: str, mailbox: Mailbox) -> None:
        """Forget a mailbox."""
        if room := self._rooms.get(session):
            room.mailboxes.discard(mailbox)
            self._sweep(session)

    def publish(self, session: str, event: Event) -> None:
        """Tell everybody who looks at this session."""
        for mailbox in self._mailboxes(session):
            mailbox.put(event)

    def open(self, session: str, owner: object) -> Live:
        """A new reply in the making; it takes the place of an older one.

        One that was closed and whose message has not come is gone on with, as after a Stop: the page sees one reply.
        """
        room = self._rooms.setdefault(session, Room())
        before = room.live
        if before is not None and before.closed:
            room.live = Live(owner, before.id, before.preview, shown=before.shown)
        else:
            room.live = Live(owner)
        return room.live

    def show(self, session: str, live: Live) -> None:
        """The reply in the making has changed. Ignored once another or the final message took its place."""
        room = self._rooms.get(session)
        if room is None or room.live is not live:
            return
        live.shown = True
        for mailbox in room.mailboxes:
            mailbox.show(live)

    def drop(self, session: str, live: Live) -> None:
        """A reply in the making ended with nothing shown."""
        room = self._rooms.get(session)
        if room is not None and room.live is live:
            room.live = None
            self._sweep(session)

    def settle(self, session: str, owner: object) -> Live | None:
        """The reply in the making that the final message of `owner` takes the place of, now gone; None for a notice.

        A closed one goes with the next message whoever owns that: after a restart the receipt is another object.
        """
        room = self._rooms.get(session)
        if room is None or room.live is None:
            return None
        live = room.live
        if live.owner is not owner and not live.closed:
            return None
        room.live = None
        for mailbox in room.mailboxes:
            mailbox.show(None)
        self._sweep(session)
        return live

    def close(self) -> None:
        """End every stream."""
        for room in self._rooms.values():
            for mailbox in room.mailboxes:
                mailbox.close()
        self._rooms.clear()

    def _mailboxes(self, session: str) -> set[Mailbox]:
        room = self._rooms.get(session)
        return room.mailboxes if room else set()

    def _sweep(self, session: str) -> None:
        room = self._rooms[session]
        if not room.mailboxes and room.live is None:
            del self._rooms[session]
