"""The gateway of the Discord twin: sessions that are buffered, resumed and lost; one zlib stream a connection."""

import asyncio
import json
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.twins.discord_state import Json, World

GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 9, 1 << 12, 1 << 15


@dataclass(slots=True, eq=False)
class Connection:
    """One socket. What is queued leaves in order; None ends it."""

    socket: web.WebSocketResponse
    request: web.Request
    queue: asyncio.Queue[Json | None] = field(default_factory=asyncio.Queue)
    session: "Session | None" = None


@dataclass(slots=True, eq=False)
class Session:
    """What a client was told, also while it is away."""

    id: str
    intents: int
    shard: tuple[int, int]
    seq: int = 0
    buffer: list[Json] = field(default_factory=list)
    connection: Connection | None = None


class Gateway:
    """All sessions. `down`: connections are refused; `heartbeat_ms`, `answers_heartbeats` are knobs.

    `ends_resumes`: a close code with which each RESUME is answered (0: it is not answered at all); `tries` are those
    so far.
    """

    def __init__(self, world: World, violation: Callable[[str], None]) -> None:
        self._world = world
        self._violation = violation
        self.url = ""
        self.down = False
        self.heartbeat_ms = 41250
        self.answers_heartbeats = True
        self.ends_resumes: int | None = None
        self.tries: list[float] = []
        self.sessions: dict[str, Session] = {}
        self.connections: set[Connection] = set()
        self.identified: list[float] = []
        self.resumed: list[float] = []
        self.changed: Callable[[], None] = lambda: None

    # Dispatch ----------------------------------------------------------------------------------------------------

    def dispatch(self, event: str, data: Json, guild: str | None = None) -> None:
        """Tell every session that is to hear it."""
        for session in self.sessions.values():
            number, count = session.shard
            wanted = (int(guild) >> 22) % count if guild else 0
            if wanted == number and (seen := self._visible(session, event, data)) is not None:
                self._tell(session, event, seen)

    def _visible(self, session: Session, event: str, data: Json) -> Json | None:
        if event != "MESSAGE_CREATE":
            return data
        need = GUILD_MESSAGES if "guild_id" in data else DIRECT_MESSAGES
        if not session.intents & need:
            return None
        me = self._world.bot["id"]
        open_ = "guild_id" not in data or me in {
            data["author"]["id"],
            *(m["id"] for m in data["mentions"]),
        }
        if session.intents & MESSAGE_CONTENT or open_:
            return data
        return {**data, "content": "", "attachments": [], "embeds": [], "components": []}

    def _tell(self, session: Session, event: str, data: Json) -> None:
        session.seq += 1
        frame = {"op": 0, "s": session.seq, "t": event, "d": data}
        session.buffer.append(frame)
        if session.connection is not None:
            session.connection.queue.put_nowait(frame)

    # Faults ------------------------------------------------------------------------------------------------------

    def end(self, code: int | None = 4000) -> None:
        """End all connections with a close code; None resets them."""
        for connection in list(self.connections):
            self._detach(connection)
            if code is None:
                if connection.request.transport is not None:
                    connection.request.transport.abort()
            else:
                connection.queue.put_nowait({"close": code})

    def control(self, op: int, data: Any = None) -> None:
        """Send an opcode to all: 7 reconnect, 9 invalid session."""
        for connection in self.connections:
            connection.queue.put_nowait({"op": op, "d": data, "s": None, "t": None})

    def forget(self) -> None:
        """Lose all sessions: a RESUME is refused, what was buffered is never told."""
        for session in self.sessions.values():
            if session.connection is not None:
                session.connection.session = None
        self.sessions.clear()

    # Connections -------------------------------------------------------------------------------------------------

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One connection."""
        if self.down:
            return web.Response(status=503)
        query = request.query
        if query.get("v") != "10" or query.get("encoding") != "json":
            self._violation(f"gateway opened with {dict(query)}")
        socket = web.WebSocketResponse(autoping=True)
        await socket.prepare(request)
        connection = Connection(socket, request)
        self.connections.add(connection)
        writer = asyncio.create_task(self._write(connection, query.get("compress", "")))
        connection.queue.put_nowait(
            {"op": 10, "d": {"heartbeat_interval": self.heartbeat_ms}, "s": None, "t": None}
        )
        try:
            async for message in socket:
                if message.type in {WSMsgType.TEXT, WSMsgType.BINARY}:
                    await self._hear(connection, json.loads(message.data))
        finally:
            self._detach(connection)
            self.connections.discard(connection)
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            self.changed()
        return socket

    async def _write(self, connection: Connection, compress: str) -> None:
        packer = zlib.compressobj() if compress == "zlib-stream" else None
        while (frame := await connection.queue.get()) is not None:
            if "close" in frame:
                await connection.socket.close(code=frame["close"])
                return
            text = json.dumps(frame, ensure_ascii=False)
            if packer is None:
                await connection.socket.send_str(text)
                continue
            data = packer.compress(text.encode()) + packer.flush(zlib.Z_SYNC_FLUSH)
            await connection.socket.send_bytes(data)

    async def _hear(self, connection: Connection, frame: Json) -> None:
        op, data = frame["op"], frame.get("d")
        if op == 1:
            if self.answers_heartbeats:
                connection.queue.put_nowait({"op": 11, "d": None, "s": None, "t": None})
        elif op == 2:
            self._identify(connection, data)
        elif op == 6:
            self._resume(connection, data)
        elif op == 8:
            self._violation("members were asked for, which costs much and serves nothing")
        elif op not in {3, 4}:
            self._violation(f"unknown gateway opcode {op}")
            connection.queue.put_nowait({"close": 4001})
        self.changed()

    def _identify(self, connection: Connection, data: Json) -> None:
        if data["token"] != self._world.token:
            connection.queue.put_nowait({"close": 4004})
            return
        if data["intents"] & MESSAGE_CONTENT and not self._world.content_intent:
            connection.queue.put_nowait({"close": 4014})
            return
        number, count = data.get("shard", [0, 1])
        session = Session(f"s{self._world.ids.next()}", data["intents"], (number, count))
        self.identified.append(time.monotonic())
        self.sessions[session.id] = session
        session.connection, connection.session = connection, session
        guilds = [g for g in self._world.guilds.values() if not g.left]
        guilds = [g for g in guilds if (int(g.id) >> 22) % count == number]
        self._tell(session, "READY", self._ready(session, [g.id for g in guilds]))
        for guild in guilds:
            self._tell(session, "GUILD_CREATE", self._world.guild_body(guild))

    def _ready(self, session: Session, guilds: list[str]) -> Json:
        bot = self._world.bot
        return {
            "v": 10,
            "user": {**bot, "verified": True, "mfa_enabled": False, "email": None},
            "guilds": [{"id": guild, "unavailable": True} for guild in guilds],
            "session_id": session.id,
            "resume_gateway_url": self.url,
            "shard": list(session.shard),
            "application": {"id": bot["id"], "flags": 1 << 19, "flags_new": str(1 << 19)},
            "private_channels": [],
            "relationships": [],
            "user_settings": {},
        }

    def _resume(self, connection: Connection, data: Json) -> None:
        self.tries.append(time.monotonic())
        if self.ends_resumes is not None:
            if self.ends_resumes:
                connection.queue.put_nowait({"close": self.ends_resumes})
            return
        session = self.sessions.get(str(data["session_id"]))
        if data["token"] != self._world.token or session is None:
            connection.queue.put_nowait({"op": 9, "d": False, "s": None, "t": None})
            return
        self.resumed.append(time.monotonic())
        if session.connection is not None:
            session.connection.queue.put_nowait({"close": 4009})
            session.connection.session = None
        session.connection, connection.session = connection, session
        for frame in session.buffer:
            if frame["s"] > data["seq"]:
                connection.queue.put_nowait(frame)
        self._tell(session, "RESUMED", {"_trace": []})

    def _detach(self, connection: Connection) -> None:
        if connection.session is not None:
            connection.session.connection = None
            connection.session = None
