"""`chat`: a dialogue in the terminal, or one message and its answer."""

import asyncio
import getpass
import re
import sys
from pathlib import Path

from gateway import telemetry
from gateway.cli.config import settings_for
from gateway.cli.output import finish
from gateway.problems import OperatorError, Problem

_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,64}")


def talk(
    config: Path | None, *, user: str | None, session: str | None, text: str | None, as_json: bool
) -> int:
    """Returns 0 when every message was answered."""
    logs = telemetry.start(quiet=True)

    def command() -> int:
        from gateway import preflight

        settings = settings_for(config)
        logs.redactor.known(settings.secrets())
        preflight.require(settings.data_dir)
        who, message = _who(user), _piped() if text is None else text
        from gateway.process import chat

        return asyncio.run(chat(settings, user=who, session=session, text=message, as_json=as_json))

    return finish(command)


def _piped() -> str | None:
    """What was piped in, as one message; None at a terminal, where there is a dialogue."""
    if sys.stdin is None or sys.stdin.isatty():
        return None
    text = sys.stdin.read().strip()
    if not text:
        raise OperatorError(
            [Problem("there is no message", 'write: swarmgate chat "your message"')]
        )
    return text


def _who(user: str | None) -> str:
    if user is None:
        try:
            user = getpass.getuser()
        except (OSError, KeyError):  # no login name, as in some containers
            return "me"
    if not _NAME.fullmatch(user):
        cure = "use letters, digits, and . _ - @ only"
        raise OperatorError([Problem(f"{user!r} is no name for --user", cure)])
    return user
