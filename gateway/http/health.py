"""Health and figures: `/healthz` lives, `/readyz` takes messages, `/metrics` counts.

Without the operators' token `/readyz` says yes or no; with it, why: database, engine, and each channel with the age of
its last poll, heart-beat or post. A platform that is away does not make the process unready: another replica would not
reach it either, and the web chat goes on. A database that does not answer does.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import web
from sqlalchemy import Connection, text

from agent_core.ports import Clock
from channels.manager import ChannelState
from gateway.http.token import ConsoleToken, unauthorized
from gateway.metrics.loads import Loads, loads
from gateway.metrics.meter import Meter
from gateway.redact import Redactor
from gateway.storage.db import Database
from gateway.storage.schema import HEAD

if TYPE_CHECKING:
    from gateway.metrics.exposition import Exposition, Moment

log = logging.getLogger(__name__)
PATIENCE_S = 2.0  # for the database; a probe has a time-out of its own, of some seconds
FRESH_S = 1.0  # an answer of the database holds so long: whoever asks more often costs nothing
NO_STORE = {"Cache-Control": "no-store"}


@dataclass(slots=True)
class Subject:
    """What is looked at. `running` turns of `slots` that may run at once."""

    db: Database
    clock: Clock
    meter: Meter
    running: Callable[[], int]
    slots: int
    channels: Callable[[], Sequence[ChannelState]]
    engine: str = "local"
    redactor: Redactor = field(default_factory=Redactor)


class Health:
    """The three routes. `serving` is set while the engine takes up messages: after the start, until the drain."""

    def __init__(
        self,
        subject: Subject,
        token: ConsoleToken,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.serving = False
        self._subject = subject
        self._token = token
        self._now = monotonic
        self._asked: asyncio.Lock = asyncio.Lock()
        self._answer: tuple[float, str, float] | None = (
            None  # (when, what is wrong, seconds it took)
        )
        self._exposition: Exposition | None = None

    def routes(self) -> Sequence[web.RouteDef]:
        """To mount."""
        return [
            web.get("/healthz", self._healthz),
            web.get("/readyz", self._readyz),
            web.get("/metrics", self._metrics),
        ]

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n", headers=NO_STORE)

    async def _readyz(self, request: web.Request) -> web.Response:
        problem, seconds = await self._database()
        ready = self.serving and not problem
        status = 200 if ready else 503
        if not self._token.allows(request):
            words = "ok\n" if ready else "not ready\n"
            return web.Response(text=words, status=status, headers=NO_STORE)
        body = {
            "ready": ready,
            "database": {
                "ok": not problem,
                "kind": self._subject.db.dialect,
                "schema": HEAD,
                "seconds": round(seconds, 4),
                "problem": problem,
            },
            "engine": {
                "ok": self.serving,
                "kind": self._subject.engine,
                "running": self._subject.running(),
                "slots": self._subject.slots,
            },
            "channels": [self._channel(state) for state in self._subject.channels()],
        }
        return web.json_response(body, status=status, headers=NO_STORE)

    def _channel(self, state: ChannelState) -> dict[str, Any]:
        return {
            "name": state.name,
            "account": state.account,
            "ok": state.fit,
            "state": state.state.value,
            "reason": self._subject.redactor.text(state.reason),
            "restarts": state.restarts,
            "heard_seconds_ago": None if state.heard is None else round(state.heard, 1),
        }

    async def _metrics(self, request: web.Request) -> web.Response:
        if not self._token.allows(request):
            return unauthorized()
        if self._exposition is None:
            from gateway.metrics.exposition import Exposition

            self._exposition = Exposition(self._subject.meter)
        moment = await self._moment()
        body, kind = self._exposition.text(moment, request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": kind, **NO_STORE})

    async def _moment(self) -> "Moment":
        from gateway.metrics.exposition import Moment

        subject, began = self._subject, self._now()
        found: Loads | None = None
        try:
            async with asyncio.timeout(PATIENCE_S):
                found = await subject.db.read(lambda conn: loads(conn, subject.clock.now()))
        except Exception as e:  # noqa: BLE001 - whatever keeps the database back, the other figures are shown
            log.warning("metrics_without_database", extra={"reason": type(e).__name__})
        return Moment(
            found,
            self._now() - began,
            subject.running(),
            subject.slots,
            [(s.name, s.account, s.fit, s.heard, s.restarts) for s in subject.channels()],
            (_version(), HEAD, subject.engine),
        )

    async def _database(self) -> tuple[str, float]:
        """What is wrong with the database, "" for nothing, and how many seconds it took to answer."""
        async with self._asked:
            if self._answer is None or self._now() - self._answer[0] >= FRESH_S:
                began = self._now()
                problem = await self._ask()
                self._answer = (self._now(), problem, self._now() - began)
            return self._answer[1:]

    async def _ask(self) -> str:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._subject.db.read(_one)
        except TimeoutError:
            return f"no answer within {PATIENCE_S:g} s"
        except Exception as e:  # noqa: BLE001 - whatever it is, this is where it is told
            return self._subject.redactor.text(str(e).strip().split("\n")[0])[:200]
        return ""


def _one(conn: Connection) -> None:
    conn.execute(text("select 1")).scalar_one()


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("swarmgate")
    except PackageNotFoundError:
        return "0"
