"""`approvals` on the command line: beside a running gateway, or without one until its next start (TGV-6, TGV-7)."""

import asyncio
import datetime as dt
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_core.approvals import Rule
from agent_core.runtime.team import Team
from channels.terminal.channel import TerminalChannel
from gateway.cli.engine_line import ask
from gateway.control import ControlServer
from gateway.questions.asking import APPROVAL_VALID
from gateway.questions.local_decisions import LocalDesk, listing
from gateway.storage.db import Database
from gateway.storage.schema import open_database
from tests.harness import agent, team
from tests.house import START, House, Watch, until
from tests.unit.gateway.asking import CHOICE, PAY, house, question, results, settled, status
from tests.unit.gateway.test_cli import Command, swarmgate

__all__ = ["swarmgate"]
Work = Callable[[House], Awaitable[None]]


def within(folder: Path, work: Work, *script: Any, ago: float = 0.0, **more: Any) -> None:
    """A gateway on the folder's database for as long as `work` takes; its clock stands `ago` seconds before now."""
    data = folder / "data"
    data.mkdir(mode=0o700, exist_ok=True)
    clock = Watch()
    clock.seconds = (dt.datetime.now(dt.UTC) - START).total_seconds() - ago

    async def run() -> None:
        db = await open_database(f"sqlite:///{data / 'swarmgate.db'}")
        try:
            async with house(db, *script, clock=clock, **more) as it:
                await work(it)
        finally:
            await db.close()

    asyncio.run(run())


async def pay(it: House) -> None:
    await it.say("pay bob")
    await it.quiet()


def test_open_questions_are_listed_with_who_asked_for_what(swarmgate: Command) -> None:
    assert swarmgate("approvals", "list") == "nothing waits for a decision\n"
    within(swarmgate.folder, pay, PAY, ago=90)
    [row] = swarmgate.json("approvals", "list")
    assert (row["id"], row["owner"], row["tool"]) == (1, "telegram:1", "pay")
    assert row["args"] == {"to": "bob", "amount": 3}
    assert (row["kind"], row["status"]) == ("approval", "open")
    head, line = swarmgate("approvals", "list").splitlines()
    assert head.split() == ["ID", "OWNER", "TOOL", "ARGUMENTS", "AGE", "EXPIRES", "CONVERSATION"]
    assert "amount=3, to=bob" in line
    assert "1 min" in line
    assert "in 3 min" in line
    assert "telegram:777:1" in line


def test_what_has_expired_while_nothing_ran_is_not_listed_and_not_decided(
    swarmgate: Command,
) -> None:
    within(swarmgate.folder, pay, PAY, ago=3_600)
    assert swarmgate.json("approvals", "list") == []
    said = swarmgate("approvals", "decide", "1", "approve", code=1)
    assert "expired at" in said
    assert len(said.splitlines()) == 1


def test_a_decision_without_a_gateway_is_carried_out_at_its_next_start(swarmgate: Command) -> None:
    within(swarmgate.folder, pay, PAY)
    done = json.loads(swarmgate("approvals", "decide", "1", "approve", "--json"))
    assert (done["id"], done["status"], done["running"]) == (1, "approved", False)
    assert swarmgate.json("approvals", "list") == []
    again = swarmgate("approvals", "decide", "1", "deny", code=1)
    assert "was decided before: approved by terminal:" in again

    async def later(it: House) -> None:
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert it.channel.texts("1")[-1] == "paid, then"
        await settled(it)

    within(swarmgate.folder, later, "paid, then")


def test_a_denial_without_a_gateway_lets_the_turn_go_on_without_the_call(
    swarmgate: Command,
) -> None:
    within(swarmgate.folder, pay, PAY)
    assert "question 1 is denied: pay" in swarmgate("approvals", "decide", "1", "deny")

    async def later(it: House) -> None:
        await it.quiet()
        assert it.tools.calls == []
        assert it.channel.texts("1")[-1] == "then not"

    within(swarmgate.folder, later, "then not")


def test_what_cannot_be_decided_is_said_in_one_line(swarmgate: Command) -> None:
    said = swarmgate("approvals", "decide", "7", "approve", code=1)
    assert said == "swarmgate: no question has the id 7; see: swarmgate approvals list\n"
    swarmgate("approvals", "decide", "7", "perhaps", code=2)
    swarmgate("approvals", "decide", "x", "approve", code=2)
    swarmgate("approvals", "decide", "99999999999999999999", "approve", code=1)

    async def choose(it: House) -> None:
        await it.say("go")
        await it.quiet()

    within(swarmgate.folder, choose, CHOICE)
    assert "wants an answer, not an approval" in swarmgate(
        "approvals", "decide", "1", "approve", code=1
    )


def test_an_engine_that_does_not_answer_is_not_decided_behind_its_back(
    swarmgate: Command,
) -> None:
    async def run() -> str:
        db = await open_database(f"sqlite:///{swarmgate.folder / 'data' / 'swarmgate.db'}")
        try:
            await db.lock_engine()
            return await asyncio.to_thread(swarmgate, "approvals", "decide", "1", "deny", code=1)
        finally:
            await db.close()

    within(swarmgate.folder, pay, PAY)
    assert "decide in the chat with /approve 1 or /deny 1" in asyncio.run(run())
    assert len(swarmgate.json("approvals", "list")) == 1


