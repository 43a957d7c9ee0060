"""A thread of the bot's own ends with its session: closed with a word, and opened by who writes there."""

from channels.errors import ChannelError, FloodLimited
from channels.types import Address
from gateway.storage.db import Database
from tests.house import House, on_sqlite
from tests.loopback import Loopback


class Shelf(Loopback):
    """Keeps what was put away, and what the chat showed then; `faults` are raised first."""

    def __init__(self) -> None:
        super().__init__()
        self.away: list[tuple[str, list[str]]] = []
        self.faults: list[ChannelError] = []

    def archives(self, address: Address) -> bool:
        return address.chat == "1"

    async def archive(self, address: Address) -> None:
        if self.faults:
            raise self.faults.pop(0)
        self.away.append((address.chat, self.texts(address.chat)))


def shelved(house: House) -> Shelf:
    shelf = house.channel
    assert isinstance(shelf, Shelf)
    house.commands.archives = shelf.archives
    return shelf


async def test_a_session_that_ends_closes_its_thread_after_the_last_word(db: Database) -> None:
    async with House(db, ["one", "two"], channel=Shelf()) as house:
        shelf = shelved(house)
        await house.ask("first")
        before = await house.one("select session_id from conversation")
        said = (await house.ask("/new"))[-1]
        assert said.startswith("This conversation is closed. Mention me in the channel")
        assert shelf.away == [("1", ["one", said])]
        await house.ask("again")
        assert house.channel.texts("1")[-1] == "two"
        assert await house.one("select session_id from conversation") != before
        assert await house.one("select count(*) from outbox where status <> 2") == 0


@on_sqlite
async def test_other_places_go_on_as_ever(db: Database) -> None:
    async with House(db, ["one"], channel=Shelf()) as house:
        shelf = shelved(house)
        said = (await house.ask("/new", author="2", chat="2"))[-1]
        assert said == "A new conversation begins."
        assert shelf.away == []


@on_sqlite
async def test_a_flood_delays_the_closing_and_loses_nothing(db: Database) -> None:
    async with House(db, ["one"], channel=Shelf()) as house:
        shelf = shelved(house)
        shelf.faults = [FloodLimited(7.0)]
        await house.ask("/new")
        assert len(shelf.away) == 1
        assert 7.0 in house.clock.naps


@on_sqlite
async def test_a_closing_that_a_death_left_open_is_done_at_the_next_start(db: Database) -> None:
    shelf = Shelf()
    async with House(db, ["one"], channel=shelf) as house:
        shelved(house)
        await house.ask("/new")
        await db.write(
            lambda conn: conn.exec_driver_sql("update outbox set status = 1 where key = 'close'")
        )
    async with House(db, [], channel=shelf) as house:
        await house.quiet()
        assert len(shelf.away) == 2
        assert len(shelf.texts("1")) == 1  # nothing is said twice
