"""The key `memory` of a preset as a run meets it: who recalls what, who may note, what is learnt."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.runtime.memories import MemoryRules
from agent_core.runtime.team import Team
from agent_core.types import Context, ToolResult
from gateway.storage.db import Database
from swarm_presets.loader import load_folder
from swarm_presets.problems import render
from tests.harness import call, delegate
from tests.house import House, on_sqlite
from tests.unit.gateway.asking import PAY, THE_TEAM
from tests.unit.gateway.remembering import remember
from tests.unit.gateway.test_memory_learning import CHAT, LINE, idle, jobs, learnt

OWNER = "telegram:1"
SECRET = "my favourite broker is Quellbach"
TASK = "find out about the favourite broker"


def desk(tmp_path: Path, lead: str = "", helper: str = "", other: str = "") -> Team:
    """A supervisor with two agents, each with what is written about its memory."""

    def memory(text: str) -> str:
        return f", memory: {text}" if text else ""

    (tmp_path / "desk.yaml").write_text(
        f"""version: 1
name: desk
supervisor: {{tools: [echo, remember]{memory(lead)}}}
agents:
  helper: {{role: Helper, prompt: You are helper., tools: [echo]{memory(helper)}}}
  other: {{role: Other, prompt: You are other., tools: []{memory(other)}}}
"""
    )
    loaded = load_folder(tmp_path, tools=frozenset({"echo", "remember"}))
    assert "desk" in loaded.teams, render(loaded.problems)
    return loaded.teams["desk"]


def handing(task: str = TASK, agent: str = "helper") -> list[Answer]:
    return [Answer(calls=(delegate(agent, task),)), Answer("looked"), Answer("done")]


def recalled(request: ModelRequest) -> str:
    found = [b for m in request.messages for b in m.blocks if isinstance(b, Context)]
    return "\n".join(b.text for b in found if b.kind == "recall")


async def known(home: House) -> None:
    """Something of the owner that was noted in private."""
    await remember(home.db, SECRET, owner=OWNER, scope="private")


@on_sqlite
@pytest.mark.parametrize(
    ("helper", "lead", "told"),
    [
        ("", "", (True, True)),
        ("{read: [user]}", "{read: [user]}", (True, True)),
        ("{read: []}", "{read: []}", (False, False)),
        ("{recall: 0}", "{recall: 0}", (False, False)),
        ("{read: [channel]}", "{read: [channel]}", (False, False)),
    ],
)
async def test_an_agent_recalls_what_its_preset_opens_and_nothing_else(
    db: Database, tmp_path: Path, helper: str, lead: str, told: tuple[bool, bool]
) -> None:
    """RCL, SUB-5: by default both read what is known of the person, the agent for its task."""
    async with House(db, handing(), the_team=desk(tmp_path, lead, helper)) as home:
        await known(home)
        await home.ask("who is my favourite broker?")
        first, child, _ = home.model.requests
        assert ("Quellbach" in recalled(first), "Quellbach" in recalled(child)) == told
        assert child.messages[0].text == TASK


@on_sqlite
async def test_an_agent_recalls_nothing_of_somebody_else(db: Database, tmp_path: Path) -> None:
    """MEM-17: the owner is the turn's, whatever the task says."""
    async with House(
        db, handing("the favourite broker of telegram:1"), the_team=desk(tmp_path)
    ) as home:
        await known(home)
        await home.ask("who?", author="2", chat="2")
        assert not any("Quellbach" in recalled(request) for request in home.model.requests)


@on_sqlite
async def test_a_group_stays_closed_to_what_is_private(db: Database, tmp_path: Path) -> None:
    """DESIGN.md 3.4: `user` opens nothing in a group; `channel` opens what is known in that group."""
    team = desk(tmp_path, "{read: [user, channel]}", "{read: [user, channel]}")
    async with House(db, handing() * 2, the_team=team) as home:
        await known(home)
        await home.ask("who is my favourite broker?", chat="-5", private=False)
        assert not any("Quellbach" in recalled(request) for request in home.model.requests)
        group = await home.one("select id from conversation")
        await remember(db, "our favourite broker is Rheinfels", owner=OWNER, scope=group)
        await home.ask("who is our favourite broker?", chat="-5", private=False)
        assert ["Rheinfels" in recalled(request) for request in home.model.requests[3:5]] == [
            True
        ] * 2


@on_sqlite
async def test_no_more_is_recalled_than_the_preset_says(db: Database, tmp_path: Path) -> None:
    async with House(db, handing(), the_team=desk(tmp_path, "{recall: 2}", "{recall: 1}")) as home:
        for name in ("Quellbach", "Rheinfels", "Saalbrunn"):
            text = f"thinks that {name} is a good broker"
            await remember(db, text, owner=OWNER, scope="private", kind="decision")
        await home.ask("who is my favourite broker?")
        lead, child, _ = home.model.requests
        assert (recalled(lead).count("broker"), recalled(child).count("broker")) == (2, 1)


