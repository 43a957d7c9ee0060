"""What open pages of the console cost: event-loop time for each hundred viewers, while something changes all the time.

    python -m tests.bench.console [VIEWERS] [SECONDS]

Viewers are real connections from another process. Loop time is the CPU time of the gateway's loop thread, with viewers
less without them, divided by the seconds measured; `late` is how long a callback waited for its turn.
"""

import asyncio
import datetime as dt
import multiprocessing
import multiprocessing.synchronize
import sys
import tempfile
import time
from pathlib import Path

import aiohttp
from sqlalchemy import Connection, text

from gateway.people import access
from gateway.settings.access import Access
from tests.unit.gateway.console_house import OF, ConsoleHouse, console_house

CHANGES_S = 1.0


def watch(url: str, viewers: int, ready: "multiprocessing.synchronize.Event") -> None:
    """Hold so many streams open."""
    asyncio.run(_watch(url, viewers, ready))


async def _watch(url: str, viewers: int, ready: "multiprocessing.synchronize.Event") -> None:
    jar = aiohttp.CookieJar(unsafe=True)
    connector = aiohttp.TCPConnector(limit=0)
    headers = {"Origin": url}
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        url, cookie_jar=jar, connector=connector, headers=headers, timeout=timeout
    ) as client:
        async with client.post("/console/login", data={"token": OF["viewer"]}):
            pass
        streams = [await client.get("/console/events") for _ in range(viewers)]
        ready.set()
        await asyncio.gather(*(stream.read() for stream in streams), return_exceptions=True)


async def measured(house: ConsoleHouse, seconds: float) -> tuple[float, float]:
    """(CPU milliseconds of the loop's thread in a second, worst lateness of a callback in ms)."""
    began, cpu, worst = time.perf_counter(), time.thread_time(), 0.0
    n, due = 0, began
    while (now := time.perf_counter()) - began < seconds:
        worst = max(worst, now - due)
        if n % int(CHANGES_S / 0.02) == 0:
            await house.core.db.write(lambda conn, n=n: _change(conn, n))  # type: ignore[misc]
        n += 1
        due = time.perf_counter() + 0.02
        await asyncio.sleep(0.02)
    whole = time.perf_counter() - began
    return (time.thread_time() - cpu) / whole * 1000, worst * 1000


def _change(conn: Connection, n: int) -> None:
    """Something that every open page is told of."""
    now = dt.datetime.now(dt.UTC)
    conn.execute(text("delete from pairing"))
    for number in range(n % 7 + 1):
        access.judge(conn, Access(default="pairing"), f"telegram:{9_000 + number}", "Eve", now)


async def main(viewers: int, seconds: float) -> None:
    """Print the cost."""
    with tempfile.TemporaryDirectory() as folder:
        async with console_house(Path(folder)) as house:
            alone, late_alone = await measured(house, seconds)
            context = multiprocessing.get_context("spawn")
            ready = context.Event()
            process = context.Process(target=watch, args=(house.url, viewers, ready))
            process.start()
            await asyncio.to_thread(ready.wait, 120)
            await asyncio.sleep(3)
            crowded, late = await measured(house, seconds)
            process.kill()
            process.join()
    each = (crowded - alone) / viewers * 100
    print(
        f"{viewers} viewers: {crowded - alone:.2f} ms of loop time in a second, {each:.3f} for each 100"
    )
    print(f"a callback was late by {late:.1f} ms at most; without viewers {late_alone:.1f} ms")


if __name__ == "__main__":
    given = [float(value) for value in sys.argv[1:]]
    asyncio.run(main(int(given[0]) if given else 500, given[1] if len(given) > 1 else 20.0))
