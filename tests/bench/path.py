"""The path of a message, measured against the bare client libraries in one run: `make bench`.

Each subject runs alone in a process of its own against the twins in this one; rounds are
interleaved. Overhead is the time from a message's arrival at the platform to its reply, less the
time in the model. Ratios are the result; absolute numbers belong to the machine. Linux only (reads
/proc).

    python tests/bench/path.py [--messages 30] [--rounds 2]
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.twins.anthropic import AnthropicTwin  # noqa: E402 - the repository is put on the path first
from tests.twins.llm_script import Turn, say  # noqa: E402
from tests.twins.telegram import TelegramTwin  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")
TOKEN = "123456:bench"
ANSWER = "Here is a short answer in one paragraph, as a chat has many of them."


@dataclass
class Figures:
    """What one round of one subject came to."""

    start_s: float = 0.0
    rss_mb: float = 0.0
    overhead_ms: list[float] = field(default_factory=list)
    cpu_ms: float = 0.0
    burst_per_s: float = 0.0


def settings(folder: Path, telegram: str, anthropic: str) -> Path:
    path = folder / "swarmgate.yaml"
    body = {
        "version": 1,
        "data_dir": str(folder / "data"),
        "preset": "solo",
        "http": {"port": 0},
        "models": {
            "default": "anthropic/bench",
            "providers": {"anthropic": {"api_key": "bench", "base_url": anthropic}},
        },
        "channels": {
            "telegram": {
                "enabled": True,
                "token": TOKEN,
                "base_url": f"{telegram}/bot",
                "base_file_url": f"{telegram}/file/bot",
            }
        },
        "access": {"default": "allow"},
        "sessions": {"rate_limit": {"messages_per_minute": 100_000}},
    }
    path.write_text(json.dumps(body), encoding="utf-8")
    return path


def swarmgate(folder: Path, telegram: str, anthropic: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "gateway",
        "run",
        "-c",
        str(settings(folder, telegram, anthropic)),
    ]


def floor(folder: Path, telegram: str, anthropic: str) -> list[str]:
    del folder, telegram, anthropic
    return [sys.executable, str(ROOT / "tests/bench/floor.py")]


SUBJECTS: dict[str, Callable[[Path, str, str], list[str]]] = {
    "swarmgate": swarmgate,
    "floor": floor,
}


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def rss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


async def ask(twin: TelegramTwin, chat: int, text: str) -> float:
    """One message and its reply; seconds."""
    before = len(twin.replies(chat)) if chat in twin.state.chats else 0
    began = time.perf_counter()
    twin.say(chat, text)
    await twin.wait_replies(chat, before + 1, timeout=60)
    return time.perf_counter() - began


async def one_round(name: str, messages: int) -> Figures:
    figures = Figures()
    telegram, anthropic = TelegramTwin(TOKEN), AnthropicTwin()
    await telegram.start()
    await anthropic.start()
    anthropic.reply_to(".*", [Turn([say(ANSWER)], chunk=24)] * (messages + 50))
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {
            "TELEGRAM_URL": telegram.url,
            "ANTHROPIC_URL": anthropic.url,
            "PYTHONPATH": str(ROOT),
        }
        argv = SUBJECTS[name](Path(folder), telegram.url, anthropic.url)
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *argv, env=env, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        try:
            await telegram.wait_call(r"getUpdates", timeout=60)
            figures.start_s = time.perf_counter() - began
            await asyncio.sleep(3)
            figures.rss_mb = rss_mb(process.pid)
            await measure(figures, telegram, process.pid, messages)
        finally:
            process.send_signal(signal.SIGKILL)
            await process.wait()
            await telegram.stop()
            await anthropic.stop()
    return figures


async def measure(figures: Figures, telegram: TelegramTwin, pid: int, messages: int) -> None:
    for n in range(3):
        await ask(telegram, 1, f"warm {n}")
    used = cpu_seconds(pid)
    for n in range(messages):
        figures.overhead_ms.append(1000 * await ask(telegram, 2, f"hello {n}"))
        await asyncio.sleep(0.05)
    figures.cpu_ms = 1000 * (cpu_seconds(pid) - used) / messages
    began = time.perf_counter()
    await asyncio.gather(*(ask(telegram, 100 + n, "burst") for n in range(40)))
    figures.burst_per_s = 40 / (time.perf_counter() - began)


def table(results: dict[str, list[Figures]]) -> str:
    rows: list[tuple[str, Callable[[Figures], float], str]] = [
        ("start to first poll", lambda f: f.start_s, "s"),
        ("memory, idle", lambda f: f.rss_mb, "MB"),
        ("reply p50 (model at 0 ms)", lambda f: statistics.median(f.overhead_ms), "ms"),
        ("CPU a message", lambda f: f.cpu_ms, "ms"),
        ("40 chats at once", lambda f: f.burst_per_s, "messages/s"),
    ]
    lines = ["| measure | swarmgate | floor | ratio |", "|---|---|---|---|"]
    for label, pick, unit in rows:
        ours, bare = (
            statistics.median(pick(f) for f in results[n]) for n in ("swarmgate", "floor")
        )
        lines.append(f"| {label} | {ours:.3g} {unit} | {bare:.3g} {unit} | {ours / bare:.2f} |")
    return "\n".join(lines)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--messages", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    results: dict[str, list[Figures]] = {name: [] for name in SUBJECTS}
    for _ in range(args.rounds):
        for name in SUBJECTS:
            results[name].append(await one_round(name, args.messages))
    print(table(results))
    print(
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; medians of {args.rounds} round(s)"
    )


if __name__ == "__main__":
    asyncio.run(main())
