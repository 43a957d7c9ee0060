"""Nothing of one person reaches another, by any command, tool or port (FIX-4, MEM-17, ARC-7, defect 18).

Alice has lived here: conversations, a sub-agent, memories, a book, reminders, an archive, traces. Bob asks for it in
every way there is, with her ids in his hands; in a group, not even Alice's own words of before are told.
"""

import dataclasses
import datetime as dt
from typing import Any

import pytest
from sqlalchemy import Connection, insert, text

from agent_core import book
from agent_core.compaction.decisions import Summary, checkpoint
from agent_core.memory.recall import OwnRecall
from agent_core.models.scripted import Answer
from agent_core.past import NewNote
from agent_core.storage.recall_index import behind, index_new_rows
from agent_core.storage.sessions import add_checkpoint
from agent_core.tools.archive import archive_tools
from agent_core.tools.history import history_tools
from agent_core.tools.notes import notes_tools
from agent_core.tools.spec import ToolContext, ToolFailure
from agent_core.tools.tasks import task_tools
from agent_core.types import Message, ToolResult, encode
from gateway.commands.commands import MENU
from gateway.memory.archive import SessionArchive
from gateway.memory.history import OwnHistory, scope_of_turn
from gateway.memory.notes import SessionNotes
from gateway.redact import Redactor
from gateway.storage.db import Database
from gateway.storage.tables_tasks import TaskRow
from gateway.toolbox import toolbox
from gateway.trading.portfolio import StoredPortfolio
from tests.harness import ALICE, BOB, agent, call, delegate, team
from tests.house import START, House, on_sqlite, settings
from tests.unit.gateway.remembering import put

pytestmark = on_sqlite
SECRET = "kumquat"
TEAM = team(agent(tools=("echo",)), agent("research"))
PATIENT = settings(sessions={"rate_limit": {"messages_per_minute": 100_000}})
HIS = {"author": "2", "chat": "2"}
GROUP = {"chat": "-5", "private": False}
SCRIPT: list[Any] = [
    Answer("let me see", calls=(call("echo", "e1", words=SECRET),)),
    Answer(calls=(delegate("research", f"find {SECRET}", call_id="d1"),)),
    f"the agent says {SECRET}",
    f"it is {SECRET}",
    "hello bob",
    *["nothing to say"] * 40,
]


async def alice_lives(house: House) -> dict[str, str]:
    """Alice's life here; the ids that lead to it."""
    await house.ask(f"plant a {SECRET} tree")
    await house.ask(f"/remind in 2 hours water the {SECRET}")
    session = await house.one(f"select id from session where owner = '{ALICE}' and parent is null")

    def work(conn: Connection) -> int:
        number = put(conn, f"loves {SECRET}", source=f"chat_log:{session}", codes=("NASDAQ:NVDA",))
        put(conn, f"wants {SECRET} at night", kind="decision")
        put(conn, f"is a {SECRET} person", kind="persona")
        body = Summary(f"about {SECRET}", "structured", before=9, after=1, keywords=(SECRET,))
        add_checkpoint(conn, session, checkpoint(body, until=2), START)
        for one in behind(conn):
            index_new_rows(conn, one, lambda turn: scope_of_turn(conn, turn))
        return number

    number = await house.db.write(work)
    await StoredPortfolio(house.db).put(
        ALICE, book.Holding("NASDAQ:NVDA", quantity=5, cost=1, note=SECRET, updated_at=START)
    )
    await house.ask("hello", **HIS)
    blob = await house.all("select id from blob")
    return {
        "session": session,
        "short": session[:7],
        "memory": str(number),
        "turn": str(await house.one(f"select max(id) from turn where principal = '{ALICE}'")),
        "blob": f"b{blob[0].id[:16]}" if blob else "b0123456789abcdef",
    }


def ways(ids: dict[str, str]) -> list[str]:
    """Every command of the menu, alone and with what could lead to another person's things."""
    hers = [SECRET, *ids.values(), f"archive://{ids['session']}/r1", f"{ids['short']}/r1-r9"]
    hers += [f"{ids['session']}/d1/r1", f"#{ids['memory']}", ALICE, "1", "r1", "list", "all"]
    below = {
        "memory": ["search {}", "show {}", "trace {}", "edit {} mine", "forget {}", "export", "{}"],
        "forget": ["{}"],
    }
    lines = []
    for name in (*MENU, "why", "usage"):
        if name in ("stop", "new"):
            continue
        lines.append(f"/{name}")
        forms = below.get(name, ["{}"])
        lines += [f"/{name} " + form.format(word) for form in forms for word in hers]
    return list(dict.fromkeys(lines))


