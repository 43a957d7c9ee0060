"""Learning beside the chat: jobs are rows, nobody waits for them, a kill loses none (MEM-5, MEM-12, MEM-14, DED-3)."""

import asyncio

from agent_core.errors import ModelUnreachable
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.storage import pending
from agent_core.storage.pending import Job
from agent_core.types import Checkpoint
from gateway.memory.learning import ATTEMPTS, IDLE_S
from gateway.memory.learning_jobs import condensed, material_of
from gateway.storage.db import Database
from tests.harness import call
from tests.house import House, on_sqlite, until

LINE = "[偏好] 偏好尾盘买入"
CHAT = (Answer(calls=(call("echo"),)), "好的。", "记下了。")


def chatting() -> ScriptedModel:
    return ScriptedModel(list(CHAT))


async def talk(house: House, **more: str) -> None:
    await house.ask("我偏好尾盘买入", **more)
    await house.ask("止损 8%", **more)


async def learnt(house: House) -> list[tuple[object, ...]]:
    query = "select owner, scope, kind, text from memory where kind <> 'marker' order by id"
    return [tuple(row) for row in await house.all(query)]


async def jobs(house: House) -> list[tuple[object, ...]]:
    query = "select kind, owner, attempts from memory_pending order by id"
    return [tuple(row) for row in await house.all(query)]


async def idle(house: House) -> None:
    """Until the background has nothing to do."""
    await until(lambda: not house.learning.busy)


async def test_new_ends_a_session_and_its_words_are_learnt(db: Database) -> None:
    """MEM-5, MEM-16."""
    async with House(db, chatting(), teacher=ScriptedModel([LINE])) as house:
        await talk(house)
        await house.ask("/new")
        await idle(house)
        assert await learnt(house) == [("telegram:1", "private", "preference", "偏好尾盘买入")]
        session = await house.one("select session_id from turn limit 1")
        source = await house.one("select source from memory where kind = 'preference'")
        assert source == f"chat_log:{session}"
        assert await jobs(house) == []


async def test_new_does_not_wait_for_a_model_that_hangs(db: Database) -> None:
    """nanobot#1174: the answer comes at once, and so does the next turn; a stop leaves the job."""
    begun = asyncio.Event()

    async def hang(_: ModelRequest) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    script = ScriptedModel([*CHAT, "hello again"])
    async with House(db, script, teacher=ScriptedModel(hang)) as house:
        await talk(house)
        await house.ask("/new")
        async with asyncio.timeout(30):
            await begun.wait()
        assert (await house.ask("hi"))[-1] == "hello again"
        assert [kind for kind, *_ in await jobs(house)] == ["extract"]
    assert len(await jobs(house)) == 2  # the one that was cut off, and the session that goes on


async def test_a_job_survives_the_process(db: Database) -> None:
    """DED-3, MEM-8: what one process put, the next one learns."""
    async with House(db, chatting()) as house:
        await talk(house)
        await house.ask("/new")
    async with House(db, [], teacher=ScriptedModel([LINE])) as house:
        await idle(house)
        assert len(await learnt(house)) == 1


async def test_a_model_that_is_away_is_asked_again_later(db: Database) -> None:
    """DED-3: longer each time."""
    teacher = ScriptedModel([Answer(error=ModelUnreachable("scripted"))] * 2 + [LINE])
    async with House(db, chatting(), teacher=teacher) as house:
        await talk(house)
        await house.ask("/new")
        await idle(house)
        assert await jobs(house) == [("extract", "telegram:1", 1)]
        await house.later(59)
        assert len(teacher.requests) == 1
        await house.later(2)
        await idle(house)
        assert await jobs(house) == [("extract", "telegram:1", 2)]
        await house.later(121)
        await idle(house)
        assert len(await learnt(house)) == 1


async def test_who_is_forgotten_while_a_model_answers_is_not_remembered_after_all(
    db: Database,
) -> None:
    """MEM-19: the job went with the person, so what came of it goes, too."""
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: ModelRequest) -> str:
        asked.set()
        await go_on.wait()
        return LINE

    async with House(db, chatting(), teacher=ScriptedModel(slow)) as house:
        await talk(house)
        await house.ask("/new")
        async with asyncio.timeout(30):
            await asked.wait()
        await db.write(lambda c: c.exec_driver_sql("delete from memory_pending"))
        go_on.set()
        await idle(house)
        assert await house.one("select count(*) from memory") == 0


async def test_a_job_that_fails_for_ever_is_given_up(db: Database) -> None:
    async with House(db, [], teacher=ScriptedModel([])) as house:
        body = {"session": "none", "last": 0, "head": True}
        job = Job("alice", "compare", body, attempts=ATTEMPTS - 1)
        await db.write(lambda c: pending.put(c, job, house.clock.now()))
        house.learning.wake()
        await idle(house)
        assert await jobs(house) == []


async def test_silence_is_an_end_as_well(db: Database) -> None:
    """After N idle minutes; somebody who goes on talking is not read in between."""
    teacher = ScriptedModel([LINE])
    async with House(db, chatting(), teacher=teacher) as house:
        await house.ask("我偏好尾盘买入")
        await house.later(IDLE_S - 10)
        await house.ask("止损 8%")
        await house.later(20)
        await idle(house)
        assert teacher.requests == []
        await house.later(IDLE_S)
        await idle(house)
        assert len(await learnt(house)) == 1


