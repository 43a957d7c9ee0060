"""`run` and `demo`: the gateway until SIGTERM or SIGINT.

`run` is started through here without Typer when its arguments are plain (30 ms less), so this file imports no Typer.
"""

import asyncio
import gc
import os
from collections.abc import Iterable
from pathlib import Path

from gateway import telemetry
from gateway.cli.config import find
from gateway.cli.output import finish, say
from gateway.problems import Problem


def run(config: Path | None = None, *, demo: bool = False) -> int:
    """Serve; returns the exit code: 0 after a clean stop, 2 when something must be mended first."""
    gc.disable()  # collecting during imports costs 60 ms of a start; the process does it once it polls
    logs = telemetry.start()

    def tell(problems: Iterable[Problem]) -> None:
        if not logs.as_json:
            say(problems)
            return
        for problem in problems:
            parts = {
                key: part for key, part in problem.as_dict().items() if part and key != "message"
            }
            logs.line("error", {"event": problem.message, **parts})

    return finish(lambda: _serve(config, logs, demo=demo), tell)


def _serve(config: Path | None, logs: telemetry.Telemetry, *, demo: bool) -> int:
    from gateway import preflight
    from gateway.http.token import console_token
    from gateway.settings.settings import load

    os.umask(0o077)  # the database, keys and the socket are the user's own
    settings = load(find(config, here=not demo), os.environ)
    logs.redactor.known(settings.secrets())
    preflight.require(settings.data_dir)
    logs.redactor.known([console_token(settings).value])
    for warning in settings.warnings:
        logs.line("warning", {"event": warning})

    from gateway.process import serve

    return asyncio.run(serve(settings, demo=demo, announce=logs.announce))


def plain(arguments: list[str]) -> tuple[bool, Path | None]:
    """Whether these arguments of `run` need no parser: none at all, or one `-c FILE`."""
    match arguments:
        case []:
            return True, None
        case ["-c" | "--config", file] if not file.startswith("-"):
            return True, Path(file)
        case _:
            return False, None