def without_echo(said: str, asked: str) -> str:
    """What was said, but for the words that were asked."""
    argument = asked.partition(" ")[2]
    for word in sorted(argument.split(), key=len, reverse=True):
        said = said.replace(word, "")
    return said


@pytest.mark.slow
@pytest.mark.parametrize("where", [HIS, GROUP | {"author": "2"}], ids=["private", "group"])
async def test_no_command_tells_bob_anything_of_alice(db: Database, where: dict[str, Any]) -> None:
    async with House(db, SCRIPT, the_team=TEAM, rules=PATIENT) as house:
        ids = await alice_lives(house)
        before = await house.all("select id, text, archived_at from memory order by id")
        for line in ways(ids):
            shown = len(house.channel.order)
            await house.say(line, **where)
            await house.quiet()
            for message in house.channel.order[shown:]:
                if message.chat == where["chat"]:
                    told = message.text + str([f.data for f in message.files])
                    assert SECRET not in without_echo(told, line), line
        assert await house.all("select id, text, archived_at from memory order by id") == before
        hers = f"select status from schedule where owner = '{ALICE}'"
        assert await house.one(hers) != "cancelled"


@pytest.mark.slow
async def test_in_a_group_alice_is_told_nothing_of_her_private_life(db: Database) -> None:
    """DESIGN.md 3.4: what is shown there is read by everybody."""
    async with House(db, SCRIPT, the_team=TEAM, rules=PATIENT) as house:
        ids = await alice_lives(house)
        skipped = ("/usage", "/forget")  # figures of money alone; erasing is hers to do
        for line in ways(ids):
            if line.startswith(skipped):
                continue
            shown = len(house.channel.order)
            await house.say(line, author="1", **GROUP)
            await house.quiet()
            for message in house.channel.order[shown:]:
                if message.chat == "-5":
                    told = message.text + str([f.data for f in message.files])
                    assert SECRET not in without_echo(told, line), line
        assert len(await house.all("select id from memory")) == 3


@pytest.mark.parametrize("data", ["forget:{turn}:yes", "stop:{turn}", "ok:1", "link:{turn}:yes"])
async def test_no_button_of_alice_works_for_bob(db: Database, data: str) -> None:
    async with House(db, SCRIPT, the_team=TEAM) as house:
        ids = await alice_lives(house)
        await house.ask("/forget")
        await house.press(data.format(**ids), **HIS)
        await house.quiet()
        assert len(await house.all("select id from memory")) == 3


def context(house: House, owner: str, session: str, turn: int) -> ToolContext:
    known = {f.name for f in dataclasses.fields(ToolContext)}
    values = {
        "owner": owner,
        "session_id": session,
        "turn_id": turn,
        "call_id": "c9",
        "language": "en",
        "clock": house.clock,
        "archive": SessionArchive(house.db),
        "memory": SessionNotes(house.db, house.clock, Redactor()),
        "tasks": house.tasks.desk,
    }
    return ToolContext(**{k: v for k, v in values.items() if k in known})  # type: ignore[arg-type]


async def of_bob(house: House, chat: str = "2") -> tuple[str, int]:
    """(session, turn) of bob."""
    lane = f"telegram:777:{chat}"
    session = await house.one(f"select session_id from conversation where id = '{lane}'")
    turn = await house.one(f"select max(id) from turn where session_id = '{session}'")
    return session, int(turn)


async def task_of_alice(house: House, session: str) -> str:
    """A background task of hers that has brought her secret."""
    values = TaskRow(
        id="t123456789",
        owner=ALICE,
        author=ALICE,
        session_id=session,
        conversation_id="telegram:777:1",
        turn_id=1,
        call_session=session,
        call_id="s1",
        tool="study",
        state="done",
        summary=f"found {SECRET}",
        body=encode(Message("user", (ToolResult("s1", "study", f"found {SECRET}"),))),
        created_at=house.clock.now(),
    ).model_dump()
    await house.db.write(lambda conn: conn.execute(insert(TaskRow.__table__), values) and None)  # type: ignore[attr-defined]
    return "t123456789"


