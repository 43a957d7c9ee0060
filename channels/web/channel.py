"""The web chat as a channel: a page, a small JSON interface and server-sent events.

Sending never fails: the message is history once its receipt says so, and whoever looks at the session now is told.
"""

import asyncio
import datetime as dt
import uuid
from collections.abc import Callable, Sequence

from aiohttp import web

from channels.base import Emit, Receipt
from channels.errors import Refused
from channels.types import Address, Attachment, Inbound, Outbound, Preview
from channels.web.host import WebHost
from channels.web.hub import Event, Hub, Live
from channels.web.routes import ChatRoutes, ref_of
from channels.web.wire import outbound_json


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class WebPreview:
    """A reply in the making, as everybody who looks at its session sees it."""

    def __init__(self, hub: Hub, session: str, live: Live) -> None:
        self._hub = hub
        self._session = session
        self._live = live

    async def show(self, preview: Preview) -> None:
        """Show this state. Never waits for a client."""
        if not self._live.closed:
            self._live.preview = preview
            self._hub.show(self._session, self._live)

    async def close(self) -> None:
        """No more changes: the final message takes its place, or nothing if nothing was shown."""
        if not self._live.shown:
            self._hub.drop(self._session, self._live)
        elif not self._live.closed:
            self._live.closed = True
            self._hub.show(self._session, self._live)


class WebChannel:
    """Channel, CanStream, CanAnswerButtons, CanDownload and HasRoutes for the web chat.

    An address is `web:local:<session id>`; an author's id is what the host calls the person.
    """

    name = "web"
    account = "local"

    def __init__(
        self,
        host: WebHost,
        *,
        now: Callable[[], dt.datetime] = _now,
        sent: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`sent` is told of the session of each stored reply, so that pages at other processes hear of it."""
        self._sent = sent
        self._host = host
        self._hub = Hub()
        self._now = now
        self._emit: Emit | None = None
        self._routes = ChatRoutes(host, self._hub, self._take, now)

    async def run(self, emit: Emit, ready: Callable[[], None]) -> None:
        """Take messages until cancelled; then every open stream ends. See `Channel.run`."""
        self._emit = emit
        ready()
        try:
            await asyncio.Event().wait()
        finally:
            self._emit = None
            await self.close_streams()

    async def close_streams(self) -> None:
        """End every server-sent stream, so that the HTTP server need not wait for one. Pages connect again."""
        self._hub.close()

    @property
    def shared(self) -> bool:
        """See CanShare: people come to the process that they are connected to."""
        return True

    async def meet(self) -> None:
        """See CanShare."""

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        """Put the reply into the history, then show it. A reply that is already there is only shown."""
        if receipt.ids:
            message_id = receipt.ids[0]
            if not receipt.final:
                await receipt.settled(0)
        else:
            message_id = uuid.uuid4().hex
            await receipt.shown(message_id, final=True)
        session = out.address.chat
        self._sent(session)
        live = self._hub.settle(session, receipt)
        steps = (live.preview.steps if live else ()) or out.steps
        message = outbound_json(message_id, self._now().isoformat(), out, steps)
        preview = live.id if live else None
        self._hub.publish(session, Event("message", {"message": message, "preview": preview}))

    def refresh(self, session: str) -> None:
        """Another process has stored a reply: pages that show this session load it anew."""
        self._hub.publish(session, Event("reload", {}))

    def stream(
        self,
        address: Address,
        receipt: Receipt,
        *,
        private: bool,
        reply_to: str | None,
    ) -> WebPreview:
        """A stream for one reply. A preview is gone with the process, so nothing goes into the receipt."""
        live = self._hub.open(address.chat, receipt)
        return WebPreview(self._hub, address.chat, live)

    async def answer(self, callback: str, text: str = "") -> None:
        """Tell the page that pressed. `callback` is `<key of the press>:<session>`."""
        key, _, session = callback.partition(":")
        self._hub.publish(session, Event("answer", {"key": key, "text": text}))

    async def download(self, attachment: Attachment, limit: int) -> bytes:
        """See CanDownload: the page has handed the file over before its message."""
        person, ref = ref_of(attachment)
        try:
            file = await self._host.file(person, ref)
        except KeyError:
            raise Refused(f"{attachment.name} is gone") from None
        if len(file.data) > limit:
            raise Refused(f"{attachment.name} is larger than {limit} bytes")
        return file.data

    def routes(self) -> Sequence[web.RouteDef]:
        """The page, its files and /chat/..."""
        return self._routes.all()

    async def _take(self, inbound: Inbound) -> bool:
        if self._emit is None:
            return False
        await self._emit(inbound)
        return True
