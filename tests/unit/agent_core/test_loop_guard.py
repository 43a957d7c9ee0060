"""The loop guard in a turn: an answer that does not rest on what it should is corrected, then marked (LPG-4 to 7)."""

import pytest

from agent_core.errors import ModelAuthRefused
from agent_core.events import StreamReset
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.runtime.expect import Require
from agent_core.types import RowKind, Usage
from gateway.storage.db import Database
from tests.harness import agent, call, delegate, message, post, team
from tests.house import on_sqlite
from tests.outages import DyingDatabase, Killed
from tests.unit.agent_core.guard_desk import TOOLS, guard_desk, guard_team

VIEW = call("portfolio", "v1", mode="view")
WORDS = "我有什么持仓"


def corrections(request: ModelRequest) -> int:
    return sum("Your answer was not sent" in m.text for m in request.messages)


@on_sqlite
async def test_a_missed_tool_is_asked_for_and_the_draft_is_not_sent(db: Database) -> None:
    """LPG-4: the corrective message names the tool and its arguments."""
    desk = guard_desk(db, ["you hold gold", Answer(calls=(VIEW,)), "you hold GOOG"])
    assert await desk.ask(WORDS, guard_team()) == "you hold GOOG"
    assert desk.tools.calls == [("portfolio", "view")]
    note = desk.model.requests[1].messages[-1].text
    assert "portfolio with mode=view" in note
    assert any(isinstance(e, StreamReset) for e in desk.events)
    assert not desk.model.violations


@on_sqlite
async def test_at_most_two_corrections_then_the_answer_carries_a_warning(db: Database) -> None:
    """LPG-4."""
    desk = guard_desk(db, ["gold", "still gold", "really gold"])
    text = await desk.ask(WORDS, guard_team())
    assert text.startswith("_Note: “Portfolio” was not used")
    assert text.endswith("\n\nreally gold")
    assert len(desk.model.requests) == 3
    assert corrections(desk.model.requests[-1]) == 2
    assert not desk.model.violations
    last = (await desk.rows())[-1]
    assert last.message.text == "really gold"  # the warning is for the person


@on_sqlite
async def test_a_view_does_not_stand_for_a_diagnosis(db: Database) -> None:
    """LPG-4."""
    diagnose = call("portfolio", "d1", mode="diagnose")
    desk = guard_desk(
        db, [Answer(calls=(VIEW,)), "you hold GOOG", Answer(calls=(diagnose,)), "it is healthy"]
    )
    assert await desk.ask("我持仓怎么样", guard_team()) == "it is healthy"
    assert desk.tools.calls == [("portfolio", "view"), ("portfolio", "diagnose")]


@on_sqlite
async def test_a_tool_that_was_called_costs_no_further_call(db: Database) -> None:
    desk = guard_desk(db, [Answer(calls=(VIEW,)), "you hold GOOG"])
    assert await desk.ask(WORDS, guard_team()) == "you hold GOOG"
    assert len(desk.model.requests) == 2


@on_sqlite
async def test_a_tool_that_failed_is_reported_and_not_asked_for_again(db: Database) -> None:
    """LPG-7."""
    desk = guard_desk(db, [Answer(calls=(VIEW,)), "I cannot see it"], broken=True)
    text = await desk.ask(WORDS, guard_team())
    assert (
        text
        == "_Note: “Portfolio” failed, so this answer is not checked against it._\n\nI cannot see it"
    )
    assert len(desk.model.requests) == 2


@on_sqlite
async def test_corrections_are_gone_from_the_next_turn(db: Database) -> None:
    """LPG-5: internal words and drafts stay in the transcript, no model sees them again."""
    desk = guard_desk(db, ["gold", Answer(calls=(VIEW,)), "you hold GOOG", "bye"])
    await desk.ask(WORDS, guard_team())
    await desk.ask("thanks", guard_team(), key="m:1:2")
    seen = [m.text for m in desk.model.requests[-1].messages]
    assert not any("not sent" in text or text == "gold" for text in seen)
    assert "you hold GOOG" in seen
    kinds = [row.kind for row in await desk.rows()]
    assert kinds.count(RowKind.NOTE) == 1
    assert [r.message.text for r in await desk.rows() if r.meta.get("internal") == "draft"] == [
        "gold"
    ]
    assert not desk.model.violations


