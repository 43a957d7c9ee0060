"""Learning from a conversation on a real database: MEM-5, MEM-8 … MEM-16, DED-2, DED-3, defect 8."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from agent_core.compaction.facts import own_words
from agent_core.compaction.rules import key_of
from agent_core.errors import ModelError, ModelUnreachable
from agent_core.memory.learn import Learner, Learnt, Material
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.storage import memories, pending
from agent_core.storage.memories import MARKER, Memory
from agent_core.storage.pending import Job
from agent_core.storage.statements import ensure_session
from agent_core.types import Row
from gateway.storage.db import Database
from tests.unit.agent_core.transcript import Transcript

NOW = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
DOWN = Answer(error=ModelUnreachable("scripted"))


@dataclass
class Hands:
    """A clock that is moved by hand."""

    at: dt.datetime = NOW

    def now(self) -> dt.datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()


@dataclass
class School:
    db: Database
    clock: Hands = field(default_factory=Hands)

    @property
    def learner(self) -> Learner:
        def clean(text: str) -> str:
            return text.replace("sk-secret", "[redacted]")

        return Learner(self.db, self.clock, own_words, key_of, clean)

    async def learn(
        self,
        model: ScriptedModel,
        talk: Transcript,
        *,
        owner: str = "alice",
        session: str = "s1",
        head: int | None = None,
        judge: ScriptedModel | None = None,
        refresh: bool = True,
    ) -> Learnt:
        await self.db.write(lambda c: ensure_session(c, session, owner, NOW))
        self.clock.at += dt.timedelta(minutes=5)
        rows: Sequence[Row] = talk.rows
        what = Material(owner, "private", session, rows, head)
        return await self.learner.learn(what, model, judge=judge, refresh=refresh)

    async def held(self, *kinds: str, owner: str = "alice") -> list[Memory]:
        wanted = kinds or ("preference", "decision")
        found = await self.db.read(lambda c: memories.live(c, owner, "private", wanted))
        return sorted(found, key=lambda m: m.id)

    async def texts(self, *kinds: str, owner: str = "alice") -> list[str]:
        return [m.text for m in await self.held(*kinds, owner=owner)]

    async def jobs(self) -> list[Job]:
        later = self.clock.at + dt.timedelta(days=1)
        return await self.db.read(lambda c: pending.due(c, later, []))


def model(*answers: Answer | str) -> ScriptedModel:
    return ScriptedModel(list(answers))


def talk(*words: str) -> Transcript:
    made = Transcript()
    for said in words or ("我偏好尾盘买入", "跌破支撑不买"):
        made.said(said)
        made.replied("好的。")
    made.looked("c1", "close 210.5")
    made.replied("完成。")
    return made


async def test_what_was_extracted_is_stored_with_its_source(db: Database) -> None:
    """MEM-7, MEM-16."""
    school = School(db)
    done = await school.learn(model("[偏好] 偏好尾盘买入\n[决策] 跌破支撑不买"), talk())
    found = await school.held()
    assert [(m.kind, m.text) for m in found] == [
        ("preference", "偏好尾盘买入"),
        ("decision", "跌破支撑不买"),
    ]
    assert {m.source for m in found} == {"chat_log:s1"}
    assert done.stored == tuple(m.id for m in found)
    assert [j.kind for j in await school.jobs()] == ["refresh"]


async def test_the_marker_keeps_a_session_from_being_read_twice(db: Database) -> None:
    """MEM-5, MEM-8: also when nothing was found; one more word is another text."""
    school, one = School(db), model("none", "[偏好] 偏好尾盘买入")
    assert (await school.learn(one, talk())).skipped == ""
    assert (await school.learn(one, talk())).skipped == "processed before"
    assert len(one.requests) == 1
    more = talk("我偏好尾盘买入", "跌破支撑不买", "再见")
    assert len((await school.learn(one, more)).stored) == 1


async def test_a_failed_call_writes_no_marker_and_nothing_else(db: Database) -> None:
    """MEM-8."""
    school, one = School(db), model(DOWN, "[偏好] 偏好尾盘买入")
    with pytest.raises(ModelError):
        await school.learn(one, talk())
    assert await school.held(MARKER) == []
    assert len((await school.learn(one, talk())).stored) == 1


@pytest.mark.parametrize("stop", ["refusal", "max_tokens"])
async def test_an_answer_that_is_none_is_a_failure(db: Database, stop: str) -> None:
    school = School(db)
    with pytest.raises(ModelError):
        await school.learn(model(Answer("[偏好] 偏好尾盘买入", stop=stop)), talk())  # type: ignore[arg-type]
    assert await school.texts() == []


async def test_gates_ask_no_model_and_end_the_job(db: Database) -> None:
    """MEM-5."""
    school, one, ended = School(db), model(), []
    brief = Transcript()
    brief.said("hi")
    await db.write(lambda c: ensure_session(c, "s1", "alice", NOW))
    what = Material("alice", "private", "s1", brief.rows)
    done = await school.learner.learn(what, one, done=lambda _: ended.append(1))
    assert (done.skipped, ended, one.requests) == ("too short", [1], [])


async def test_a_model_decides_where_characters_cannot(db: Database) -> None:
    """DED-2: it sees the latest ten of the kind; its DUPLICATE skips, its NEW writes."""
    school = School(db)
    await school.learn(model("[偏好] 偏好尾盘买入"), talk())
    judge = model("NEW", "DUPLICATE:1")
    said = talk("我偏好尾盘买入", "我喜欢小仓位试探", "收盘前买入最好")
    done = await school.learn(
        model("[偏好] 喜欢小仓位试探\n[偏好] 收盘前买入最好"), said, session="s2", judge=judge
    )
    assert await school.texts() == ["偏好尾盘买入", "喜欢小仓位试探"]
    assert (len(done.stored), done.known) == (1, 1)
    assert "1: 偏好尾盘买入" in judge.requests[0].messages[0].text
    [first, _] = await school.held()
    assert first.confirmed_at == school.clock.at


async def test_stage_one_asks_nobody(db: Database) -> None:
    """DED-1."""
    school, judge = School(db), model()
    await school.learn(model("[偏好] 偏好尾盘买入"), talk())
    again = talk("我偏好尾盘买入！", "就这样")
    done = await school.learn(model("[偏好] 偏好：尾盘买入"), again, session="s2", judge=judge)
    assert (done.known, judge.requests) == (1, [])


@pytest.mark.parametrize("answer", [DOWN, "maybe", "DUPLICATE:99"])
async def test_a_comparison_that_fails_waits_and_nothing_is_lost(
    db: Database, answer: Answer | str
) -> None:
    """DED-3: skipped now, asked again later."""
    school = School(db)
    await school.learn(model("[偏好] 偏好尾盘买入"), talk())
    said = talk("我喜欢小仓位试探", "是的")
    done = await school.learn(
        model("[偏好] 喜欢小仓位试探"), said, session="s2", judge=model(answer)
    )
    assert (done.stored, done.waiting) == ((), 1)
    [job] = [j for j in await school.jobs() if j.kind == "compare"]
    with pytest.raises(ModelError):
        await school.learner.compare(job, model("well"))
    ended = await school.learner.compare(job, model("NEW"), done=lambda c: pending.done(c, job))
    assert ended.state == "stored"
    found = (await school.held())[-1]
    assert (found.text, found.source) == ("喜欢小仓位试探", "chat_log:s2")
    assert [j.kind for j in await school.jobs() if j.kind == "compare"] == []


async def test_a_line_with_a_secret_is_not_stored(db: Database) -> None:
    school = School(db)
    said = talk("我的密钥是 sk-secret，一直用它", "好")
    done = await school.learn(model("[偏好] 密钥是 sk-secret"), said)
    assert done.stored == ()


async def test_people_learn_apart(db: Database) -> None:
    """MEM-17: one's words say nothing about another, not even that they are known."""
    school = School(db)
    for owner in ("alice", "bob"):
        done = await school.learn(
            model("[偏好] 偏好尾盘买入"), talk(), owner=owner, session=f"s-{owner}"
        )
        assert len(done.stored) == 1
    assert await school.texts(owner="bob") == ["偏好尾盘买入"]


