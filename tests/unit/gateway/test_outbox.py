"""Replies on their way: order per place, waiting, trying again, parking, going on after a restart (DESIGN.md 3.7)."""

import asyncio
import datetime as dt

import pytest
from sqlalchemy import text

from agent_core.ports import NewBlob
from agent_core.storage.statements import add_blob, blob_id, ensure_session
from agent_core.types import ArtifactRef
from channels.errors import (
    Ambiguous,
    BadCredentials,
    FloodLimited,
    Gone,
    Refused,
    UnknownChannel,
    Unreachable,
)
from channels.types import Address, Button
from gateway.outbound.draft import Draft, body_of
from gateway.outbound.outbox import REPLY, Receipt, put, visible
from gateway.outbound.sender import BACKOFF, Sender
from gateway.storage.db import Database
from gateway.storage.tables import OutboxStatus
from tests.harness import ALICE
from tests.house import Watch, on_sqlite, until
from tests.loopback import Loopback
from tests.outages import FlakyDatabase, Outcome

pytestmark = pytest.mark.statements

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


class Post:
    """Senders over a loopback channel."""

    def __init__(self, db: Database, channel: Loopback | None = None) -> None:
        self.db = FlakyDatabase(db)
        self.clock = Watch()
        self.channel = channel or Loopback()
        self.known = True
        self.senders = Sender(self.db, self.clock, self.find, self.clock.sleep)

    def find(self, address: Address) -> Loopback:
        if not self.known:
            raise UnknownChannel(str(address))
        return self.channel

    def draft(self, words: str, turn: int, chat: str = "1", **more: object) -> Draft:
        return Draft(turn, REPLY, ALICE, Address("telegram", "777", chat), words, **more)  # type: ignore[arg-type]

    async def send(self, words: str, turn: int, chat: str = "1", **more: object) -> int:
        """Store a reply and hand it over, as the end of a turn does."""
        draft = self.draft(words, turn, chat, **more)
        row_id = await self.db.db.write(lambda conn: put(conn, draft, NOW))
        self.senders.send(self.senders.letter(row_id, draft))
        return row_id

    async def quiet(self) -> None:
        await until(lambda: not self.senders.pending())

    async def status(self, row_id: int) -> OutboxStatus:
        query = text(f"select status from outbox where id = {row_id}")
        return OutboxStatus(await self.db.db.read(lambda conn: conn.execute(query).scalar_one()))


@pytest.fixture
def post(db: Database) -> Post:
    return Post(db)


async def test_letters_of_a_place_arrive_in_order_and_are_marked(post: Post) -> None:
    ids = [await post.send(f"m{n}", n) for n in range(5)]
    await post.quiet()
    assert post.channel.texts("1") == [f"m{n}" for n in range(5)]
    assert {await post.status(i) for i in ids} == {OutboxStatus.SENT}


@on_sqlite
async def test_places_go_side_by_side(post: Post) -> None:
    gate = post.channel.hold("slow")
    await post.send("a", 1, "slow")
    await post.send("b", 2, "fast")
    await until(lambda: post.channel.texts("fast"))
    assert post.channel.texts("slow") == []
    gate.set()
    await post.quiet()
    assert post.channel.texts("slow") == ["a"]


@on_sqlite
@pytest.mark.parametrize("seconds", [18.0, 149.0])
async def test_a_flood_limit_is_waited_for_as_long_as_the_platform_says(
    post: Post, seconds: float
) -> None:
    """hermes#102402: the answer arrives after it, whatever the number of refusals."""
    post.channel.fail("1", *[FloodLimited(seconds)] * 12)
    row_id = await post.send("a", 1)
    await post.send("b", 2)
    await post.quiet()
    assert post.clock.naps == [seconds] * 12
    assert post.channel.texts("1") == ["a", "b"]
    assert await post.status(row_id) is OutboxStatus.SENT


