"""Compaction in the life of a chat: when it comes, what the person is told, what the model sees then."""

from dataclasses import replace

from agent_core.errors import ContextTooLong, ModelOverloaded
from agent_core.models.normalise import problems
from agent_core.models.scripted import INFO, Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.storage.statements import load_rows
from agent_core.types import Context, Message
from gateway.storage.db import Database
from tests.harness import agent, call, delegate, team
from tests.house import House, on_sqlite, until

SMALL = replace(INFO, context_window=16_000)  # T = 8,000 tokens (TOK-6)
LONG = "The close was 512.10 on that day and the volume was high. " * 40
SUMMARY = """## Goal
Compare GOOG and AAPL.
## Constraints & Preferences
never short
## Progress
### Done
prices read
### In Progress
none
## Key Decisions
none
## Resolved Questions
none
## Pending User Asks
none
## Relevant Files
none
## Remaining Work
none
## Critical Context
512.10
## Tools & Patterns
none
"""


def is_summary(request: ModelRequest) -> bool:
    return "Critical Context" in request.messages[-1].text


def talker(request: ModelRequest) -> str:
    return SUMMARY if is_summary(request) else LONG


def shown(request: ModelRequest) -> str:
    return "\n".join(
        getattr(block, "text", "") for message in request.messages for block in message.blocks
    )


def heads(request: ModelRequest) -> list[Message]:
    """Messages that stand for what is behind a cut."""
    return [
        m
        for m in request.messages
        if any(isinstance(b, Context) and "compacted conversation" in b.text for b in m.blocks)
    ]


async def long_chat(house: House, turns: int = 14) -> list[str]:
    """Answers of a chat that outgrows the window of SMALL."""
    answers = []
    for n in range(turns):
        words = "Never short anything. What of GOOG?" if n == 0 else f"question {n}"
        answers.append((await house.ask(words))[-1])
    return answers


async def test_a_long_chat_is_compacted_and_says_so_in_one_line(db: Database) -> None:
    """CMP-34, CHN-4: the line stands once, under the answer of the turn in which it happened."""
    model = ScriptedModel(talker, info=SMALL)
    async with House(db, model) as house:
        answers = await long_chat(house)
        told = [a for a in answers if "Context compacted" in a]
        assert told
        assert len(told) < len(answers) / 2
        assert all(a.count("Context compacted") == 1 for a in told)
        asked = [r for r in model.requests if not is_summary(r)]
        assert all(len(heads(r)) <= 1 for r in asked)
        assert len(heads(asked[-1])) == 1
        assert "Never short anything." in shown(asked[-1])  # what people say stays word for word
        assert not model.violations


@on_sqlite
async def test_what_a_summary_stands_for_is_learnt_at_once(db: Database) -> None:
    """MEM-14: not only when the person has been silent."""
    async with House(db, ScriptedModel(talker, info=SMALL), teacher=ScriptedModel([])) as house:
        await long_chat(house)
        await until(lambda: not house.learning.busy)
        assert await house.one("select count(*) from checkpoint where kind = 'summary'") > 0
        assert await house.one("select count(*) from memory_pending") == 0


async def test_nothing_of_the_transcript_is_lost(db: Database) -> None:
    """CMP-35, DESIGN.md 1: the rows stay, the checkpoint stands beside them."""
    async with House(db, ScriptedModel(talker, info=SMALL)) as house:
        await long_chat(house)
        session = await house.one("select session_id from conversation")
        rows = await db.read(lambda conn: load_rows(conn, session))
        assert [r.seq for r in rows] == list(range(1, 29))
        assert sum(r.message.text == LONG for r in rows) == 14
        assert await house.one("select count(*) from checkpoint where kind = 'summary'") >= 1


async def test_a_compaction_survives_a_restart_and_is_updated_not_repeated(db: Database) -> None:
    """CMP-31, CMP-32: the next summary is made from the one before, also by another process."""
    async with House(db, ScriptedModel(talker, info=SMALL)) as house:
        await long_chat(house)
        before = await house.one("select count(*) from checkpoint where kind = 'summary'")
    model = ScriptedModel(talker, info=SMALL)
    async with House(db, model) as house:
        house._keys = 100
        await house.ask("and now?")
        assert len(heads(model.requests[0])) == 1
        await long_chat(house)
        after = await house.one("select count(*) from checkpoint where kind = 'summary'")
        assert after > before
        summaries = [r for r in model.requests if is_summary(r)]
        assert all("Compare GOOG and AAPL." in shown(r) for r in summaries)


async def test_a_summary_that_fails_leaves_the_chat_running_within_the_window(db: Database) -> None:
    """CMP-15, moltis#2638: history is bounded even when every summary fails, and the turn is answered."""

    def broken(request: ModelRequest) -> Answer | str:
        return Answer(error=ModelOverloaded("p")) if is_summary(request) else LONG

    model = ScriptedModel(broken, info=SMALL)
    async with House(db, model) as house:
        answers = await long_chat(house, 20)
        assert all(LONG.strip() in a for a in answers)
        problems_told = await house.all("select body from trace where event = 'compaction'")
        assert any("ModelOverloaded" in row[0] or "overloaded" in row[0] for row in problems_told)