async def test_a_head_goes_through_the_same_gates_once(db: Database) -> None:
    """MEM-13, MEM-14, defect 8: codes of the line alone, stock conclusions as decisions, no repeat."""
    school = School(db)
    said = talk(
        "我的纪律是跌破支撑就不买，这一条一直有效", "宁德时代我长期看好，回踩均线再考虑买入"
    )
    one = model("[偏好] 跌破支撑就不买\n[偏好] 长期看好宁德时代，回踩均线再考虑买入")
    await school.learn(one, said, head=0)
    found = await school.held()
    assert [(m.kind, m.codes) for m in found] == [("preference", ()), ("decision", ("300750.SZ",))]
    assert (await school.learn(one, said, head=0)).skipped == "processed before"
    assert len(one.requests) == 1


async def test_a_later_value_supersedes(db: Database) -> None:
    """MEM-15: the old one is hidden and can be traced."""
    school = School(db)
    await school.learn(model("[偏好] 止损 8%"), talk("止损 8%", "好"))
    later = talk("止损改为 10%", "好")
    await school.learn(model("[偏好] 止损改为 10%"), later, session="s2", judge=model("NEW"))
    assert await school.texts() == ["止损改为 10%"]
    old = await db.read(lambda c: memories.of_source(c, "alice", "chat_log:s1"))
    assert [m.superseded_by for m in old if m.kind != MARKER] == [(await school.held())[0].id]


