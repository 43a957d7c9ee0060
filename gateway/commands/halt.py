"""/halt: the kill switch in chat, for operators (gateway/trading/halt.py). It waits for no turn."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from agent_core.storage import orders_halt as switch
from gateway.settings.access import Access
from gateway.texts.texts import say
from gateway.trading import halt

if TYPE_CHECKING:
    from gateway.commands.commands import Asked

OFF, STATUS = frozenset({"off", "resume", "关", "恢复"}), frozenset({"status", "状态"})
REASON_CHARS = 200


def handlers(
    access: Access, file: Path | None, thrown: Callable[[], None]
) -> "dict[str, Callable[[Connection, Asked], str]]":
    """`thrown` is called when the switch was thrown, from the database's thread and before the commit."""

    def run(conn: Connection, asked: "Asked") -> str:
        if access.role(asked.person) != "operator":
            return say("halt_operators", asked.language)
        word = asked.route.rest.strip().lower()
        if word in STATUS:
            return _status(conn, asked, file)
        if word in OFF:
            return _resume(conn, asked, file)
        reason = asked.route.rest.strip()[:REASON_CHARS]
        done = halt.stop(conn, asked.person, reason, asked.now)
        thrown()
        return say("halted", asked.language, cancelled=done.cancelled, left=done.left)

    return {"halt": run}


def halted(conn: Connection, file: Path | None) -> bool:
    """Whether no order is placed now: the switch was thrown, or the file is there."""
    return switch.read(conn).halted or (file is not None and file.exists())


def _status(conn: Connection, asked: "Asked", file: Path | None) -> str:
    found = switch.read(conn)
    if file is not None and file.exists():
        return say("halt_file", asked.language)
    if not found.halted:
        return say("halt_is_off", asked.language)
    at = f"{found.at:%Y-%m-%d %H:%M}"
    return say("halt_is_on", asked.language, by=found.by, at=at, reason=found.reason).strip()


def _resume(conn: Connection, asked: "Asked", file: Path | None) -> str:
    was = halt.resume(conn, asked.person, asked.now)
    if file is not None and file.exists():
        return say("halt_file", asked.language)
    return say("trading_resumed" if was else "halt_is_off", asked.language)
