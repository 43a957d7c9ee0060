"""Replies under any mixture of faults and restarts: in order for each place, each once, none lost."""

import asyncio
import datetime as dt
import tempfile
from collections import defaultdict
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from channels.errors import FloodLimited, Refused, Unreachable
from channels.types import Address
from gateway.outbound.draft import Draft
from gateway.outbound.outbox import REPLY, put
from gateway.outbound.sender import Sender
from gateway.storage.db import Database
from gateway.storage.schema import open_database
from tests.house import Watch, until
from tests.loopback import Loopback

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
faults = st.one_of(
    st.none(),
    st.builds(FloodLimited, st.just(5.0)),
    st.builds(Unreachable),
    st.builds(Refused),
    st.builds(RuntimeError),
)
plans = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.integers(1, 3), st.lists(faults, max_size=3), st.booleans()
    ),
    min_size=1,
    max_size=8,
)


class Office:
    """The senders of one process after another, over one platform."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.channel = Loopback(limit=2)
        self.clock = Watch()
        self.senders = self._new()

    def _new(self) -> Sender:
        return Sender(self.db, self.clock, lambda _: self.channel, self.clock.sleep)

    async def send(self, chat: str, turn: int, words: str) -> None:
        draft = Draft(turn, REPLY, "telegram:1", Address("telegram", "777", chat), words)
        row_id = await self.db.write(lambda conn: put(conn, draft, NOW))
        self.senders.send(self.senders.letter(row_id, draft))

    async def restart(self) -> None:
        await self.senders.stop(0.0)
        self.senders = self._new()
        await self.senders.start()


Plan = list[tuple[str, int, list[Exception | None], bool]]


async def _play(plan: Plan, path: Path) -> list[tuple[list[str], list[list[str]]]]:
    """What each place shows in the end, and the parts of the replies that went there."""
    db = await open_database(f"sqlite:///{path / 'x.db'}")
    try:
        office = Office(db)
        await office.senders.start()
        sent: dict[str, list[list[str]]] = defaultdict(list)
        for turn, (chat, size, broken, restart) in enumerate(plan, 1):
            parts = [f"{turn}{part}" for part in range(size)]
            office.channel.fail(chat, *broken)
            await office.send(chat, turn, "".join(parts))
            sent[chat].append(parts)
            if restart:
                await office.restart()
        await until(lambda: not office.senders.pending())
        return [(office.channel.texts(chat), replies) for chat, replies in sent.items()]
    finally:
        await db.close()


def run(plan: Plan) -> list[tuple[list[str], list[list[str]]]]:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_play(plan, Path(folder)))


def _check(shown: list[str], replies: list[list[str]]) -> None:
    """Each reply stands there whole, or, where the platform refused a part, as its beginning; in order; once."""
    left = list(shown)
    for parts in replies:
        kept = 0
        while kept < len(parts) and left and left[0] == parts[kept]:
            left.pop(0)
            kept += 1
    assert not left


@settings(max_examples=40, deadline=None)
@given(plans)
def test_replies_arrive_in_order_and_once_across_faults_and_restarts(plan: Plan):
    for shown, replies in run(plan):
        _check(shown, replies)


@settings(max_examples=25, deadline=None)
@given(plans)
def test_nothing_is_lost_where_nothing_is_refused(plan: Plan):
    kind = [
        (chat, size, [f for f in broken if not isinstance(f, Refused)], restart)
        for chat, size, broken, restart in plan
    ]
    for shown, replies in run(kind):
        assert shown == [part for parts in replies for part in parts]
