"""What open pages of the console cost, and whether turns are slower beside them: `make bench-console`.

    python -m tests.bench.console [--viewers 500] [--seconds 10] [--rounds 5] [--pages]

Rounds without and with viewers alternate in one process, with the same turns in each: messages that the demo planner
answers, one after the other, while something that pages show changes all the time. Viewers are real connections from
another process; with `--pages` they also read their page anew, as a browser does that is told of a change.

Loop time is the CPU time of the gateway's loop thread (`time.thread_time`); what viewers cost is a round with them less
the round before it, for each second and each hundred. A turn is timed from a message to its answer. All results are
medians of the rounds.
"""

import argparse
import asyncio
import contextlib
import datetime as dt
import json
import multiprocessing
import multiprocessing.synchronize
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
from sqlalchemy import Connection, text

from agent_core.models.demo import DemoModel
from channels.terminal.channel import TerminalChannel, TerminalClient
from gateway.app import Core
from gateway.console.flash import LIVE
from gateway.settings.access import Access
from tests.harness import judged
from tests.unit.gateway.console_house import OF, ConsoleHouse, console_house

CHANGE_S = 1.0  # between changes that every page is told of
TURN_S = 0.25  # between an answer and the next message
PAGES = ("", "/runs", "/people", "/deliveries", "/usage")
Signal = multiprocessing.synchronize.Event


@dataclass
class Round:
    """What one round came to.

    `loop_ms` is CPU of the loop's thread in a second, `late_ms` the worst delay of a callback.
    """

    loop_ms: float = 0.0
    late_ms: float = 0.0
    turns_ms: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """Medians of all rounds. `each_ms`: loop time in a second for each hundred viewers."""

    viewers: int
    rounds: int
    each_ms: float
    alone: Round
    beside: Round

    def lines(self) -> list[str]:
        """As people read it."""
        rows = [("without viewers", self.alone), (f"with {self.viewers}", self.beside)]
        return [
            f"{self.viewers} viewers: {self.each_ms:.3f} ms of loop time in a second for each 100",
            "| | loop, ms/s | turn p50, ms | turn p95, ms | turns | latest callback, ms |",
            "|---|---|---|---|---|---|",
            *(
                f"| {name} | {r.loop_ms:.1f} | {share(r.turns_ms, 50):.1f} | {share(r.turns_ms, 95):.1f}"
                f" | {len(r.turns_ms)} | {r.late_ms:.1f} |"
                for name, r in rows
            ),
            f"medians of {self.rounds} pairs of rounds",
        ]


def share(values: list[float], percent: int) -> float:
    """A percentile; 0 for nothing."""
    if not values:
        return 0.0
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


# Viewers, in a process of their own ---------------------------------------------------------------


def watch(url: str, viewers: int, pages: bool, ready: Signal, over: Signal) -> None:
    """Hold so many streams open until it is over."""
    room_for(viewers)
    asyncio.run(_watch(url, viewers, pages, ready, over))


async def _watch(url: str, viewers: int, pages: bool, ready: Signal, over: Signal) -> None:
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(
        url,
        cookie_jar=jar,
        connector=aiohttp.TCPConnector(limit=0),
        headers={"Origin": url},
        timeout=aiohttp.ClientTimeout(total=None),
    ) as client:
        async with client.post("/console/login", data={"token": OF["viewer"]}):
            pass
        streams = [await client.get("/console/events") for _ in range(viewers)]
        tasks = [asyncio.create_task(_look(client, s, n, pages)) for n, s in enumerate(streams)]
        ready.set()
        await asyncio.to_thread(over.wait)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _look(
    client: aiohttp.ClientSession, stream: aiohttp.ClientResponse, number: int, pages: bool
) -> None:
    """One page: reads what it is told, and reads itself anew as gateway/console/static/live.js does."""
    path, last = PAGES[number % len(PAGES)], 0.0
    async for line in stream.content:
        if not (pages and line.startswith(b"data: ")):
            continue
        pace = json.loads(line.removeprefix(b"data: "))["pace"]
        if time.monotonic() < last + pace:
            continue
        last = time.monotonic()
        await asyncio.sleep(random.random() * pace)
        async with client.get(f"/console{path}", headers={LIVE: "1"}) as page:
            await page.read()


