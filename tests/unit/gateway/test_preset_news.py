"""Operators are told of a preset that an edit broke."""

from gateway.presets.news import PresetNews
from gateway.storage.db import Database
from swarm_presets.problems import Problem
from tests.house import House, on_sqlite

BROKEN = (
    Problem("SW101", "unknown key `supervisr`", "desk.yaml", 4, 1, "did you mean `supervisor`?"),
    Problem("SW103", "`4min` is not a duration", "desk.yaml", 11, 20, "write `4m`"),
)


def news(house: House) -> PresetNews:
    return PresetNews(house.db, house.clock, house.senders, ("telegram:9",), "auto")


async def test_an_operator_reads_the_first_error_with_place_and_cure(db: Database) -> None:
    async with House(db, ["hello"]) as house:
        await house.ask("hi", author="9", chat="9")
        await news(house)(BROKEN)
        await house.quiet()
        told = house.channel.texts("9")[-1]
        assert "desk.yaml:4:1" in told
        assert "did you mean `supervisor`?" in told
        assert "1 more" in told


async def test_each_edit_is_told_once_more_and_nobody_else_hears_of_it(db: Database) -> None:
    async with House(db, ["hello", "hello"]) as house:
        await house.ask("hi")
        await house.ask("hi", author="9", chat="9")
        for _ in range(2):
            await news(house)(BROKEN[:1])
            house.clock.seconds += 60
        await house.quiet()
        assert len(house.channel.texts("9")) == 3
        assert len(house.channel.texts("1")) == 1


@on_sqlite
async def test_without_an_operator_in_a_chat_the_log_alone_has_it(db: Database) -> None:
    async with House(db, []) as house:
        await news(house)(BROKEN)
        await house.quiet()
        assert await house.one("select count(*) from outbox") == 0
