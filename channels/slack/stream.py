"""A reply in the making: a native stream in threads, elsewhere one visible message that is updated.

`show` only stores the newest state; one task a stream sends it, at the pace the platform tolerates. Nothing is sent for
a reply that is complete within `settle` seconds.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from channels.base import Receipt
from channels.errors import ChannelError, FloodLimited, Gone, Refused, Unreachable
from channels.slack.calls import Answer, Calls
from channels.slack.config import SlackConfig
from channels.slack.errors import UNFIT, code_of
from channels.slack.look import preview_id
from channels.slack.progress import is_empty, shown, status, task
from channels.slack.render import PART, Content, keyboard
from channels.slack.send import Sender
from channels.types import Address, Preview, Step

log = logging.getLogger(__name__)

NO_BLOCKS = UNFIT | {"invalid_chunks"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reply goes. `recipient` is (user, team) of who asked; channels want it for a stream."""

    address: Address
    private: bool
    reply_to: str | None
    recipient: tuple[str, str] | None
    assistant: bool = False

    @property
    def streams(self) -> bool:
        """Whether Slack has a native stream here."""
        return self.address.thread is not None and (self.private or self.recipient is not None)


class Stream:
    """One reply. Implements channels.base.PreviewStream; `clock` is monotonic seconds and decides about pace."""

    def __init__(
        self,
        calls: Calls,
        sender: Sender,
        config: SlackConfig,
        place: Place,
        receipt: Receipt,
        clock: Callable[[], float],
        own: Callable[[asyncio.Task[None]], None],
    ) -> None:
        self._calls = calls
        self._sender = sender
        self._config = config
        self._place = place
        self._receipt = receipt
        self._clock = clock
        self._own = own
        self._newest = Preview()
        self._changed = asyncio.Event()
        self._closing = False
        self._over = receipt.final > 0  # no more previews: refused, gone, or final parts are there
        # A resumed reply goes on in the message that is there.
        self._ts = receipt.ids[-1] if receipt.final < len(receipt.ids) else None
        self._native = place.streams and self._ts is None
        self._open = False  # a native stream is open
        self._text = ""  # what the native stream has of the text
        self._steps: dict[str, Step] = {}  # and of the steps
        self._shown: Content | None = None
        self._status = ""
        self._next_at = 0.0
        self._task: asyncio.Task[None] | None = None
        # A timer instead of a task: a quick reply pays for nothing else.
        self._timer = asyncio.get_running_loop().call_later(config.settle, self._start)

    async def show(self, preview: Preview) -> None:
        """Keep this state; it is sent in its time. Never raises, never waits."""
        self._newest = preview
        self._changed.set()

    async def close(self) -> None:
        """End the preview; returns when the call on its way has ended, so that no late edit follows the final text."""
        self._timer.cancel()
        self._closing = True
        self._changed.set()
        if self._task is not None:
            await asyncio.wait({self._task})
        with contextlib.suppress(ChannelError):
            if self._open and self._ts is not None:
                self._open = False
                await self._sender.stop_stream(self._place.address.chat, self._ts)
            elif self._status and self._ts is None:
                await self._say("")

    def _start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"stream {self._place.address}")
        self._own(self._task)

    async def _run(self) -> None:
        while not self._closing and not self._over:
            self._changed.clear()
            pause = await self._step()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wait(paced=pause is not None)

    async def _wait(self, *, paced: bool) -> None:
        """For a change; while paced, for the end of the reply only."""
        while not self._closing:
            await self._changed.wait()
            if not paced:
                return
            if not self._closing:
                self._changed.clear()

    async def _step(self) -> float | None:
        """Send what is due; seconds until more may go, None when there is nothing to do."""
        address = self._place.address
        if left := self._calls.gate.left(address.chat):
            return left
        before = self._newest
        try:
            await self._send(before)
        except FloodLimited as e:
            return e.retry_after
        except Gone:
            self._over = True
        except ChannelError as e:
            log.debug("a preview in %s failed: %s", address, e)
            self._next_at = self._clock() + 2 * self._config.update_every
        left = self._next_at - self._clock()
        return max(left, 0.01) if left > 0 or self._newest is not before else None

    async def _send(self, preview: Preview) -> None:
        if self._clock() < self._next_at or is_empty(preview):
            return
        if self._place.assistant and self._ts is None and not (preview.text or preview.steps):
            await self._say(status(preview))
        elif self._native:
            await self._stream(preview)
        else:
            await self._update(preview)

    async def _say(self, words: str) -> None:
        """The status of an assistant thread; Slack takes it away itself when a message comes."""
        if words == self._status:
            return
        address = self._place.address
        try:
            await self._calls.into(
                address.chat,
                "assistant.threads.setStatus",
                channel_id=address.chat,
                thread_ts=address.thread,
                status=words,
            )
        except Refused as e:
            log.debug("no status in %s: %s", address, e)
        self._status = words

    # A native stream -----------------------------------------------------------------------------------------------

    async def _stream(self, preview: Preview) -> None:
        """Append what is new.

        What was appended cannot be taken back: a text that begins anew ends the stream, and its message is updated from
        then on.
        """
        text = preview.text[:PART]  # well within the 12,000 characters of an append
        if not text.startswith(self._text):
            await self._end_stream()
            await self._update(preview)
            return
        chunks: list[dict[str, Any]] = [
            task(step) for step in preview.steps if self._steps.get(step.id) != step
        ]
        fresh = text[len(self._text) :]
        if fresh:
            chunks.append({"type": "markdown_text", "text": fresh})
        if not chunks:
            return
        if not await self._append(chunks):
            await self._update(preview)
            return
        self._text += fresh
        self._steps = {step.id: step for step in preview.steps}
        self._next_at = self._clock() + self._config.append_every

    async def _append(self, chunks: list[dict[str, Any]]) -> bool:
        """False when this place has no streams, or the stream was ended by somebody."""
        address = self._place.address
        try:
            if self._ts is None:
                await self._begin(chunks)
            else:
                await self._calls.into(
                    address.chat,
                    "chat.appendStream",
                    channel=address.chat,
                    ts=self._ts,
                    chunks=chunks,
                )
        except Refused as e:
            log.info("no stream in %s: %s", address, e)
            self._native = self._open = False
            return False
        return True

    async def _begin(self, chunks: list[dict[str, Any]]) -> None:
        address = self._place.address
        user, team = self._place.recipient or (None, None)
        start = {
            "channel": address.chat,
            "thread_ts": address.thread,
            "recipient_user_id": user,
            "recipient_team_id": team,
        }
        # The buttons stand above the text, since what is appended stays where it is; the final text replaces all.
        buttons = keyboard(self._newest.buttons)
        head = [{"type": "blocks", "blocks": buttons}] if buttons else []
        with self._first():
            try:
                answer = await self._started(start | {"chunks": [*head, *chunks]})
            except Refused as e:
                if not head or code_of(e) not in NO_BLOCKS:
                    raise
                log.info("a stream in %s takes no buttons: %s", address, e)
                answer = await self._started(start | {"chunks": chunks})
            self._ts, self._open = str(answer["ts"]), True
            await self._receipt.shown(self._ts, final=False)

    async def _started(self, args: dict[str, Any]) -> Answer:
        return await self._calls.into(self._place.address.chat, "chat.startStream", **args)

    async def _end_stream(self) -> None:
        self._native = False
        if self._open and self._ts is not None:
            await self._sender.stop_stream(self._place.address.chat, self._ts)
            self._open = False

    # A message that is updated -------------------------------------------------------------------------------------

    async def _update(self, preview: Preview) -> None:
        wanted = shown(preview)
        if wanted == self._shown:
            return
        try:
            await self._put(wanted)
        except Refused as e:
            if code_of(e) not in UNFIT:
                self._over = True
                raise
            await self._put(Content(wanted.text))
        self._shown = wanted
        self._next_at = self._clock() + self._config.update_every

    async def _put(self, wanted: Content) -> None:
        address = self._place.address
        own = preview_id(address, self._place.reply_to)
        if self._ts is not None:
            if not await self._sender.update(address.chat, self._ts, wanted, own):
                self._over = True  # deleted by somebody: `send` puts the reply there anew
            return
        with self._first():
            self._ts = await self._sender.post(address, wanted, own)
            await self._receipt.shown(self._ts, final=False)

    @contextlib.contextmanager
    def _first(self) -> Iterator[None]:
        """Perhaps it is visible without a row that says so: a second one would be one too many, and `send` looks."""
        try:
            yield
        except (FloodLimited, Refused, Gone, Unreachable):
            raise  # nothing was sent
        except Exception:
            self._over = True
            self._sender.doubt(preview_id(self._place.address, self._place.reply_to))
            raise