@on_sqlite
async def test_a_flood_limit_of_one_chat_lets_others_go_on(db: Database) -> None:
    post = Post(db)
    never = asyncio.Event()

    async def sleep(_: float) -> None:
        await never.wait()

    post.senders = Sender(db, post.clock, post.find, sleep)
    post.channel.fail("1", FloodLimited(100.0))
    await post.send("waits", 1, "1")
    await post.send("goes", 2, "2")
    await until(lambda: post.channel.texts("2") == ["goes"])
    assert post.channel.texts("1") == []
    await post.senders.stop(0.0)


@on_sqlite
async def test_what_was_not_sent_is_tried_again_with_back_off(post: Post) -> None:
    """CHN-2."""
    post.channel.fail("1", *[Unreachable("reset")] * 9)
    await post.send("a", 1)
    await post.quiet()
    assert post.channel.texts("1") == ["a"]
    assert post.clock.naps == [*BACKOFF, BACKOFF[-1], BACKOFF[-1]]


@on_sqlite
@pytest.mark.parametrize(("after", "copies"), [(False, 1), (True, 2)])
async def test_what_was_perhaps_sent_is_sent_again_and_logged(
    post: Post, caplog: pytest.LogCaptureFixture, after: bool, copies: int
) -> None:
    """One duplicate is better than one lost answer."""
    post.channel.fail("1", Ambiguous("time-out"), after=after)
    await post.send("a", 1)
    await post.quiet()
    assert post.channel.texts("1") == ["a"] * copies
    assert "reply_perhaps_sent" in caplog.text


@on_sqlite
@pytest.mark.parametrize("error", [Refused("bad entities"), Gone("bot was blocked")])
async def test_what_is_refused_for_good_is_parked_and_the_next_letter_goes(
    post: Post, error: Exception
) -> None:
    post.channel.fail("1", error)
    refused = await post.send("a", 1)
    await post.send("b", 2)
    await post.quiet()
    assert post.channel.texts("1") == ["b"]
    assert await post.status(refused) is OutboxStatus.PARKED
    query = text(f"select error from outbox where id = {refused}")
    assert await post.db.read(lambda conn: conn.execute(query).scalar()) == str(error)
    again = Post(post.db.db, post.channel)
    await again.senders.start()
    await again.quiet()
    assert post.channel.texts("1") == ["b"]


@on_sqlite
async def test_a_reply_whose_channel_is_switched_off_is_kept_for_a_later_start(post: Post) -> None:
    post.known = False
    row_id = await post.send("a", 1)
    await post.quiet()
    assert await post.status(row_id) is OutboxStatus.READY


@on_sqlite
@pytest.mark.parametrize("error", [RuntimeError("a defect"), BadCredentials("401")])
async def test_an_unforeseen_failure_is_tried_again(post: Post, error: Exception) -> None:
    post.channel.fail("1", error, error)
    await post.send("a", 1)
    await post.quiet()
    assert post.channel.texts("1") == ["a"]


@on_sqlite
async def test_a_channel_that_always_breaks_does_not_stop_the_place_for_ever(post: Post) -> None:
    post.channel.fail("1", *[RuntimeError("a defect")] * len(BACKOFF))
    broken = await post.send("a", 1)
    await post.send("b", 2)
    await post.quiet()
    assert post.channel.texts("1") == ["b"]
    assert await post.status(broken) is OutboxStatus.PARKED


@on_sqlite
async def test_a_failure_after_a_long_outage_is_tried_again(post: Post) -> None:
    """A platform that was away for long says nothing about the channel: only its own failures count against a reply."""
    post.channel.fail("1", *[Unreachable()] * len(BACKOFF), RuntimeError("a defect"))
    await post.send("a", 1)
    await post.quiet()
    assert post.channel.texts("1") == ["a"]


