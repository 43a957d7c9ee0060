"""How much a replica carries, and how many are needed for how many users: a simulation of one peak quarter of an hour.

    python -m tests.bench.capacity [--measure] [--users 1000000] [--slots 32] [--cpu-ms 12]

Arrivals: of all users a share is active on a day; an active one comes for some visits, each of some messages, which
are think-times apart (lognormal), so messages come in clusters, not one by one. Visits begin as a Poisson process at
the rate of the busiest hour. A message's turn takes a lognormal time, nearly all of it in the model; a few turns are
swarms that take minutes. A message that comes while its chat's turn runs joins that turn (`while_busy: steer`): it
needs no slot.

A replica is one process on one core: it runs `--slots` turns at once (`sessions.max_running`) and spends `--cpu-ms` of
CPU on each message. Turns wait in one queue where all slots are taken. The number of replicas is the smallest with
which 95 of 100 messages wait less than a second and the cores are busy for less than 60 %; one more lets any of them
die.

`--measure` takes memory and database work of a turn from this machine instead of the constants below. CPU of a message
over the network is what `make bench` says.
"""

import argparse
import asyncio
import heapq
import math
import random
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
USERS = (100, 1_000, 10_000, 100_000, 1_000_000)
WARM_S, PEAK_S = 600.0, 900.0  # what is simulated first and not counted, and what is counted
WAIT_S, BUSY = 1.0, 0.6
COLUMNS = (
    "users",
    "messages/s at the peak",
    "joined a turn",
    "turns at once (most)",
    "replicas",
    "CPU of each",
    "memory of each",
    "transactions/s",
)


@dataclass(frozen=True, slots=True)
class People:
    """How people write. Times in seconds; `spread` is the sigma of a lognormal distribution."""

    active: float = 0.3  # of all users, on a day
    visits: float = 3.0  # of an active user, a day
    messages: float = 4.0  # of a visit, geometric
    think: float = 45.0  # median between two messages of a visit
    think_spread: float = 1.0
    peak: float = 3.0  # the busiest hour over the mean of the day


@dataclass(frozen=True, slots=True)
class Work:
    """What a turn takes."""

    turn: float = 8.0  # median seconds
    turn_spread: float = 0.9  # p95 35 s
    swarm: float = 0.05  # share of turns that are swarms
    swarm_turn: float = 90.0
    swarm_spread: float = 0.6
    cpu: float = 0.025  # seconds of CPU of a message on a busy machine
    base_mb: float = 135.0  # an idle process with one platform and a model's client
    turn_mb: float = 0.2  # of a running turn
    writes: float = 6.1  # transactions of a message


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one peak. Rates are a second; waits in seconds; `running` and `busy` are means, `most` a maximum."""

    rate: float
    steered: float
    running: float
    most: int
    p50: float
    p95: float
    busy: float


def arrivals(users: int, people: People, random_: random.Random) -> Iterator[tuple[float, int]]:
    """(seconds, chat) of each message, in order; each visit is a chat of its own."""
    visits_a_second = users * people.active * people.visits / 86_400 * people.peak
    coming: list[tuple[float, int, int]] = []  # (when, chat, messages left)
    begins, chat = random_.expovariate(visits_a_second), 0
    end = WARM_S + PEAK_S
    while True:
        while begins < end and (not coming or begins <= coming[0][0]):
            left = 1 + int(math.log(1 - random_.random()) / math.log(1 - 1 / people.messages))
            heapq.heappush(coming, (begins, chat, left))
            chat += 1
            begins += random_.expovariate(visits_a_second)
        if not coming:
            return
        at, who, left = heapq.heappop(coming)
        if at >= end:
            return
        yield at, who
        if left > 1:
            pause = random_.lognormvariate(math.log(people.think), people.think_spread)
            heapq.heappush(coming, (at + pause, who, left - 1))


def duration(work: Work, random_: random.Random) -> float:
    """Seconds of one turn."""
    if random_.random() < work.swarm:
        return random_.lognormvariate(math.log(work.swarm_turn), work.swarm_spread)
    return random_.lognormvariate(math.log(work.turn), work.turn_spread)


def simulate(users: int, slots: int, people: People, work: Work, seed: int = 1) -> Outcome:
    """One peak with so many slots in all. First come, first served."""
    comes, lasts = random.Random(seed), random.Random(seed + 1)  # people do not depend on slots
    free = [0.0] * slots  # when each slot is free again
    until: dict[int, float] = {}  # chat → when its turn ends
    waits, steered, came, seconds = [], 0, 0, 0.0
    ends: list[float] = []
    most = 0
    for at, chat in arrivals(users, people, comes):
        counts = at >= WARM_S
        came += counts
        if until.get(chat, 0.0) > at:
            steered += counts
            continue
        begins = max(at, heapq.heappop(free))
        ended = begins + duration(work, lasts)
        heapq.heappush(free, ended)
        until[chat] = ended
        while ends and ends[0] <= begins:
            heapq.heappop(ends)
        heapq.heappush(ends, ended)
        if counts:
            waits.append(begins - at)
            seconds += ended - begins
            most = max(most, len(ends))
    waits.sort()
    rate = came / PEAK_S
    quantile = lambda q: waits[int(q * (len(waits) - 1))] if waits else 0.0  # noqa: E731
    return Outcome(
        rate,
        steered / PEAK_S,
        seconds / PEAK_S,
        most,
        quantile(0.5),
        quantile(0.95),
        rate * work.cpu,
    )


def replicas(users: int, slots: int, people: People, work: Work) -> tuple[int, Outcome]:
    """The smallest number that holds the two limits, and what it comes to."""
    low = max(
        1, math.ceil(simulate(users, 10**6 if users > 10**5 else 10**5, people, work).busy / BUSY)
    )
    number = low
    while True:
        outcome = simulate(users, number * slots, people, work)
        if outcome.p95 <= WAIT_S:
            return number, outcome
        number += max(1, number // 8)


def table(slots: int, people: People, work: Work, users: tuple[int, ...]) -> Iterator[str]:
    """The capacity table, as Markdown."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"|{' ---: |' * len(COLUMNS)}"
    for number in users:
        count, found = replicas(number, slots, people, work)
        memory = work.base_mb + work.turn_mb * min(slots, math.ceil(found.most / count))
        share = found.steered / found.rate if found.rate else 0.0
        cells = (
            f"{number:,}",
            f"{found.rate:.2f}",
            f"{share:.0%}",
            f"{found.running:.0f} ({found.most})",
            f"{count} + 1",
            f"{found.busy / count:.0%}",
            f"{memory:.0f} MB",
            f"{found.rate * work.writes:.0f}",
        )
        yield f"| {' | '.join(cells)} |"


