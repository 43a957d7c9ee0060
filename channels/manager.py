"""Supervision of channels: each in an owned task, started again when it ends; one stream in, sending by address."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from channels.base import CanArchive, Channel, Emit, HasPulse, Receipt
from channels.errors import BadCredentials, ChannelError, UnknownChannel, Unreachable
from channels.types import Address, Outbound

log = logging.getLogger(__name__)

FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 60.0
HEALTHY_AFTER_S = 300.0  # a run of this length starts the back-off anew


class State(StrEnum):
    """Where a channel stands."""

    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ChannelState:
    """For status pages. `reason` is one line, empty while all is well; `restarts` counts since `start`.

    `heard`: seconds since the platform last gave a sign of life (a poll, a heart-beat, a post); None where there was
    none yet, or where there is no platform to hear.
    """

    name: str
    account: str
    state: State
    reason: str
    restarts: int
    heard: float | None = None


@dataclass(slots=True)
class _Seat:
    """One supervised channel."""

    channel: Channel
    state: State = State.STARTING
    reason: str = ""
    restarts: int = 0
    settled: asyncio.Event = field(default_factory=asyncio.Event)  # ready or failed, once
    task: asyncio.Task[None] | None = None

    def ready(self) -> None:
        """The channel says that updates flow."""
        self.state, self.reason = State.READY, ""
        self.settled.set()

    def fail(self, reason: str) -> None:
        """It will not run until the next start."""
        self.state, self.reason = State.FAILED, reason
        self.settled.set()


class ChannelManager:
    """Runs channels side by side; one that fails leaves the others alone.

    A channel is a consumer once at most: `start` refuses while channels run, and `stop` returns when every one of them
    has ended.

    Args:
        sleep: waits between restarts, seconds (1, 2, 4 … 60; from 1 again after 5 healthy minutes).
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sleep = sleep
        self._clock = clock
        self._seats: list[_Seat] = []

    async def run(self, channels: Sequence[Channel], emit: Emit) -> None:
        """`start`, then `stop` when this is cancelled."""
        await self.start(channels, emit)
        try:
            await asyncio.Event().wait()
        finally:
            await self.stop()

    async def start(self, channels: Sequence[Channel], emit: Emit) -> None:
        """Begin to run channels; returns at once. `emit` is handed to each as it is.

        Raises RuntimeError while channels run, ValueError when two have one name and account.
        """
        if any(seat.task for seat in self._seats):
            raise RuntimeError("the channels run already; stop them first")
        places = [(channel.name, account_of(channel)) for channel in channels]
        twice = {":".join(place) for place in places if place[1] and places.count(place) > 1}
        if twice:
            raise ValueError(f"{', '.join(sorted(twice))} is there twice; remove one of them")
        self._seats = [_Seat(channel) for channel in channels]
        for seat in self._seats:
            name = f"channel {seat.channel.name}"
            seat.task = asyncio.create_task(self._supervise(seat, emit), name=name)

    async def stop(self) -> None:
        """End every channel and wait until it has. May be called twice, at once, and without `start`."""
        tasks = [seat.task for seat in self._seats if seat.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for seat in self._seats:
            seat.task = None
            if seat.state is not State.FAILED:
                seat.state = State.STOPPED
            seat.settled.set()

    async def wait_ready(self, channel: Channel | None = None) -> None:
        """Until this channel, or every one, was ready once or has failed for good."""
        for seat in self._seats:
            if channel is None or seat.channel is channel:
                await seat.settled.wait()

    def is_ready(self, channel: Channel) -> bool:
        """Whether updates of this channel flow now."""
        return any(s.channel is channel and s.state is State.READY for s in self._seats)

    def get(self, address: Address) -> Channel:
        """The channel of an address, by name and account; a failed channel is still known.

        Raises Unreachable while a channel of this name does not know its account yet, else UnknownChannel.
        """
        waiting = False
        for seat in self._seats:
            channel = seat.channel
            if channel.name == address.channel and account_of(channel) == address.account:
                return channel
            waiting |= channel.name == address.channel and not account_of(channel)
        if waiting:
            raise Unreachable(f"{address.channel} is not connected yet")
        raise UnknownChannel(f"no channel {address.channel}:{address.account} is enabled")

    def archives(self, address: Address) -> bool:
        """Whether this place is a thread that is put away with its conversation; see CanArchive."""
        try:
            channel = self.get(address)
        except ChannelError:
            return False
        return isinstance(channel, CanArchive) and channel.archives(address)

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        """`Channel.send` of the channel that the address names. Raises UnknownChannel besides."""
        await self.get(out.address).send(out, receipt)

    def states(self) -> list[ChannelState]:
        """Where each channel stands, in the order they were given."""
        return [
            ChannelState(
                seat.channel.name,
                account_of(seat.channel),
                seat.state,
                seat.reason,
                seat.restarts,
                seat.channel.pulse.age() if isinstance(seat.channel, HasPulse) else None,
            )
            for seat in self._seats
        ]

    async def _supervise(self, seat: _Seat, emit: Emit) -> None:
        delay = FIRST_DELAY_S
        while True:
            began = self._clock()
            try:
                await seat.channel.run(emit, seat.ready)
                reason = "it ended by itself"
            except BadCredentials as error:
                seat.fail(_one_line(error))
                log.error(  # noqa: TRY400 - the reason says it all
                    "channel_failed", extra={"channel": seat.channel.name, "reason": seat.reason}
                )
                return
            except asyncio.CancelledError:
                if _is_cancelled():
                    raise
                reason = "it cancelled itself"
            except Exception as error:
                reason = _one_line(error)
                log.exception("channel_ended", extra={"channel": seat.channel.name})
            if self._clock() - began >= HEALTHY_AFTER_S:
                delay = FIRST_DELAY_S
            seat.state, seat.reason = State.RESTARTING, reason
            seat.restarts += 1
            log.warning(
                "channel_restarts",
                extra={"channel": seat.channel.name, "reason": reason, "delay_s": delay},
            )
            await self._sleep(delay)
            delay = min(delay * 2, LONGEST_DELAY_S)


def account_of(channel: Channel) -> str:
    """The bot's own id; empty while the channel does not know it."""
    return str(getattr(channel, "account", "") or "")


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    kind = type(error).__name__
    if isinstance(error, ChannelError) and text:
        return text
    return f"{kind}: {text}"[:300] if text else kind
