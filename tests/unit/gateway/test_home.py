"""A person's own page with the bot: made when it is opened, stored nowhere."""

from dataclasses import replace

from channels.types import Kind, Outbound
from gateway.storage.db import Database
from tests.house import House, on_sqlite, settings
from tests.loopback import Loopback


class Homely(Loopback):
    """A channel with home pages."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: list[tuple[str, Outbound]] = []

    async def home(self, person: str, out: Outbound) -> None:
        self.pages.append((person, out))


@on_sqlite
async def test_opening_the_home_page_shows_status_and_commands_and_starts_no_turn(
    db: Database,
) -> None:
    async with House(db, [], channel=Homely()) as house:
        opened = replace(house.inbound("", key="h1"), kind=Kind.HOME)
        await house.channel.say(opened)
        await house.quiet()
        [(person, page)] = house.channel.pages  # type: ignore[attr-defined]
        assert person == "1"
        assert "Preset:" in page.text
        assert "/new" in page.text
        assert await house.one("select count(*) from inbox") == 0
        assert house.channel.texts("1") == []


@on_sqlite
async def test_a_strangers_home_page_shows_the_pairing_code(db: Database) -> None:
    async with House(db, [], channel=Homely(), rules=settings(access={})) as house:
        opened = replace(house.inbound("", author="5", key="h1"), kind=Kind.HOME)
        await house.channel.say(opened)
        [(_, page)] = house.channel.pages  # type: ignore[attr-defined]
        assert "pairing code" in page.text
        assert "Preset:" not in page.text


@on_sqlite
async def test_a_channel_without_home_pages_ignores_the_opening(db: Database) -> None:
    async with House(db, []) as house:
        await house.channel.say(replace(house.inbound("", key="h1"), kind=Kind.HOME))
        await house.quiet()
        assert await house.one("select count(*) from inbox") == 0