@on_sqlite
async def test_what_is_recalled_counts_towards_the_limit_of_the_context(
    db: Database, tmp_path: Path
) -> None:
    """SUB-6: a memory that does not fit beside the task is left out, the task stays whole."""
    team = desk(tmp_path)
    helper = team.agents["helper"]
    narrow = replace(helper, limits=replace(helper.limits, input_tokens=10))
    team = replace(team, agents=team.agents | {"helper": narrow})
    async with House(db, handing(), the_team=team) as home:
        await known(home)
        await home.ask("who is my favourite broker?")
        child = home.model.requests[1]
        assert recalled(child) == ""
        assert child.messages[0].text == TASK


# Writing ------------------------------------------------------------------------------------------


@on_sqlite
@pytest.mark.parametrize(("rules", "kept"), [("", 1), ("{write: [user]}", 1), ("{write: []}", 0)])
async def test_a_note_is_refused_where_the_preset_lets_none_be_written(
    db: Database, tmp_path: Path, rules: str, kept: int
) -> None:
    """RMB-1: refused at execution, since the list of tools that a model sees never changes."""
    noting = Answer(calls=(call("remember", text=SECRET, kind="view"),))
    async with House(db, [noting, Answer("ok")], the_team=desk(tmp_path, rules)) as home:
        await home.ask(SECRET)
        [result] = [
            b for b in home.model.requests[-1].messages[-1].blocks if isinstance(b, ToolResult)
        ]
        assert await home.one("select count(*) from memory where kind = 'view'") == kept
        assert ("`memory.write` of the preset" in result.content) == (kept == 0)
        assert "remember" in [tool.name for tool in home.model.requests[-1].tools]


@pytest.mark.parametrize(("write", "kept"), [("[user]", True), ("[]", False)])
async def test_nothing_is_kept_of_a_session_that_may_not_be_remembered(
    db: Database, tmp_path: Path, write: str, kept: bool
) -> None:
    """MEM-5, MEM-12: neither is it learnt from, nor are its words found later."""
    teacher = ScriptedModel([LINE])
    team = desk(tmp_path, f"{{write: {write}}}")
    async with House(db, [*CHAT, Answer("不知道")], the_team=team, teacher=teacher) as home:
        await home.ask("我偏好尾盘买入")
        await home.ask("止损 8%")
        await home.ask("/new")
        await idle(home)
        await home.indexer.catch_up()
        assert bool(teacher.requests) == kept
        assert bool(await learnt(home)) == kept
        assert await jobs(home) == []
        await home.ask("我偏好什么时候买入？")
        assert ("尾盘" in recalled(home.model.requests[-1])) == kept


@on_sqlite
async def test_a_late_yes_is_kept_no_more_than_what_was_said_before_it(db: Database) -> None:
    """MEM-12: the turn of a decision that came late is one of the same session."""
    rules = MemoryRules(write=frozenset())
    team = replace(THE_TEAM, supervisor=replace(THE_TEAM.supervisor, memory=rules))
    script = [PAY, Answer("about the weather"), Answer("reported: paid")]
    async with House(db, script, the_team=team) as home:
        await home.ask("pay bob")
        await home.ask("how is the weather?")
        await home.press("ok:1")
        await home.quiet()
        assert await home.one("select count(*) from turn") == 3
        assert await home.indexer.catch_up() > 0
        assert await home.one("select count(*) from recall_doc") == 0


# Within a run -------------------------------------------------------------------------------------


@on_sqlite
@pytest.mark.parametrize(
    ("helper", "other", "told"),
    [
        ("{write: [run]}", "{read: [user, run]}", True),
        ("", "", False),
    ],
)
async def test_a_result_that_is_laid_out_for_the_run_is_read_by_who_reads_it(
    db: Database, tmp_path: Path, helper: str, other: str, told: bool
) -> None:
    """SUB-6: results are handed over as their output contract has them, to whose preset asks for them."""
    script = [
        Answer(calls=(delegate("helper", "look", "d1"),)),
        Answer("the helper found 42"),
        Answer(calls=(delegate("other", "judge", "d2"),)),
        Answer("judged"),
        Answer("done"),
    ]
    async with House(db, script, the_team=desk(tmp_path, "", helper, other)) as home:
        await home.ask("go")
        judging = home.model.requests[3].messages[0].text
        assert ("the helper found 42" in judging) == told
        assert judging.startswith("judge")