async def test_a_stop_leaves_what_is_unread_without_the_layers(db: Database) -> None:
    """MEM-12: nothing is asked at an exit."""
    teacher = ScriptedModel([])
    async with House(db, chatting(), teacher=teacher) as house:
        await talk(house)
        await idle(house)
    assert teacher.requests == []
    assert await jobs(house) == [("extract", "telegram:1", 0)]
    assert '"layers": false' in await house.one("select body from memory_pending")
    async with House(db, [], teacher=ScriptedModel([LINE])) as house:
        await idle(house)
        assert len(await learnt(house)) == 1
        assert await jobs(house) == []  # no refresh


async def test_a_process_that_was_killed_reads_the_silent_sessions_at_its_start(
    db: Database,
) -> None:
    async with House(db, chatting()) as house:
        await talk(house)
    async with House(db, [], teacher=ScriptedModel([LINE])) as house:
        await house.later(IDLE_S + 1)
        await idle(house)
        assert len(await learnt(house)) == 1


async def test_resume_and_fork_end_a_session_too(db: Database) -> None:
    """MEM-5."""
    teacher = ScriptedModel([LINE, "none", "none"])
    async with House(db, ScriptedModel([*CHAT, *CHAT]), teacher=teacher) as house:
        await talk(house)
        first = await house.one("select id from session limit 1")
        await house.ask("/fork")
        await idle(house)
        assert len(teacher.requests) == 1
        await talk(house)
        await house.ask(f"/resume {first}")
        await idle(house)
        assert len(teacher.requests) == 2
        await house.ask(f"/resume {first}")  # it is here already
        await idle(house)
        assert len(teacher.requests) == 2


async def test_what_was_taken_back_is_not_learnt(db: Database) -> None:
    teacher = ScriptedModel(["none"])
    async with House(db, ScriptedModel([*CHAT, "x"]), teacher=teacher) as house:
        await talk(house)
        await house.ask("我总是满仓")
        await house.ask("/undo")
        await house.ask("/new")
        await idle(house)
        assert "尾盘" in teacher.requests[0].messages[0].text
        assert "满仓" not in teacher.requests[0].messages[0].text


async def test_in_a_group_everybody_learns_from_their_own_turns(db: Database) -> None:
    """MEM-17, RMB-4: others' words are nobody's preference, and the group keeps what was said there."""
    teacher = ScriptedModel(lambda _: "[偏好] 偏好尾盘买入\n[偏好] 总是满仓")
    script = ScriptedModel(
        lambda r: Answer(calls=(call("echo"),)) if len(r.messages) % 4 == 1 else "好"
    )
    async with House(db, script, teacher=teacher) as house:
        group = {"chat": "-5", "private": False}
        for author, words in (
            ("1", "我偏好尾盘买入"),
            ("2", "我总是满仓"),
            ("1", "好"),
            ("2", "好"),
        ):
            await house.ask(words, author=author, **group)
        await house.ask("/new", author="1", **group)
        await idle(house)
        for request in teacher.requests:
            told = request.messages[0].text
            assert ("尾盘" in told) != ("满仓" in told)
        found = await learnt(house)
        assert {(owner, text) for owner, _, _, text in found} <= {
            ("telegram:1", "偏好尾盘买入"),
            ("telegram:2", "总是满仓"),
        }
        assert {scope for _, scope, _, _ in found} <= {"telegram:777:-5"}
        assert found


async def test_a_head_is_put_with_its_summary_and_starts_behind_the_last_one(db: Database) -> None:
    """MEM-14: no summary, no job; a sub-agent's summary puts none."""
    async with House(db, ScriptedModel([*CHAT])) as house:
        await talk(house)
        session = await house.one("select session_id from turn limit 1")

        now = house.clock.now()
        for made in (Checkpoint("clear", 0, 3), Checkpoint("summary", 0, 6)):
            await db.write(lambda c, m=made: condensed(c, "telegram:1", session, m, now))  # type: ignore[misc]
        await db.write(
            lambda c: condensed(c, "telegram:1", f"{session}/d1", Checkpoint("summary", 0, 6), now)
        )
        [job] = await db.read(lambda c: pending.due(c, now, []))
        material = await db.read(lambda c: material_of(c, job))
        assert material.head_after == 0
        assert [row.seq for row in material.rows] == [1, 2, 3, 4, 5]


async def test_a_demo_learns_nothing(db: Database) -> None:
    """MEM-5: only where a provider is configured."""
    async with House(db, chatting(), teacher=ScriptedModel([])) as house:
        house.teacher = None
        await talk(house)
        await house.ask("/new")
        await idle(house)
        assert await jobs(house) == []
        assert await learnt(house) == []
        house.teacher = ScriptedModel([])


@on_sqlite
async def test_each_session_is_read_when_it_has_been_silent_long_enough(db: Database) -> None:
    """MEM-5: who speaks again waits anew, and holds nobody else up."""
    chats = ScriptedModel([*CHAT, *CHAT, "好的。"])
    async with House(db, chats, teacher=ScriptedModel([LINE, LINE])) as house:
        await talk(house, author="1", chat="1")
        await house.later(60)
        await talk(house, author="2", chat="2")
        await house.later(60)
        await house.ask("还有一句", author="1", chat="1")
        await house.later(IDLE_S - 59)
        await idle(house)
        assert [owner for owner, *_ in await learnt(house)] == ["telegram:2"]
        await house.later(60)
        await idle(house)
        assert {owner for owner, *_ in await learnt(house)} == {"telegram:1", "telegram:2"}