def room_for(viewers: int) -> None:
    """Let the process hold so many connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, viewers + 200)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@asynccontextmanager
async def looking_on(url: str, viewers: int, *, pages: bool) -> AsyncIterator[None]:
    """Viewers, from when all of them are connected."""
    context = multiprocessing.get_context("spawn")
    ready, over = context.Event(), context.Event()
    process = context.Process(target=watch, args=(url, viewers, pages, ready, over), daemon=True)
    process.start()
    try:
        if not await asyncio.to_thread(ready.wait, 120):
            raise TimeoutError("the viewers did not get in within two minutes")
        await asyncio.sleep(1)
        yield
    finally:
        over.set()
        await asyncio.to_thread(process.join, 30)
        process.kill()


# The gateway, in this one -------------------------------------------------------------------------


@asynccontextmanager
async def talking(core: Core) -> AsyncIterator[TerminalClient]:
    """A person at a terminal, with everything at work that answers."""
    terminal = TerminalChannel()
    async with contextlib.AsyncExitStack() as stack:
        quick = DemoModel(chunk_delay=0)
        core.turns.services = replace(core.turns.services, model=lambda _: quick)
        await core.channels.start([terminal], core.intake.accept)
        stack.push_async_callback(core.channels.stop)
        await core.senders.start()
        await core.engine.start()
        client = terminal.connect("alice", "bench", "en")
        stack.callback(client.close)
        yield client


async def one_round(house: ConsoleHouse, client: TerminalClient, seconds: float) -> Round:
    """Turns, one after the other, for so long."""
    found = Round()
    began, cpu = time.perf_counter(), time.thread_time()
    helpers = [asyncio.create_task(_changes(house)), asyncio.create_task(_lateness(found))]
    items = client.items()
    while time.perf_counter() - began < seconds:
        sent = time.perf_counter()
        await client.say("hello")
        while (await anext(items))[0] != "message":
            pass
        found.turns_ms.append((time.perf_counter() - sent) * 1000)
        await asyncio.sleep(TURN_S)
    for task in helpers:
        task.cancel()
    await asyncio.gather(*helpers, return_exceptions=True)
    found.loop_ms = (time.thread_time() - cpu) / (time.perf_counter() - began) * 1000
    return found


async def _lateness(found: Round) -> None:
    while True:
        due = time.perf_counter() + 0.02
        await asyncio.sleep(0.02)
        found.late_ms = max(found.late_ms, (time.perf_counter() - due) * 1000)


async def _changes(house: ConsoleHouse) -> None:
    number = 0
    while True:
        number += 1
        await house.core.db.write(partial(_change, number=number))
        await asyncio.sleep(CHANGE_S)


def _change(conn: Connection, number: int) -> None:
    """Something that every open page is told of."""
    now = dt.datetime.now(dt.UTC)
    conn.execute(text("delete from pairing"))
    for one in range(number % 7 + 1):
        judged(conn, Access(default="pairing"), f"telegram:{9_000 + one}", "Bob", now)


async def measured(viewers: int, seconds: float, rounds: int, *, pages: bool = False) -> Report:
    """Alternate rounds without and with viewers."""
    room_for(viewers)
    alone, beside = list[Round](), list[Round]()
    limits: dict[str, Any] = {"rate_limit": {"messages_per_minute": 100_000}}
    with tempfile.TemporaryDirectory() as folder:
        async with (
            console_house(Path(folder), preset="solo", sessions=limits) as house,
            talking(house.core) as client,
        ):
            await one_round(house, client, min(seconds, 2.0))  # what is warm from then on
            for _ in range(rounds):
                alone.append(await one_round(house, client, seconds))
                async with looking_on(house.url, viewers, pages=pages):
                    beside.append(await one_round(house, client, seconds))
    costs = [b.loop_ms - a.loop_ms for a, b in zip(alone, beside, strict=True)]
    each = statistics.median(costs) / viewers * 100
    return Report(viewers, rounds, each, middle(alone), middle(beside))


def middle(rounds: list[Round]) -> Round:
    """The medians of some rounds; all their turns."""
    return Round(
        statistics.median(r.loop_ms for r in rounds),
        statistics.median(r.late_ms for r in rounds),
        [ms for r in rounds for ms in r.turns_ms],
    )


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--viewers", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", action="store_true", help="viewers read their pages anew")
    given = parser.parse_args()
    report = asyncio.run(measured(given.viewers, given.seconds, given.rounds, pages=given.pages))
    sys.stdout.write("\n".join(report.lines()) + "\n")


if __name__ == "__main__":
    main()
