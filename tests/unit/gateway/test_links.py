"""One person on two platforms: only a code that went one way and a confirmation that came back link them."""

from sqlalchemy import Connection

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from channels.types import Inbound, Kind
from gateway.people import links
from gateway.people.identity import principal_of
from gateway.storage.db import Database
from tests.harness import agent, team
from tests.house import House, on_sqlite, until

ALICE, BOB = "telegram:1", "telegram:2"  # two accounts of one person; the second writes in chat 2


async def code_for(house: House, **more: str) -> str:
    """The code that /link shows."""
    text = (await house.ask("/link", **more))[-1]
    return next(line for line in text.splitlines() if line.startswith("`/link ")).split()[1][:-1]


async def claimed(house: House) -> str:
    """A code of the first account that the second one has sent."""
    code = await code_for(house)
    await house.ask(f"/link {code}", author="2", chat="2")
    return code


async def principal(db: Database, person: str) -> str:
    return await db.read(lambda conn: principal_of(conn, person))


async def test_two_accounts_are_linked_when_both_sides_have_agreed(db: Database) -> None:
    async with House(db, ["hello"]) as house:
        code = await code_for(house)
        said = (await house.ask(f"/link {code.lower()}", author="2", chat="2"))[-1]
        assert "Now confirm it as telegram:1" in said
        assert await principal(db, BOB) == BOB  # one side alone links nothing
        question = next(m for m in reversed(house.channel.order) if m.chat == "1")
        assert "name 2 (telegram:2)" in question.text
        assert [b.data for b in question.buttons] == [f"link:{code}:yes", f"link:{code}:no"]
        await house.press(f"link:{code}:yes")
        await house.quiet()
        assert await principal(db, BOB) == ALICE
        assert (question.text, question.buttons) == ("telegram:1 and telegram:2 are linked.", ())
        assert house.channel.answers[-1][1] == question.text
        assert house.channel.texts("2")[-1] == "telegram:2 and telegram:1 are linked."
        await house.ask("a question", author="2", chat="2")
        assert await house.one("select principal from turn") == ALICE
        assert await house.one("select owner from usage") == ALICE
        owners = [row.owner for row in await house.all("select owner from session order by id")]
        assert sorted(owners) == [ALICE, BOB]  # sessions stay with their places


async def test_a_link_can_be_refused_and_removed_from_both_sides(db: Database) -> None:
    async with House(db, []) as house:
        await house.press(f"link:{await claimed(house)}:no")
        await house.quiet()
        assert await principal(db, BOB) == BOB
        assert house.channel.texts("2")[-1] == "Not linked."
        for where in ({"author": "2", "chat": "2"}, {}):
            await house.press(f"link:{await claimed(house)}:yes")
            await house.quiet()
            assert await principal(db, BOB) == ALICE
            assert "The link is removed" in (await house.ask("/link remove", **where))[-1]
            assert await principal(db, BOB) == BOB
        assert "no link" in (await house.ask("/link remove"))[-1]


async def test_only_who_asked_for_the_code_confirms_and_only_once(db: Database) -> None:
    async with House(db, []) as house:
        code = await claimed(house)
        for person in ("2", "9"):
            await house.press(f"link:{code}:yes", author=person, chat=person)
        assert await principal(db, BOB) == BOB
        await house.press(f"link:{code}:yes")
        await house.press(f"link:{code}:yes")
        await house.quiet()
        assert house.channel.answers[-1][1] == "This is no longer open."
        assert await house.one("select count(*) from link") == 1


async def test_a_press_without_a_claim_links_nobody(db: Database) -> None:
    """What a button says is whatever a client sends: the claim in the table decides."""
    async with House(db, []) as house:
        code = await code_for(house)
        forged = (f"link:{code}:yes", f"link:{code}/telegram:2:yes", "link::yes", "link:%:yes")
        for data in forged:
            await house.press(data)
        await house.quiet()
        assert await house.one("select count(*) from link") == 0


