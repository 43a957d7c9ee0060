"""The one standing connection of a replica to PostgreSQL: its sign of life, its locks, what replicas tell each other.

A beat every two seconds tells both sides that the other is there. The server ends the session of a process that has
been silent for eight (stopped, or its machine is gone), and frees its locks; this side gives up after seven, so that
it has let go before anybody else takes over. A killed process frees them at once. What another replica says, and the
end of the connection, wake the wait between two beats.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

import psycopg
from psycopg import AsyncConnection
from sqlalchemy.engine import make_url

log = logging.getLogger(__name__)
BEAT_S = 2.0
ANSWER_S = 5.0  # for the answer to a beat; with BEAT_S less than SILENT_S
SILENT_S = 8.0
AGAIN_S = 0.5
CHANNEL = "swarmgate"
LONGEST_NOTE = 7_000  # bytes; PostgreSQL takes 8,000

# The server's own keepalives end the session of a machine that has vanished; it sends no FIN.
_SERVER = {"tcp_keepalives_idle": "4", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "2"}
_IDLE_TIMEOUT_SINCE = 140_000
Connection = AsyncConnection[tuple[object, ...]]


class Attendant(Protocol):
    """Who uses the connection. All three are called by the line's own task, one after the other."""

    async def up(self, connection: Connection) -> None:
        """There is a new connection; nothing of an earlier one holds any more."""
        ...

    async def beat(self, connection: Connection) -> None:
        """Use it; called every two seconds, and soon after `hurry`. This is the sign of life: send something."""
        ...

    async def down(self) -> None:
        """It is gone. The next one is opened when this returns."""
        ...


class Line:
    """Opens the connection, keeps it, opens it again. `url` is SQLAlchemy's; times in seconds."""

    def __init__(
        self,
        url: str,
        attendant: Attendant,
        *,
        beat: float = BEAT_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        address = make_url(url).set(drivername="postgresql")
        self._address = address.render_as_string(hide_password=False)
        self._attendant = attendant
        self._beat = beat
        self._sleep = sleep
        self._heard: dict[str, Callable[[str], None]] = {}
        self._notes: dict[str, None] = {}  # what is to be told, each once, in order
        self._stir = asyncio.Event()
        self._open = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self, within: float) -> bool:
        """Begin; whether the connection stood within so many seconds. It is tried until `stop`."""
        self._task = asyncio.create_task(self._run(), name="replica line")
        try:
            async with asyncio.timeout(within):
                await self._open.wait()
        except TimeoutError:
            return False
        return True

    async def stop(self) -> None:
        """Close it; what hangs on it is free for others when this returns."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    def hurry(self) -> None:
        """Do not wait for the next beat."""
        self._stir.set()

    def on(self, topic: str, call: Callable[[str], None]) -> None:
        """`call` gets what any replica, this one too, tells about a topic; a topic has one listener."""
        self._heard[topic] = call

    def tell(self, topic: str, what: str = "") -> None:
        """Tell every replica, soon; once the database is back where it is away. In the loop's thread."""
        note = f"{topic}:{what}"
        if len(note.encode()) <= LONGEST_NOTE:
            self._notes[note] = None
            self.hurry()

    async def _run(self) -> None:
        while True:
            try:
                async with await self._connect() as connection:
                    await self._serve(connection)
            except (psycopg.Error, OSError, TimeoutError) as e:
                log.warning("replica_line_lost", extra={"reason": " ".join(str(e).split())[:200]})
            finally:
                self._open.clear()
                await self._attendant.down()
            await self._sleep(AGAIN_S)

    async def _connect(self) -> Connection:
        return await AsyncConnection.connect(
            self._address,
            autocommit=True,
            connect_timeout=int(ANSWER_S),
            keepalives=1,
            keepalives_idle=4,
            keepalives_interval=2,
            keepalives_count=2,
            tcp_user_timeout=int(ANSWER_S * 1000),
            application_name="swarmgate replica",
        )

    async def _serve(self, connection: Connection) -> None:
        connection.add_notify_handler(self._take)
        async with asyncio.timeout(ANSWER_S):
            await self._greet(connection)
            await self._attendant.up(connection)
        self._open.set()
        while True:
            async with asyncio.timeout(ANSWER_S):
                await self._attendant.beat(connection)
                await self._speak(connection)
            await self._wait(connection)

    async def _greet(self, connection: Connection) -> None:
        server = dict(_SERVER)
        if connection.info.server_version >= _IDLE_TIMEOUT_SINCE:
            server["idle_session_timeout"] = str(int(SILENT_S * 1000))
        for name, value in server.items():
            await connection.execute("select set_config(%s, %s, false)", (name, value))
        await connection.execute("listen swarmgate")  # CHANNEL

    async def _speak(self, connection: Connection) -> None:
        while self._notes:
            note = next(iter(self._notes))
            del self._notes[note]  # before: what is told again meanwhile is told again
            try:
                await connection.execute("select pg_notify(%s, %s)", (CHANNEL, note))
            except BaseException:
                self._notes[note] = None
                raise

    def _take(self, note: psycopg.Notify) -> None:
        topic, _, what = note.payload.partition(":")
        call = self._heard.get(topic)
        if call is None:
            return
        try:
            call(what)
        except Exception:  # a listener's defect must not end the connection on which all roles hang
            log.exception("note_not_taken", extra={"topic": topic})

    async def _wait(self, connection: Connection) -> None:
        """Until the next beat, `hurry`, a note, or the end of the connection: the last two make the socket readable."""
        loop, socket = asyncio.get_running_loop(), connection.fileno()
        loop.add_reader(socket, self._stir.set)
        try:
            async with asyncio.timeout(self._beat):
                await self._stir.wait()
        except TimeoutError:
            pass
        finally:
            loop.remove_reader(socket)
        self._stir.clear()