async def test_a_request_that_the_provider_finds_too_long_is_compacted_and_sent_again(
    db: Database,
) -> None:
    refused: list[ModelRequest] = []

    def strict(request: ModelRequest) -> Answer | str:
        if is_summary(request):
            return SUMMARY
        if len(request.messages) > 9 and not heads(request):
            refused.append(request)
            return Answer(error=ContextTooLong("p", "prompt is too long"))
        return LONG

    model = ScriptedModel(strict)
    async with House(db, model) as house:
        answers = await long_chat(house, 6)
        assert len(refused) == 1
        assert all(LONG.strip() in a for a in answers)
        assert "Context compacted" in "".join(answers)


@on_sqlite
async def test_a_smaller_model_sees_a_smaller_view(db: Database) -> None:
    """TOK-8: the window is that of the model that answers next."""
    model = ScriptedModel(talker)
    async with House(db, model) as house:
        await long_chat(house, 10)
        assert not any(is_summary(r) for r in model.requests)
        model.info = SMALL
        await house.ask("and now?")
        assert any(is_summary(r) for r in model.requests)
        assert len(heads(model.requests[-1])) == 1


async def test_a_sub_agent_is_compacted_by_the_same_means(db: Database) -> None:
    """CMP-36: a sub-agent that reads a lot does not overflow."""
    rounds = 12

    def desk(request: ModelRequest) -> Answer | str:
        if is_summary(request):
            return SUMMARY
        if request.system == "You are supervisor.":
            begun = len(request.messages) > 1
            return "all done" if begun else Answer(calls=(delegate("research"),))
        made = sum(len(m.calls) for m in request.messages) + (12 if heads(request) else 0)
        if made >= rounds:
            return "found it"
        return Answer(calls=(call("echo", f"e{made}", words=f"{chr(97 + made)} " * 1_200),))

    model = ScriptedModel(desk, info=SMALL)
    members = team(
        agent(tools=("echo",)), agent("research", tools=("echo",), limits={"tool_rounds": 20})
    )
    async with House(db, model, the_team=members) as house:
        assert (await house.ask("dig"))[-1] == "all done"
        child = "select count(*) from checkpoint where session_id like '%/d1'"
        assert await house.one(child) >= 1
        assert not any(problems(r.messages) for r in model.requests)


# /compact and the tool ----------------------------------------------------------------------------------------------


async def test_a_person_compacts_with_a_topic(db: Database) -> None:
    """CMP-29, CMP-30: the topic reaches the summariser; the answer says what was gained; the view shows none of it."""
    model = ScriptedModel(talker)
    async with House(db, model) as house:
        await long_chat(house, 8)
        answer = (await house.ask("/compact the prices of GOOG"))[-1]
        assert answer.startswith("Context compacted")
        [asked] = [r for r in model.requests if is_summary(r)]
        assert "the prices of GOOG" in asked.messages[-1].text
        await house.ask("go on")
        last = model.requests[-1]
        assert len(heads(last)) == 1
        assert "/compact" not in shown(last)
        assert "Context compacted" not in shown(last)


async def test_a_short_chat_has_nothing_to_compact(db: Database) -> None:
    model = ScriptedModel(["hello"])
    async with House(db, model) as house:
        await house.ask("hi")
        assert (await house.ask("/compact"))[-1].startswith("There is nothing to compact")
        assert len(model.requests) == 1


@on_sqlite
async def test_compact_in_an_empty_chat_gives_it_no_title(db: Database) -> None:
    async with House(db, []) as house:
        assert (await house.ask("/compact"))[-1].startswith("There is nothing to compact")
        assert await house.one("select title from session") == ""


@on_sqlite
async def test_a_message_sent_during_a_compaction_is_answered_after_it(db: Database) -> None:
    """hermes#34089: compaction or a session switch while a message is on its way loses nothing."""
    model = ScriptedModel(talker)
    async with House(db, model) as house:
        await long_chat(house, 8)
        await house.say("/compact")
        await house.say("and AAPL?")
        await house.quiet()
        assert house.channel.texts("1")[-2].startswith("Context compacted")
        assert house.channel.texts("1")[-1].startswith(LONG.strip()[:40])


# /why ---------------------------------------------------------------------------------------------------------------


async def test_why_shows_what_the_model_saw(db: Database) -> None:
    """OBS-1, ASM-13, MSC-13: sections with sizes, of the last turn."""
    async with House(db, ["hello", "again"]) as house:
        assert (await house.ask("/why"))[-1].startswith("No model has answered")
        await house.ask("hi there")
        told = (await house.ask("/why"))[-1]
        assert "`scripted/test`, 1 model call(s); the last one saw 1 messages" in told
        assert "| your message | 8 |" in told
        assert "| history" not in told
        await house.ask("more")
        assert "| history | 71 |" in (await house.ask("/why"))[-1]


@on_sqlite
async def test_why_in_chinese_says_what_was_shortened(db: Database) -> None:
    async with House(db, ScriptedModel(talker, info=SMALL)) as house:
        await long_chat(house)
        await house.ask("/language zh")
        told = (await house.ask("/why"))[-1]
        assert "摘要 ✂" in told
        assert "策略：economic" in told