async def filled(school: School, *texts: str) -> None:
    for text in texts:
        new = memories.NewMemory("alice", "preference", text, "chat_log:s1")
        await school.db.write(lambda c, n=new: memories.add(c, n, school.clock.at))  # type: ignore[misc]
    await school.db.write(lambda c: ensure_session(c, "s1", "alice", NOW))


REFRESH = Job("alice", "refresh", {"session": "s1"})
BOOK = "[剧本] 14:45 后检查支撑，跌破支撑不买"


async def test_layers_are_made_of_three_atoms_and_again_after_three_new_ones(db: Database) -> None:
    """MEM-10, MEM-11."""
    school, one = School(db), model(f"{BOOK}\n[画像] 稳健型交易者", "none")
    await filled(school, "14:45 后再看", "跌破支撑不买")
    assert (await school.learner.refresh(REFRESH, one)).skipped == "not due"
    await filled(school, "检查支撑")
    done = await school.learner.refresh(REFRESH, one)
    [book] = await school.held("playbook")
    [trait] = await school.held("persona")
    assert set(done.layered) == {book.id, trait.id}
    assert book.source == "layer_refresh"
    assert book.meta["extractor"] == "layer_refresh"
    assert book.meta["source_l1_ids"] == [m.id for m in await school.held()]
    assert {"layer_version", "source_hash"} <= set(book.meta)
    await filled(school, "四", "五")
    assert (await school.learner.refresh(REFRESH, one)).skipped == "not due"
    await filled(school, "六")
    assert (await school.learner.refresh(REFRESH, one)).skipped == ""
    assert (
        await school.learner.refresh(REFRESH, one)
    ).skipped == "not due"  # though nothing came of it
    assert len(one.requests) == 2
    assert BOOK in one.requests[1].messages[0].text  # it is told what exists
    assert len(await school.held()) == 6  # L1 stays (MEM-3)


async def test_a_refresh_that_fails_is_made_again(db: Database) -> None:
    school = School(db)
    await filled(school, "14:45 后再看", "跌破支撑不买", "检查支撑")
    with pytest.raises(ModelError):
        await school.learner.refresh(REFRESH, model(DOWN))
    assert len((await school.learner.refresh(REFRESH, model(BOOK))).layered) == 1


async def test_exit_leaves_the_layers_for_later(db: Database) -> None:
    """MEM-12."""
    school = School(db)
    await school.learn(model("[偏好] 偏好尾盘买入"), talk(), refresh=False)
    assert await school.jobs() == []


async def test_model_calls_are_paid_for_by_their_owner(db: Database) -> None:
    school = School(db)
    await school.learn(model("[偏好] 偏好尾盘买入"), talk())

    def usage(conn: object) -> list[tuple[object, ...]]:
        from sqlalchemy import text

        query = text("select owner, session_id, model from usage")
        return [tuple(r) for r in conn.execute(query)]  # type: ignore[attr-defined]

    assert await db.read(usage) == [("alice", "s1", "scripted/test")]
