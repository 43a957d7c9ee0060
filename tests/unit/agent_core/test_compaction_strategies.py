"""The policies and their numbers, and the course's table (FIX-1) reproduced from its conversation."""

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import pytest

from agent_core.compaction.compactor import Outcome, compact
from agent_core.compaction.economics import Situation
from agent_core.compaction.strategies import DEFAULT, POLICIES, Policy
from agent_core.compaction.summary import Job, Made
from agent_core.compaction.view import View
from agent_core.ports import ModelRequest
from tests.unit.agent_core.transcript import Transcript, texts

SEED = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "seed_003_conversation.json").read_text("utf-8")
)
SYSTEM: str = SEED["messages"][0]["content"]
DROPS, KEEPS = SEED["summary_that_drops_fact"], SEED["summary_that_keeps_fact"]


def seed() -> Transcript:
    """The conversation of the course."""
    made = Transcript()
    for message in SEED["messages"][1:]:
        add = made.said if message["role"] == "user" else made.replied
        add(message["content"])
    return made


async def applied(name: str, transcript: Transcript, summary: str = DROPS) -> Outcome:
    async def made(job: Job) -> Made:
        return Made(summary, job.profile)

    return await compact(
        transcript.view(),
        Situation(64_000),
        POLICIES[name],
        made,
        lambda v: ModelRequest("", v.messages),
    )


def counted(view: View) -> list[int]:
    """[messages, characters] with the system text."""
    return [len(view.messages) + 1, len(SYSTEM) + sum(map(len, texts(view)))]


def both(view: View) -> tuple[bool, bool]:
    """Whether the model sees the allergy and the budget."""
    said = "\n".join(texts(view))
    return "过敏" in said, "预算" in said and "500" in said


def test_defaults_are_the_numbers_of_the_sources() -> None:
    """CMP-1, CMP-5, CMP-9b, TOK-9, ANC-3, STR-1, guide: each is a field, so each can be set."""
    policy = Policy("any", "economic")
    assert {f.name: getattr(policy, f.name) for f in fields(policy)} == {
        "name": "any",
        "schedule": "economic",
        "clear_at": 0.5,
        "fold_at": 0.7,
        "summarise_at": 1.0,
        "batch": 0.2,
        "patience": 6.0,
        "cold_at": 0.4,
        "keep_results": 3,
        "clear_over": 100,
        "plain": False,
        "fold_keep": 6,
        "fold_over": 2_400,
        "fold_head": 900,
        "fold_tail": 500,
        "tail_tokens": None,
        "tail_share": 1.0,
        "tail_messages": 4,
        "keep_last": 6,
        "slack": 0,
        "profile": "structured",
        "layout": "one",
        "facts": True,
        "keywords_only": False,
        "anchors": 6,
        "words": 0.0,
        "clip": (300, 300),
        "forked": False,
        "summary_share": 0.1,
        "worth": 0.1,
        "ceiling": None,
    }


def test_six_policies_and_the_default() -> None:
    """Issue, 3; C-7, C-8: what each keeps and asks for."""
    assert DEFAULT == "economic"
    shapes = {
        n: (p.schedule, p.profile, p.layout, p.facts, p.forked, p.words)
        for n, p in POLICIES.items()
    }
    assert shapes == {
        "economic": ("economic", "structured", "one", True, True, 0.2),
        "eager": ("in_place", "structured", "one", True, False, 0.0),
        "window_reserve": ("threshold", "brief", "one", False, False, 0.0),
        "layered": ("count", "short", "layers", True, False, 0.0),
        "summary": ("count", "short", "one", False, False, 0.0),
        "truncate": ("count", "none", "one", False, False, 0.0),
    }
    economic = POLICIES["economic"]
    assert (economic.batch, economic.cold_at, economic.clip) == (0.2, 0.4, (300, 300))
    assert (economic.summarise_at, economic.tail_share, economic.ceiling) == (0.8, 0.08, 200_000)


def test_the_conversation_of_the_course_is_the_one_described() -> None:
    """FIX-1: 57 messages, 923 characters, both facts."""
    view = seed().view()
    assert counted(view) == SEED["expected"]["raw"] == [57, 923]
    assert both(view) == (True, True)


async def test_truncate_keeps_the_last_six_and_no_fact_before_them() -> None:
    """FIX-1, STR-1: (7, 106), the budget alone; no model call."""
    outcome = await applied("truncate", seed())
    assert counted(outcome.view) == SEED["expected"]["truncate"] == [7, 106]
    assert both(outcome.view) == (False, True)
    assert outcome.usage.total_input == 0