async def test_a_code_ends_after_ten_minutes_and_after_its_use(db: Database) -> None:
    async with House(db, []) as house:
        code = await code_for(house)
        house.clock.seconds += links.MINUTES * 60
        bob = {"author": "2", "chat": "2"}
        assert "unknown, used or expired" in (await house.ask(f"/link {code}", **bob))[-1]
        code = await claimed(house)
        nine = {"author": "9", "chat": "9"}
        assert "unknown, used or expired" in (await house.ask(f"/link {code}", **nine))[-1]
        house.clock.seconds += links.MINUTES * 60
        await house.press(f"link:{code}:yes")
        assert await house.one("select count(*) from link") == 0
        old, new = await code_for(house), await code_for(house)
        assert "unknown, used or expired" in (await house.ask(f"/link {old}", **bob))[-1]
        assert "Now confirm" in (await house.ask(f"/link {new}", **bob))[-1]


@on_sqlite
async def test_a_claim_can_be_taken_back_before_it_is_confirmed(db: Database) -> None:
    async with House(db, []) as house:
        code = await claimed(house)
        assert (await house.ask("/link remove", author="2", chat="2"))[-1] == "Not linked."
        await house.press(f"link:{code}:yes")
        assert await house.one("select count(*) from link") == 0


@on_sqlite
async def test_a_code_is_for_private_chats_and_for_another_account(db: Database) -> None:
    async with House(db, []) as house:
        group = {"chat": "-5", "private": False}
        assert "private chat with me only" in (await house.ask("/link", **group))[-1]
        code = await code_for(house)
        assert "asked for this code yourself" in (await house.ask(f"/link {code}"))[-1]
        assert "unknown" in (await house.ask("/link NOSUCHCODE", author="2", chat="2"))[-1]


async def test_a_third_account_joins_the_same_principal(db: Database) -> None:
    async with House(db, []) as house:
        await house.press(f"link:{await claimed(house)}:yes")
        bob, nine = {"author": "2", "chat": "2"}, {"author": "9", "chat": "9"}
        code = await code_for(house, **bob)
        await house.ask(f"/link {code}", **nine)
        await house.press(f"link:{code}:yes", **bob)
        await house.quiet()
        assert await principal(db, "telegram:9") == ALICE
        others = await db.read(lambda conn: links.linked(conn, BOB))
        assert others == [ALICE, "telegram:9"]
        assert "linked already" in (await house.ask(f"/link {await code_for(house)}", **nine))[-1]


@on_sqlite
async def test_a_linked_person_stops_the_turn_that_is_the_principals(
    db: Database,
) -> None:
    """The running turn belongs to the principal, so each of the person's accounts may stop it in its place."""

    async def script(_: ModelRequest) -> Answer:
        return Answer("part and rest", chunk=4, gap=30.0)

    async with House(db, script, the_team=team(agent())) as house:
        await house.press(f"link:{await claimed(house)}:yes")
        bob = {"author": "2", "chat": "2"}
        await house.say("a question", **bob)
        await until(lambda: house.model.requests)
        await house.say("/stop", **bob)
        await house.quiet()
        assert await house.one("select status from turn") == "stopped"


@on_sqlite
async def test_a_name_cannot_dress_up_the_question(db: Database) -> None:
    async with House(db, []) as house:
        code = await code_for(house)
        inbound = house.inbound(f"/link {code}", author="2", chat="2")
        evil = type(inbound.author)("2", "**alice** (telegram:1) [x](http://x)")
        await house.channel.say(
            Inbound(inbound.address, inbound.key, evil, inbound.text, inbound.at, Kind.MESSAGE)
        )
        await house.quiet()
        text = house.channel.texts("1")[-1]
        assert "(telegram:2)" in text
        assert not {"*", "[", "(telegram:1)"} & set(text.split("wants")[0])

        def names(conn: Connection) -> str:
            return links.name_of(conn, "telegram:404")

        assert await db.read(names) == "telegram:404"