@on_sqlite
async def test_a_database_that_is_away_stops_no_place_and_sends_nothing_twice(post: Post) -> None:
    """Before sending, while the receipt is kept, and when the row is marked."""
    for number, fine in enumerate([0, 1]):
        before = len(post.channel.texts("1"))
        draft = post.draft("a", 10 + number)
        row_id = await post.db.db.write(lambda conn, d=draft: put(conn, d, NOW))  # type: ignore[misc]
        post.db.writes.extend([Outcome.FINE] * fine + [Outcome.AWAY] * 9)
        post.senders.send(post.senders.letter(row_id, draft))
        await post.quiet()
        assert len(post.channel.texts("1")) == before + 1
        assert await post.status(row_id) is OutboxStatus.SENT


@on_sqlite
async def test_a_long_reply_goes_on_with_the_part_that_failed(post: Post) -> None:
    """hermes#48648: never sent again whole."""
    post.channel.limit = 4
    post.channel.fail("1", None, Unreachable("x"))
    await post.send("aaaabbbbcccc", 1)
    await post.quiet()
    assert post.channel.texts("1") == ["aaaa", "bbbb", "cccc"]
    assert len(post.channel.attempts) == 4


async def test_parts_that_are_there_are_known_after_a_restart(post: Post) -> None:
    never = asyncio.Event()

    async def sleep(_: float) -> None:
        await never.wait()

    post.senders = Sender(post.db, post.clock, post.find, sleep)
    post.channel.limit = 4
    post.channel.fail("1", None, Unreachable("x"))
    row_id = await post.send("aaaabbbb", 1)
    await until(lambda: len(post.channel.attempts) == 2)
    await post.senders.stop(0.0)
    assert await post.status(row_id) is OutboxStatus.READY
    assert await post.db.read(lambda conn: visible(conn, 1)) == (row_id, ["1"], 1)
    again = Post(post.db.db, post.channel)
    await again.senders.start()
    await again.quiet()
    assert post.channel.texts("1") == ["aaaa", "bbbb"]
    assert await again.status(row_id) is OutboxStatus.SENT


async def test_a_stop_at_any_moment_of_sending_leads_to_no_second_copy(post: Post) -> None:
    """A part that is visible is known, also when the stop meets the commit that says so."""
    post.channel.limit = 2
    expected = []
    for moments in range(0, 48, 2):
        turn = moments + 1
        await post.send(f"{turn:02}bbcc", turn)
        expected += [f"{turn:02}", "bb", "cc"]
        for _ in range(moments):
            await asyncio.sleep(0)
        await post.senders.stop(0.0)
        post.senders = Sender(post.db, post.clock, post.find, post.clock.sleep)
        await post.senders.start()
        await post.quiet()
    assert post.channel.texts("1") == expected


async def test_a_start_takes_up_what_is_ready_and_nothing_else(post: Post) -> None:
    """In order of the rows; a reply in the making waits for its turn."""
    drafts = [post.draft(f"m{n}", n) for n in range(1, 4)]
    for draft in drafts:
        await post.db.write(lambda conn, d=draft: put(conn, d, NOW))  # type: ignore[misc]
    making = Receipt(post.db, post.clock, post.draft("", 9))
    await making.shown("77", final=False)
    for status, turn in [(OutboxStatus.SENT, 1), (OutboxStatus.PARKED, 2)]:
        change = text(f"update outbox set status = {int(status)} where turn_id = {turn}")
        await post.db.write(lambda conn, c=change: conn.execute(c) and None)  # type: ignore[misc]
    await post.senders.start()
    await post.quiet()
    assert post.channel.texts("1") == ["m3"]


@on_sqlite
async def test_a_letter_handed_over_before_the_start_is_sent_once(post: Post) -> None:
    """Channels are up before the walk over what was left."""
    gate = post.channel.hold("1")
    await post.send("early", 1)
    await post.senders.start()
    gate.set()
    await post.quiet()
    assert post.channel.texts("1") == ["early"]


