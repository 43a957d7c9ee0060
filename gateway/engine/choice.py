"""Which engine runs the turns: the embedded one, or the one that several gateways on one PostgreSQL share."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from agent_core.ports import Clock
from gateway.budgets.waiters import Waiters
from gateway.engine.base import Engine, Runner
from gateway.engine.local import LocalEngine
from gateway.settings.settings import Settings
from gateway.storage.db import Database, url_of

Kind = Literal["local", "procrastinate"]


@dataclass(frozen=True, slots=True)
class Role:
    """The engine role that this process has. `alone`: no other process is alive that could run anything."""

    kind: Kind
    alone: bool


def kind_of(settings: Settings, dialect: str) -> Kind:
    """The engine of these settings. Raises SettingsError where it is not installed."""
    kind, installed = settings.engine.kind, find_spec("procrastinate") is not None
    if kind == "auto":
        return "procrastinate" if dialect == "postgresql" and installed else "local"
    if kind == "procrastinate" and not installed:
        cure = "pip install 'swarmgate[postgres]', or leave it at auto"
        raise settings.refuse("engine.kind", "procrastinate is not installed", cure)
    return kind


async def take_role(settings: Settings, db: Database, *, alone: bool) -> Role:
    """Take the engine role until the database is closed. Raises DatabaseError, SettingsError.

    `alone`: nobody else may run anything meanwhile, whatever the settings say.
    """
    kind: Kind = "local" if alone else kind_of(settings, db.dialect)
    if kind == "local":
        await db.lock_engine()
        return Role(kind, alone=True)
    return Role(kind, alone=await db.join_engine())


def engine_of(
    settings: Settings, db: Database, runner: Runner, clock: Clock, role: Role, waiters: Waiters
) -> Engine:
    """The engine of this role; turns that wait for a pot are waked by it."""
    most = settings.sessions.max_running
    if role.kind == "local":
        local = LocalEngine(runner, max_running=most)
        waiters.wake = local.wake
        return local
    from gateway.engine.procrastinate import ProcrastinateEngine
    from gateway.engine.recovery import Beats

    secret = settings.database
    url = url_of(secret.get_secret_value() if secret else None, settings.data_dir)
    beats = Beats(settings.engine.beat_s, settings.engine.stale_s)
    shared = ProcrastinateEngine(
        runner, db, url, clock, max_running=most, beats=beats, alone=role.alone
    )
    waiters.elsewhere = shared
    return shared