@pytest.mark.parametrize(("summary", "allergy"), [(DROPS, False), (KEEPS, True)])
async def test_a_summary_keeps_what_its_text_keeps(summary: str, allergy: bool) -> None:
    """FIX-1, STR-2: (8, 207); whether the allergy is there depends on the summariser."""
    outcome = await applied("summary", seed(), summary)
    assert counted(outcome.view) == SEED["expected"]["summary"] == [8, 207]
    assert both(outcome.view) == (allergy, True)


@pytest.mark.parametrize("summary", [DROPS, KEEPS])
async def test_layers_keep_both_facts_whatever_the_summary_drops(summary: str) -> None:
    """FIX-1, STR-3, STR-5: (9, 267)."""
    outcome = await applied("layered", seed(), summary)
    assert counted(outcome.view) == SEED["expected"]["layered"] == [9, 267]
    assert both(outcome.view) == (True, True)


async def test_tool_messages_in_the_tail_stay_with_their_call() -> None:
    """FIX-1b, C-4: a cut never begins with a result."""
    chat = seed()
    chat.said("查一下价格")
    chat.called("a", "b")
    chat.answered("a", "101.25")
    chat.answered("b", "99.5")
    chat.replied("好")
    chat.said("还有呢")
    chat.replied("没有了")
    for name in ("truncate", "summary", "layered"):
        view = (await applied(name, chat)).view
        kinds = [p.kind for p in view.parts if p.kind != "head"]
        assert kinds[0] != "results"
        assert kinds.count("results") == 1


async def test_nothing_kept_is_still_the_last_message() -> None:
    """FIX-1b: with `keep_last` 0 the person's newest message stays, else there is nothing to answer."""
    chat = seed()
    chat.said("那就这样")

    async def never(job: Job) -> Made:
        raise AssertionError(job)

    policy = Policy("none", "count", keep_last=0, profile="none", facts=False, anchors=0)
    outcome = await compact(
        chat.view(), Situation(64_000), policy, never, lambda v: ModelRequest("", v.messages)
    )
    *before, last = [p.message.text for p in outcome.view.parts]
    assert last == "那就这样"
    assert before == [
        "可以考虑扬州，三月花景很好，需要"
    ]  # the answer that was delivered just before (CMP-35)


async def test_what_an_answer_says_is_no_fact_and_a_new_value_replaces_the_old() -> None:
    """FIX-1b, KFS-1, KFS-3, KFS-4: keywords of people alone; 我不能吃辣 is missed by them and seen by the chain."""
    chat = Transcript()
    for words in ("预算是每天 300 元", "我不能吃辣", "预算是每天 500 元"):
        chat.said(words)
        chat.replied("重要：预算不要超过 900 元")
    for n in range(8):
        chat.said(f"第 {n} 个问题，麻烦你帮我想一想，越详细越好")
        chat.replied("好的，我来详细说一说，老城区步行范围大一些")
    slot = texts((await applied("layered", chat)).view)[0]
    assert "500" in slot
    assert not any(gone in slot for gone in ("300", "900", "辣"))


async def retained(policy: str, turns: Sequence[int], *, window: int = 16_000) -> int:
    """How many sentinels of these turns are still seen after 60 turns (FIX-5)."""
    chat, view = Transcript(), View.of(())

    async def made(job: Job) -> Made:
        return Made("The person plans a journey, and asked about many places.", job.profile)

    for n in range(1, 61):
        chat.said(
            f"My code number {n} is Q{n}X." if n in turns else f"Tell me about place number {n}."
        )
        view = view.extended(chat.rows[len(view.rows) :])
        situation = Situation(window)
        view = (
            await compact(
                view, situation, POLICIES[policy], made, lambda v: ModelRequest("", v.messages)
            )
        ).view
        assert view.tokens <= situation.threshold
        chat.looked(f"c{n}", "row of a table, " * 40)
        chat.replied("There is much to say about it. " * 12)
    seen = "\n".join(texts(view))
    return sum(f"Q{n}X" in seen for n in turns)


async def test_long_conversations_keep_what_their_policy_promises() -> None:
    """FIX-5, FIX-2 of the guide's table: sentinels at turns 1 to 10, sixty turns later."""
    turns = range(1, 11)
    kept = {
        name: await retained(name, turns)
        for name in ("economic", "window_reserve", "summary", "truncate")
    }
    assert kept["economic"] == 10
    assert kept["truncate"] == kept["summary"] == 0
    assert kept["window_reserve"] < 10