async def test_a_running_gateway_goes_on_at_once_and_says_who_decided(
    db: Database, tmp_path: Path
) -> None:
    async with house(db, PAY, "paid, then") as it:
        await pay(it)
        asked = question(it)
        desk = LocalDesk(db, it.clock, it.senders, it.engine)
        server = ControlServer(tmp_path / "c.sock", TerminalChannel(), decide=desk.decide)
        await server.start()
        try:
            first, second = await asyncio.gather(
                decided(tmp_path / "c.sock"), decided(tmp_path / "c.sock")
            )
        finally:
            await server.stop()
        await it.quiet()
        assert sorted([first["done"], second["done"]]) == [False, True]
        assert it.tools.calls == [("pay", "bob 3")]
        assert results(it.model.requests[-1]) == ["paid 3 to bob"]
        assert "Approved by alice" in asked.text
        await settled(it)


async def decided(path: Path) -> dict[str, Any]:
    request = {"op": "decide", "id": 1, "verdict": "approved", "who": "alice"}
    answer = await asyncio.to_thread(ask, path, request)
    assert answer is not None
    return answer


async def test_a_decision_that_comes_after_its_turn_runs_the_stored_call_once(
    db: Database,
) -> None:
    async with house(db, PAY, "something else", "paid late") as it:
        await pay(it)
        await it.ask("never mind, how are you?")
        assert await status(it) == "parked"
        desk = LocalDesk(db, it.clock, it.senders, it.engine)
        assert (await desk.decide(1, "approved", "alice"))[0]
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        assert not (await desk.decide(1, "approved", "alice"))[0]


async def test_an_approval_holds_for_the_stored_arguments_alone(db: Database) -> None:
    async with house(db, PAY, "no") as it:
        await pay(it)
        await db.write(lambda conn: conn.exec_driver_sql("update question set digest = 'x'"))
        desk = LocalDesk(db, it.clock, it.senders, it.engine)
        await desk.decide(1, "approved", "alice")
        await it.quiet()
        assert it.tools.calls == []


async def test_time_decides_first(db: Database) -> None:
    async with house(db, PAY, "too late") as it:
        await pay(it)
        asked = question(it)
        await it.later(APPROVAL_VALID.total_seconds() + 1)
        assert await db.read(lambda conn: listing(conn, it.clock.now())) == []
        desk = LocalDesk(db, it.clock, it.senders, it.engine)
        done, said = await desk.decide(1, "approved", "alice")
        assert not done
        assert "expired at" in said
        await until(lambda: asked.buttons == ())
        assert it.tools.calls == []


# Under the rules of a preset ----------------------------------------------------------------------

PAIR = (Rule("pay", by=("role:pm", "admin"), not_requester=True, quorum=2),)
KEPT = (Rule("pay", remember="always"),)


def lead(rules: tuple[Rule, ...]) -> Team:
    return team(replace(agent(tools=("pay",)), approvals=rules))


async def test_the_machines_operator_is_one_of_a_quorum_and_not_all_of_it(db: Database) -> None:
    """TGV-8: a yes on the machine counts like any other, once."""
    async with house(db, PAY, "paid", the_team=lead(PAIR)) as it:
        await pay(it)
        desk = LocalDesk(db, it.clock, it.senders, it.engine, it.settings.access)
        done, said = await desk.decide(1, "approved", "alice")
        assert (done, "this yes is counted" in said) == (False, True)
        assert not (await desk.decide(1, "approved", "alice"))[0]
        [row] = await db.read(lambda conn: listing(conn, it.clock.now()))
        assert row["needs"] == ["2 of role:pm, admin, not the requester"]
        assert row["yes"] == ["terminal:alice"]
        assert it.tools.calls == []
        await it.press("ok:1", author="9", chat="9")
        await it.quiet()
        assert it.tools.calls == [("pay", "bob 3")]
        await settled(it)


def test_a_remembered_yes_is_listed_and_taken_back(swarmgate: Command) -> None:
    async def always(it: House) -> None:
        await pay(it)
        await it.press("always:1")
        await it.quiet()

    assert swarmgate.json("approvals", "remembered") == []
    within(swarmgate.folder, always, PAY, "paid", the_team=lead(KEPT))
    [row] = swarmgate.json("approvals", "remembered")
    assert (row["id"], row["owner"], row["tool"]) == (1, "telegram:1", "pay")
    assert (row["remember"], row["by"]) == ("always", "telegram:1")
    assert "amount=3, to=bob" in swarmgate("approvals", "remembered")
    assert json.loads(swarmgate("approvals", "revoke", "1", "--json"))["revoked"]
    assert swarmgate.json("approvals", "remembered") == []
    assert "has no yes" in swarmgate("approvals", "revoke", "1", code=1)
