"""Supervision of channels: each in an owned task, started again when it ends; one stream in, sending by address."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from channels.base import CanArchive, CanClose, CanShare, Channel, Emit, HasPulse, Receipt
from channels.errors import BadCredentials, ChannelError, UnknownChannel, Unreachable
from channels.types import Address, Outbound

log = logging.getLogger(__name__)

FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 60.0
HEALTHY_AFTER_S = 300.0  # a run of this length starts the back-off anew
# Runs a body while this process is the one that receives for a bot (its name); see gateway/roles/roles.py.
Own = Callable[[str, Callable[[], Awaitable[None]]], Awaitable[None]]


class State(StrEnum):
    """Where a channel stands."""

    STARTING = "starting"
    READY = "ready"
    STANDBY = "standby"  # another process receives; this one sends
    RESTARTING = "restarting"
    FAILED = "failed"
    STOPPED = "stopped"


FIT = (State.READY, State.STANDBY)


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

    @property
    def fit(self) -> bool:
        """Whether all is well: it receives, or stands by for a process that does."""
        return self.state in FIT


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

    def stand_by(self) -> None:
        """Another process may receive: this one sends, and waits."""
        self.state, self.reason = State.STANDBY, ""
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
        own: where several processes run the same bots, decides who receives for one; None: this process does.
    """

    def __init__(
        self,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        own: Own | None = None,
    ) -> None:
        self._sleep = sleep
        self._clock = clock
        self._own = own
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
            seat.task = asyncio.create_task(self._serve(seat, emit), name=name)

    async def leave(self) -> None:
        """Give up receiving where another process goes on with it; sending goes on until `stop`."""
        if self._own is not None:
            await self._end([seat for seat in self._seats if not is_shared(seat.channel)])

    async def stop(self) -> None:
        """End every channel and wait until it has. May be called twice, at once, and without `start`."""
        await self._end(self._seats)
        for seat in self._seats:
            if isinstance(seat.channel, CanClose):
                await seat.channel.close()

    async def _end(self, seats: Sequence[_Seat]) -> None:
        tasks = [seat.task for seat in seats if seat.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for seat in seats:
            seat.task = None
            if seat.state is not State.FAILED:
                seat.state = State.STOPPED
            seat.settled.set()

    async def wait_ready(self, channel: Channel | None = None) -> None:
        """Until this channel, or every one, was ready once, stands by, or has failed for good."""
        for seat in self._seats:
            if channel is None or seat.channel is channel:
                await seat.settled.wait()

    def is_ready(self, channel: Channel) -> bool:
        """Whether updates of this channel flow now."""
        return any(s.channel is channel and s.state is State.READY for s in self._seats)

    def can_send(self, channel: Channel) -> bool:
        """Whether this process may send for it now, whoever receives."""
        return any(s.channel is channel and s.state in FIT for s in self._seats)

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
                _heard(seat),
            )
            for seat in self._seats
        ]

    async def _serve(self, seat: _Seat, emit: Emit) -> None:
        """Run a channel; one that a single process may run, while that is this one."""
        if self._own is None or is_shared(seat.channel):
            await self._supervise(seat, emit)
            return
        if not await self._meet(seat):
            return

        async def receive() -> None:
            seat.state = State.STARTING
            try:
                await self._supervise(seat, emit)
            finally:
                if seat.state is not State.FAILED:
                    seat.stand_by()

        seat.stand_by()
        await self._own(f"{seat.channel.name}:{account_of(seat.channel)}", receive)

    async def _meet(self, seat: _Seat) -> bool:
        """Learn who the bot is; false when the platform refuses it."""
        if not isinstance(seat.channel, CanShare):
            return True
        try:
            await seat.channel.meet()
        except BadCredentials as error:
            self._refused(seat, error)
            return False
        return True

    def _refused(self, seat: _Seat, error: BadCredentials) -> None:
        seat.fail(_one_line(error))
        log.error("channel_failed", extra={"channel": seat.channel.name, "reason": seat.reason})

    async def _supervise(self, seat: _Seat, emit: Emit) -> None:
        delay = FIRST_DELAY_S
        while True:
            began = self._clock()
            try:
                await seat.channel.run(emit, seat.ready)
                reason = "it ended by itself"
            except BadCredentials as error:
                self._refused(seat, error)
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


def _heard(seat: _Seat) -> float | None:
    if seat.state is State.STANDBY or not isinstance(seat.channel, HasPulse):
        return None
    return seat.channel.pulse.age()


def is_shared(channel: Channel) -> bool:
    """Whether every process may run it at once; one that does not say so is run by one."""
    return isinstance(channel, CanShare) and channel.shared


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    kind = type(error).__name__
    if isinstance(error, ChannelError) and text:
        return text
    return f"{kind}: {text}"[:300] if text else kind