async def measured(chats: int = 300) -> tuple[float, float, float]:
    """(MB of a running turn, transactions and CPU seconds of a message without network), from this process."""
    from gateway.storage.schema import open_database
    from tests.house import House, settings

    gate, waiting = asyncio.Event(), 0

    async def answer(_: object) -> str:
        nonlocal waiting
        waiting += 1
        await gate.wait()
        return "Here is a short answer in one paragraph, as a chat has many of them."

    rules = settings(
        access={"default": "allow"},
        sessions={"max_running": 10_000, "rate_limit": {"messages_per_minute": 100_000}},
    )
    with tempfile.TemporaryDirectory() as folder:
        db = await open_database(f"sqlite:///{folder}/capacity.db")
        writes = 0
        write = db.write

        async def counted(work: Callable[..., object]) -> object:
            nonlocal writes
            writes += 1
            return await write(work)  # type: ignore[arg-type]

        db.write = counted  # type: ignore[method-assign, assignment]
        async with House(db, answer, rules=rules) as house:
            await house.say("warm", chat="0")
            before, began, first = rss_mb(), cpu(), writes
            for chat in range(1, chats + 1):
                await house.say("how is GOOG doing today?", author=str(chat), chat=str(chat))
            while waiting <= chats:
                await asyncio.sleep(0.01)
            held = (rss_mb() - before) / chats
            gate.set()
            await house.quiet()
            spent, wrote = (cpu() - began) / chats, (writes - first) / chats
        await db.close()
    return held, wrote, spent


def cpu() -> float:
    """Seconds of CPU of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def rss_mb() -> float:
    """Resident memory of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--users", type=int, nargs="*", default=USERS)
    parser.add_argument("--slots", type=int, default=32, help="sessions.max_running of a replica")
    parser.add_argument("--cpu-ms", type=float, default=Work().cpu * 1000)
    parser.add_argument("--peak", type=float, default=People().peak)
    parser.add_argument("--turn", type=float, default=Work().turn, help="median seconds of a turn")
    parser.add_argument("--measure", action="store_true")
    args = parser.parse_args()
    work = Work(cpu=args.cpu_ms / 1000, turn=args.turn)
    if args.measure:
        held, wrote, spent = asyncio.run(measured())
        print(
            f"measured: {held:.3f} MB a running turn, {wrote:.1f} transactions and {spent * 1000:.1f} ms of CPU "
            "a message without network\n"
        )
        work = Work(cpu=work.cpu, turn=work.turn, turn_mb=held, writes=wrote)
    for line in table(args.slots, People(peak=args.peak), work, tuple(args.users)):
        print(line, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