async def test_no_tool_that_reads_the_past_tells_bob_anything_of_alice(db: Database) -> None:
    """ARC-7, MEM-17: by whatever arguments a model makes up."""
    async with House(db, SCRIPT, the_team=TEAM) as house:
        ids = await alice_lives(house)
        ctx = context(house, BOB, *await of_bob(house))
        specs = [*history_tools(OwnHistory(db)), *archive_tools(), *notes_tools(), *task_tools()]
        history, restore, remember, check = specs
        task = await task_of_alice(house, ids["session"])
        calls: list[tuple[Any, dict[str, Any]]] = [
            (history, {"query": f"{SECRET} {ALICE} {word}", "source": source})
            for word in ("", "owner:telegram:1", '" OR "', "*")
            for source in ("chats", "archive", "all")
        ]
        refs = ["r1", "r1-r99", ids["blob"], f"{ids['short']}/r1", f"../{ids['session']}/r1"]
        refs += [f"archive://{ids['session']}/r{n}" for n in range(1, 6)]
        refs += [f"archive://{ids['session']}/d1/r1", f"{ids['session']}/d1/r1-r9"]
        calls += [(restore, {"ref": ref}) for ref in refs]
        calls += [(remember, {"text": f"loves {SECRET}", "kind": "rule"})]
        calls += [(check, {"action": do, "task_id": task}) for do in ("list", "result", "cancel")]
        in_hers = dataclasses.replace(ctx, session_id=ids["session"])
        asked = [(spec, ctx, args) for spec, args in calls]
        asked += [(spec, in_hers, args) for spec, args in calls if spec is check]
        for spec, where, args in asked:
            try:
                told = (await spec.call(where, args)).content
            except ToolFailure as e:
                told = str(e)
            assert SECRET not in without_echo(told, " ".join(["x", *map(str, args.values())])), args
        assert await house.all(f"select id from memory where owner = '{BOB}'") == []


async def test_every_tool_that_reads_stored_things_is_in_this_suite(db: Database) -> None:
    """A new one must be added above: it is known by the ports that it uses."""
    del db
    market = {"search_stock_by_name", "analyze_stock", "get_market_overview", "get_market_history"}
    market |= {"chart", "screen_stocks", "market_regime", "wyckoff_diagnose", "indicators"}
    market |= {"risk_metrics", "correlation", "market_calendar", "fundamentals", "filings"}
    public = market | {
        "position_size",
        "web_fetch",
        "web_search",
        "run_backtest",  # writes into the owner's book, and reads nothing of it
        "ask_user",
        "compact",
        "load_context",
        "list_results",
        "read_result",
    }
    # Held to their owner in test_portfolio_chat.py and test_orders.py.
    of_books = {"portfolio", "update_portfolio", "place_order", "cancel_order"}
    of_books |= {"generate_ai_report", "generate_strategy_decision"}  # test_report_kept.py
    of_books |= {"get_stock_profiles"}  # test_own_profiles.py
    of_books |= {"alert", "remind"}  # test_watching_tools.py
    of_books |= {"load_skill"}  # test_skills_tool.py
    # Held to their owner in test_outside.py.
    of_files = {"read_document", "read_file", "write_file", "exec_command"}
    assert {spec.name for spec in toolbox()} - public - of_books - of_files == {
        "query_history",
        "restore_archive",
        "remember",
        "check_background_tasks",
    }


async def test_no_port_answers_for_another_owner(db: Database) -> None:
    async with House(db, SCRIPT, the_team=TEAM) as house:
        ids = await alice_lives(house)
        session, turn = await of_bob(house)
        now = house.clock.now()
        told: list[Any] = []
        recall = OwnRecall(db)
        for owner, scope in ((BOB, "private"), (ALICE, "telegram:777:-5"), (BOB, "telegram:777:1")):
            told.append(
                await recall.recall(
                    owner, scope, f"{SECRET} NVDA", symbols=None, now=now, shown=frozenset()
                )
            )
        told.append(
            await OwnHistory(db).search(BOB, turn, SECRET, source="all", since=None, limit=20)
        )
        told.append(
            await OwnHistory(db).search(
                BOB, int(ids["turn"]), SECRET, source="all", since=None, limit=20
            )
        )
        told.append(await SessionArchive(db).read(BOB, session, f"archive://{ids['session']}/r1"))
        told.append(await StoredPortfolio(db).records(BOB, book.Holding))
        note = NewNote(f"always {SECRET}", "rule")
        told.append(
            await SessionNotes(db, house.clock, Redactor()).remember(BOB, session, turn, note)
        )
        assert SECRET not in str(told)
        assert await StoredPortfolio(db).remove(BOB, book.Holding, 1) is False
        hers = await recall.recall(
            ALICE, "private", SECRET, symbols=None, now=now, shown=frozenset()
        )
        assert SECRET in hers.text  # so that the suite tests something


async def test_background_work_of_alice_says_nothing_to_bob(db: Database) -> None:
    """BGT-5: what is due for her goes to her place alone."""
    async with House(db, SCRIPT, the_team=TEAM) as house:
        await alice_lives(house)
        house.clock.seconds += dt.timedelta(hours=3).total_seconds()
        house.timer.wake()
        await house.quiet()
        assert SECRET not in " ".join(house.channel.texts("2"))
        await db.write(lambda conn: conn.execute(text("select 1")) and None)
