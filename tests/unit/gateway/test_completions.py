"""What is offered for /resume while a person types: their own sessions of that place, and nobody else's."""

from channels.types import Address, Author
from gateway.commands.completions import OFFERED, Completions
from gateway.storage.db import Database
from tests.house import House, on_sqlite, settings

GROUP = {"chat": "-5", "private": False}


def place(chat: str = "1") -> Address:
    return Address("telegram", "777", chat)


def offers(house: House) -> Completions:
    return Completions(house.db, house.clock, house.commands, house.settings.groups)


async def talks(house: House, count: int, **where: object) -> None:
    """So many sessions, each with a title, and a newest one that is empty."""
    for number in range(count):
        await house.ask(f"talk {number}", **where)
        await house.ask("/new", **where)
        house.move(3_600)


async def test_own_sessions_are_offered_with_title_and_age_newest_first(db: Database) -> None:
    async with House(db, ["a", "b", "c"]) as house:
        await talks(house, 2)
        await house.ask("the current one")
        found = await offers(house)("resume", "", Author("1", language="en-US"), place())
        assert [shown for shown, _ in found] == ["talk 1 · 1 h ago", "talk 0 · 2 h ago"]
        chinese = await offers(house)("resume", "", Author("1", language="zh-CN"), place())
        assert chinese[0][0] == "talk 1 · 1 小时前"
        [(_, value)] = await offers(house)("resume", "TALK 0", Author("1"), place())
        assert "talk 0" in (await house.ask(f"/resume {value}"))[-1]


@on_sqlite
async def test_a_beginning_of_an_id_finds_its_session(db: Database) -> None:
    async with House(db, ["a", "b"]) as house:
        await talks(house, 2)
        [_, (shown, value)] = await offers(house)("resume", "", Author("1"), place())
        found = await offers(house)("resume", value[:9], Author("1"), place())
        assert list(found) == [(shown, value)]


@on_sqlite
async def test_at_most_as_many_as_the_platform_takes_are_offered(db: Database) -> None:
    async with House(db, ["a"] * 30) as house:
        await talks(house, 28)
        assert len(await offers(house)("resume", "", Author("1"), place())) == OFFERED


async def test_nobody_is_offered_what_is_not_theirs(db: Database) -> None:
    """MEM-17: titles are private, too."""
    async with House(db, ["a"] * 9) as house:
        await talks(house, 1)
        await talks(house, 1, author="2", chat="2")
        complete = offers(house)
        assert await complete("resume", "", Author("2"), place("1")) == []
        assert await complete("resume", "", Author("3"), place("1")) == []
        assert await complete("resume", "", Author("1"), place("9")) == ()
        await house.ask("group talk", **GROUP)
        await house.ask("/new", author="2", **GROUP)
        await house.ask("group talk of another", author="2", **GROUP)
        await house.ask("/new", **GROUP)
        [(mine, _)] = await complete("resume", "", Author("1"), place("-5"))
        [(other, _)] = await complete("resume", "", Author("2"), place("-5"))
        assert (mine.split(" · ")[0], other.split(" · ")[0]) == (
            "group talk",
            "group talk of another",
        )


@on_sqlite
async def test_where_each_person_has_a_session_each_is_offered_their_own(db: Database) -> None:
    rules = settings(groups={"session": "person"})
    async with House(db, ["a"] * 9, rules=rules) as house:
        await talks(house, 1, **GROUP)
        await talks(house, 2, author="2", **GROUP)
        assert len(await offers(house)("resume", "", Author("1"), place("-5"))) == 1
        assert len(await offers(house)("resume", "", Author("2"), place("-5"))) == 2
        await talks(house, 1)
        assert len(await offers(house)("resume", "", Author("1"), place())) == 1


async def test_presets_are_offered_to_everybody(db: Database) -> None:
    async with House(db, []) as house:
        found = await offers(house)("preset", "", Author("3"), place())
        assert found
        assert found == await house.commands.complete("preset", "", Author("3"))
