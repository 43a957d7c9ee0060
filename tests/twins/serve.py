"""Run the twins in a process of their own: `python -m tests.twins.serve [telegram anthropic openai]`.

Prints one JSON line of addresses, and serves until its standard input ends or it is told to stop.
"""

import asyncio
import contextlib
import importlib
import json
import signal
import sys
from typing import Any

KNOWN = {
    "discord": ("tests.twins.discord", "DiscordTwin"),
    "telegram": ("tests.twins.telegram", "TelegramTwin"),
    "slack": ("tests.twins.slack", "SlackTwin"),
    "anthropic": ("tests.twins.anthropic", "AnthropicTwin"),
    "openai": ("tests.twins.openai", "OpenAITwin"),
}


def build(names: list[str]) -> dict[str, Any]:
    """The twins by name; all that exist when none is named. Raises KeyError for an unknown name."""
    twins: dict[str, Any] = {}
    for name in names or list(KNOWN):
        module, kind = KNOWN[name]
        try:
            twins[name] = getattr(importlib.import_module(module), kind)()
        except ModuleNotFoundError:
            if names:
                raise
    return twins


async def serve(names: list[str]) -> None:
    """Start, print the addresses, wait for the end, stop."""
    twins = build(names)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        for twin in twins.values():
            await twin.start()
        print(json.dumps({name: twin.url for name, twin in twins.items()}), flush=True)
        # A parent that is killed closes our standard input: twins never outlive the test.
        with contextlib.suppress(OSError, ValueError):
            loop.add_reader(sys.stdin, lambda: sys.stdin.buffer.read1(4096) or stop.set())
        await stop.wait()
    finally:
        for twin in twins.values():
            await twin.stop()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1:]))