@on_sqlite
async def test_corrections_are_gone_also_when_the_turn_fails(db: Database) -> None:
    """LPG-5."""
    down = Answer(error=ModelAuthRefused("p"))
    desk = guard_desk(db, ["gold", down, "bye"])
    await desk.ask(WORDS, guard_team())
    assert await desk.ask("thanks", guard_team(), key="m:1:2") == "bye"
    seen = [m.text for m in desk.model.requests[-1].messages]
    assert not any("not sent" in text or text == "gold" for text in seen)


@on_sqlite
async def test_without_the_tool_nothing_is_expected(db: Database) -> None:
    desk = guard_desk(db, ["I cannot see your holdings"])
    text = await desk.ask(WORDS, team(agent(tools=("echo",))))
    assert text == "I cannot see your holdings"


@on_sqlite
async def test_a_sub_agents_task_is_no_persons_question(db: Database) -> None:
    """LPG-1: the guard reads what a person says."""
    lead = agent(tools=("echo",))
    worker = agent("worker", tools=TOOLS)
    script = [Answer(calls=(delegate("worker", WORDS),)), "nothing", "done"]
    desk = guard_desk(db, script)
    assert await desk.ask("go", team(lead, worker)) == "done"


@on_sqlite
async def test_a_preset_widens_or_empties_what_is_expected(db: Database) -> None:
    """LPG-6, C-18."""
    desk = guard_desk(db, ["gold"])
    assert await desk.ask(WORDS, guard_team(require=Require(rules=()))) == "gold"
    wide = guard_desk(
        db,
        [
            "持仓: GOOG。要诊断吗？",
            "fine",
            Answer(calls=(call("portfolio", "d", mode="diagnose"),)),
            "ok",
        ],
    )
    team_ = guard_team(require=Require(affirmative=True))
    await wide.ask("hello", team_, key="m:1:2")
    assert await wide.ask("好的", team_, key="m:1:3") == "ok"


@on_sqlite
async def test_a_correction_is_made_in_no_turn_that_may_call_nothing_more(db: Database) -> None:
    """Defect 13: corrections exceed no budget and no limit of rounds."""
    paid = Usage(10, 5, usd=0.6)
    poor = guard_desk(db, [Answer("gold", usage=paid), Answer("more gold", usage=paid)])
    text = await poor.ask(WORDS, guard_team(limits={"usd": 1.0}))
    assert text.endswith("more gold")
    assert "was not used" in text
    assert len(poor.model.requests) == 2
    looping = [Answer(calls=(call("echo", f"c{n}", words=str(n)),)) for n in range(2)]
    bound = guard_desk(db, [*looping, "gold"])
    text = await bound.ask(WORDS, guard_team(limits={"tool_rounds": 2}), key="m:1:2")
    assert text.endswith("gold")
    assert len(bound.model.requests) == 3


@on_sqlite
async def test_an_empty_draft_poisons_nothing(db: Database) -> None:
    """ASM-15, defect 11."""
    desk = guard_desk(db, ["", Answer(calls=(VIEW,)), "you hold GOOG"])
    assert await desk.ask(WORDS, guard_team()) == "you hold GOOG"
    assert not desk.model.violations


@on_sqlite
@pytest.mark.parametrize("after", [False, True])
async def test_a_kill_at_any_commit_pays_no_draft_twice(db: Database, after: bool) -> None:
    """DESIGN.md 4: the correction is a row, so the turn goes on from it."""

    def script(request: ModelRequest) -> Answer | str:
        if any(getattr(b, "call_id", "") == "v1" for m in request.messages for b in m.blocks):
            return "you hold GOOG"
        return Answer(calls=(VIEW,)) if corrections(request) else "gold"

    for at in range(2, 9):
        chat = at + 20 * after
        dying = DyingDatabase(db, at, after=after)
        first = guard_desk(dying, ScriptedModel(script))
        first.chat = chat
        await post(db, message(WORDS, key=f"k{chat}", chat=chat))
        died = False
        try:
            await (await first.turn(guard_team())).run()
        except* Killed:
            died = True
        if not died or not await first.count("inbox", "status <> 2"):
            continue
        second = guard_desk(db, ScriptedModel(script))
        second.chat = chat
        turn = await second.turn(guard_team())
        await turn.run()
        assert second.reply == "you hold GOOG"
        drafts = [r for r in await second.rows() if r.meta.get("internal") == "draft"]
        assert len(drafts) == 1
        assert not second.model.violations