@on_sqlite
async def test_a_preview_that_appears_late_does_not_open_a_finished_reply_again(
    post: Post,
) -> None:
    """Its row is ready already: only the message id is added."""
    draft = post.draft("the answer", 1)
    receipt = Receipt(post.db, post.clock, post.draft("", 1))
    row_id = await post.db.write(lambda conn: put(conn, draft, NOW))
    await receipt.shown("55", final=False)
    assert receipt.row_id == row_id
    assert await post.status(row_id) is OutboxStatus.READY
    assert await post.db.read(lambda conn: visible(conn, 1)) == (row_id, ["55"], 0)
    query = text(f"select body from outbox where id = {row_id}")
    assert await post.db.read(lambda conn: conn.execute(query).scalar()) == body_of(draft)


@on_sqlite
async def test_a_preview_is_finished_by_an_edit(post: Post) -> None:
    """nanobot#2235: exactly one visible message."""
    address = Address("telegram", "777", "1")
    receipt = Receipt(post.db, post.clock, post.draft("", 1))
    stream = post.channel.stream(address, receipt, private=True, reply_to=None)
    from channels.types import Preview

    await stream.show(Preview("half"))
    draft = post.draft("half and whole", 1)
    row_id = await post.db.write(lambda conn: put(conn, draft, NOW))
    assert row_id == receipt.row_id
    post.senders.send(post.senders.letter(row_id, draft, receipt))
    await post.quiet()
    assert post.channel.texts("1") == ["half and whole"]


@on_sqlite
async def test_it_is_known_when_everything_of_a_place_has_passed(post: Post) -> None:
    gate = post.channel.hold("1")
    here, elsewhere = Address("telegram", "777", "1"), Address("telegram", "777", "2")
    for turn in (1, 2):
        await post.send(f"m{turn}", turn)
    await asyncio.wait_for(post.senders.passed(elsewhere), 0.5)
    waiting = asyncio.create_task(post.senders.passed(here))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    gate.set()
    await asyncio.wait_for(waiting, 1.0)
    assert post.channel.texts("1") == ["m1", "m2"]


@on_sqlite
async def test_files_buttons_and_the_message_answered_reach_the_channel(post: Post) -> None:
    blob = NewBlob(blob_id(ALICE, b"png"), "chart.png", "image/png", b"png")

    def store(conn: object) -> None:
        ensure_session(conn, "s1", ALICE, NOW)  # type: ignore[arg-type]
        add_blob(conn, owner=ALICE, session_id="s1", blob=blob, now=NOW)  # type: ignore[arg-type]

    await post.db.write(store)
    known = ArtifactRef(blob.id, "chart.png", "image/png", "AAPL")
    gone = ArtifactRef("0" * 64, "gone.png", "image/png")
    button = Button("Stop", "stop:1", "danger")
    await post.send("see", 1, artifacts=(known, gone), buttons=(button,), reply_to="42")
    await post.quiet()
    [shown] = post.channel.order
    assert [(f.name, f.data, f.caption) for f in shown.files] == [("chart.png", b"png", "AAPL")]
    assert (shown.buttons, shown.reply_to) == ((button,), "42")


@on_sqlite
async def test_a_stop_sends_what_it_can_and_leaves_the_rest(post: Post) -> None:
    gate = post.channel.hold("slow")
    late = await post.send("late", 1, "slow")
    quick = await post.send("quick", 2, "fast")
    await post.senders.stop(0.05)
    assert await post.status(quick) is OutboxStatus.SENT
    assert await post.status(late) is OutboxStatus.READY
    gate.set()
    again = Post(post.db.db, post.channel)
    await again.senders.start()
    await again.quiet()
    assert post.channel.texts("slow") == ["late"]


@on_sqlite
async def test_a_stop_without_letters_returns_at_once(post: Post) -> None:
    await asyncio.wait_for(post.senders.stop(30.0), 0.5)
