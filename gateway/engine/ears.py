"""procrastinate's connections to PostgreSQL; the one that listens for its jobs hears our own notices, too."""

import json
import select
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from procrastinate import PsycopgConnector
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool
from sqlalchemy.engine import make_url

from gateway.engine.jobs import ENDED, QUEUE, WOKEN
from gateway.storage.postgres import KEEPALIVE

POOL = 6
JOBS = f"procrastinate_queue_v1#{QUEUE}"
LOOK = json.dumps({"type": "job_inserted", "job_id": 0})  # the worker looks at the type alone
Forward = Callable[..., Awaitable[Any]]


class Ears(PsycopgConnector):
    """`woken` and `ended` are called with a conversation for each notice of any process, this one included."""

    def __init__(
        self, url: str, *, woken: Callable[[str], None], ended: Callable[[str], None]
    ) -> None:
        address = make_url(url).set(drivername="postgresql")
        super().__init__(
            conninfo=address.render_as_string(hide_password=False),
            kwargs={"connect_timeout": 10, "application_name": "swarmgate engine", **KEEPALIVE},
            pool_factory=_pool,
            configure=_configure,
            min_size=1,
            max_size=POOL,
        )
        self._woken = woken
        self._ended = ended
        self._forward: Forward | None = None

    async def listen_notify(self, on_notification: Forward, channels: Iterable[str]) -> None:
        """Listen for procrastinate's channels and ours; a conversation that is woken lets the worker look for jobs."""

        async def heard(channel: str, payload: str) -> None:
            if channel == ENDED:
                self._ended(payload)
            elif channel == WOKEN:
                self._woken(payload)
                await on_notification(channel=JOBS, payload=LOOK)
            else:
                await on_notification(channel=channel, payload=payload)

        self._forward = on_notification
        await super().listen_notify(heard, [*channels, WOKEN, ENDED])

    async def look(self) -> None:
        """Let the worker of this process look for jobs now: nobody tells it that a lock is free again."""
        if self._forward is not None:
            await self._forward(channel=JOBS, payload=LOOK)


def _pool(**asked: Any) -> AsyncConnectionPool[Any]:
    """The pool as procrastinate asks for it, but a connection shows that it lives only where that is in doubt."""
    asked["check"] = _check
    return AsyncConnectionPool(**asked)


async def _configure(connection: AsyncConnection[Any]) -> None:
    """Each of procrastinate's calls is one statement: no way to the server for a begin and a commit around it."""
    await connection.set_autocommit(True)


async def _check(connection: AsyncConnection[Any]) -> None:
    """Nothing comes unasked but an end (or a notice): a socket with nothing to read is as good as it was."""
    socket = select.poll()
    socket.register(connection.fileno(), select.POLLIN)
    if socket.poll(0):
        await AsyncConnectionPool.check_connection(connection)
