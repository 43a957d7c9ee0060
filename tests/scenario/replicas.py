"""Gateways as processes on one PostgreSQL, with a model twin; people talk to any of them through its control socket."""

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from gateway.talk import SocketLine, dial
from tests.scenario.plugin import PRESET, Plugin
from tests.scenario.process import Gateway, environment
from tests.scenario.stage import KEY, MODEL, WAIT_S
from tests.twins.anthropic import AnthropicTwin

ACCEPTED_S = 3.0  # for a message to be stored, then it is said again to another one


class Replicas:
    """Some gateways, each with a data folder of its own."""

    def __init__(
        self,
        folder: Path,
        model: AnthropicTwin,
        database: str,
        count: int,
        settings: dict[str, Any],
    ) -> None:
        self.model = model
        self.plugin = Plugin(folder / "plugin")
        env = environment(self.plugin.folder, SCENARIO_FOLDER=str(self.plugin.folder))
        self.gateways = []
        for number in range(count):
            home = folder / f"replica{number}"
            (home / "presets").mkdir(parents=True)
            (home / "presets" / "scenario.yaml").write_text(PRESET, "utf-8")
            own = self.defaults() | {"database": database} | settings
            self.gateways.append(Gateway(home, own, env))
        self._lines: dict[tuple[int, str], SocketLine] = {}

    def defaults(self) -> dict[str, Any]:
        return {
            "version": 1,
            "preset": "scenario",
            "http": {"port": 0},
            "models": {
                "default": MODEL,
                "providers": {"anthropic": {"api_key": KEY, "base_url": self.model.url}},
            },
            "access": {"default": "allow"},
            "memory": {"enabled": False},
            "sessions": {"while_busy": "queue"},
            "engine": {"beat_s": 0.3, "stale_s": 2.0},
        }

    @property
    def first(self) -> Gateway:
        return self.gateways[0]

    async def say(self, user: str, text: str, *, to: int = 0) -> str:
        """Say something to one replica, or to another one where that does not take it; returns once it is stored."""
        key = uuid.uuid4().hex
        while True:
            with suppress(ConnectionError):
                line = await self._line(to, user)
                if line is not None:
                    await line.say(text, key)
                    if await self._is_stored(key):
                        return key
            dead = self._lines.pop((to, user), None)
            if dead is not None:
                dead.close()
            to = (to + 1) % len(self.gateways)
            await asyncio.sleep(0.05)

    async def _line(self, to: int, user: str) -> SocketLine | None:
        if (to, user) not in self._lines:
            line = await dial(self.gateways[to].data / "control.sock", user, None)
            if line is None:
                return None
            self._lines[to, user] = line
        return self._lines[to, user]

    async def _is_stored(self, key: str) -> bool:
        loop = asyncio.get_running_loop()
        until = loop.time() + ACCEPTED_S
        while loop.time() < until:
            if self.first.count("inbox", f"key = '{key}'"):
                return True
            await asyncio.sleep(0.03)
        return False

    async def until(self, look: Callable[[], Any], timeout: float = WAIT_S) -> Any:
        async with asyncio.timeout(timeout):
            while not (found := look()):
                await asyncio.sleep(0.02)
        return found

    async def settled(self, timeout: float = WAIT_S) -> None:
        """Until no row is open."""
        await self.until(lambda: not self.first.count("inbox", "status < 2"), timeout)

    def pause(self, number: int) -> None:
        """Stand still, as a machine that is suspended."""
        os.killpg(self.gateways[number].pid, signal.SIGSTOP)

    def go_on(self, number: int) -> None:
        os.killpg(self.gateways[number].pid, signal.SIGCONT)

    def said(self, user: str) -> list[str]:
        """What the person's session shows of them, row by row, in order."""
        rows = self.first.rows(
            "select t.kind, t.body from transcript t join conversation c on c.session_id = t.session_id"
            f" where c.id like '%{user}.main' order by t.seq"
        )
        return [row.body for row in rows if row.kind == "user"]

    def replies(self, user: str) -> list[str]:
        """The final texts for a person, in order."""
        rows = self.first.rows(
            f"select body from outbox where lane like '%{user}.main' and status > 0 order by turn_id, id"
        )
        return [row.body for row in rows]

    def sound(self) -> None:
        """No finished model call was made again; every turn has one reply and is done."""
        assert self.model.violations == []
        assert self.model.repeated() == []
        assert self.first.count("turn", "status <> 'done'") == 0
        doubled = self.first.rows(
            "select turn_id from outbox where key = 'reply' group by turn_id having count(*) > 1"
        )
        assert doubled == []
        assert self.first.count("turn") == self.first.count("outbox", "key = 'reply'")

    async def close(self) -> None:
        for line in self._lines.values():
            line.close()
        for gateway in self.gateways:
            await gateway.close()


@asynccontextmanager
async def replicas(
    folder: Path, database: str, count: int = 2, **settings: Any
) -> AsyncIterator[Replicas]:
    """Gateways that are not started yet; nothing of them is left behind."""
    async with AnthropicTwin() as model:
        assert isinstance(model, AnthropicTwin)
        made = Replicas(folder, model, database, count, settings)
        try:
            yield made
        finally:
            await made.close()
