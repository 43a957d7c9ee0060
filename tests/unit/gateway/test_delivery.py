"""From events to what is shown while a turn runs (DESIGN.md 3.6, EVT-9, SUB-8)."""

import asyncio

import pytest

from agent_core.events import (
    AgentFinished,
    AgentStarted,
    Event,
    ModelStarted,
    Retrying,
    Steered,
    StreamReset,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    Used,
)
from agent_core.runtime.team import Progress
from agent_core.types import TurnStatus, Usage
from channels.types import Address, Button, Preview, Step
from gateway.outbound.delivery import Delivery
from tests.loopback import Loopback, LoopbackStream

STOP = Button("Stop", "stop:1", "danger")


class NoReceipt:
    """Nothing becomes visible here."""

    ids = ()
    final = 0

    async def shown(self, message_id: str, *, final: bool, last: bool = False) -> None: ...

    async def settled(self, index: int, *, last: bool = False) -> None: ...


class Screen:
    """A delivery and its stream."""

    def __init__(self, progress: Progress = "all") -> None:
        channel = Loopback(previews=False)
        self.stream: LoopbackStream = channel.stream(
            Address("telegram", "777", "1"), NoReceipt(), private=True, reply_to=None
        )
        self.delivery = Delivery(self.stream, thinking="Thinking…", stop=STOP, progress=progress)

    async def after(self, *events: Event) -> Preview:
        for event in events:
            self.delivery.emit(event)
        for _ in range(5):
            await asyncio.sleep(0)
        return self.stream.previews[-1]


@pytest.fixture
async def screen() -> Screen:
    return Screen()


async def test_words_grow_and_the_thinking_line_leaves_with_the_first(screen: Screen) -> None:
    assert (await screen.after(ModelStarted("m", 1))).status == "Thinking…"
    shown = await screen.after(TextDelta("Hel"), TextDelta("lo"))
    assert (shown.text, shown.status, shown.buttons) == ("Hello", "", (STOP,))


async def test_text_before_a_tool_call_leaves_the_preview(screen: Screen) -> None:
    """EVT-9."""
    await screen.after(ModelStarted("m", 1), TextDelta("let me look"))
    shown = await screen.after(
        StreamReset("a tool call follows"), ToolStarted("c1", "quote", "Quote", "AAPL")
    )
    assert shown.text == ""
    assert shown.steps == (Step("c1", "Quote", detail="AAPL"),)


async def test_a_step_runs_says_where_it_is_and_ends(screen: Screen) -> None:
    await screen.after(ToolStarted("c1", "quote", "Quote", "AAPL"))
    shown = await screen.after(ToolProgress("c1", "half"))
    assert (shown.steps[0].state, shown.steps[0].detail) == ("running", "half")
    shown = await screen.after(ToolFinished("c1", "quote", ok=True, seconds=1.0, summary="3 rows"))
    assert (shown.steps[0].state, shown.steps[0].detail) == ("ok", "3 rows")
    shown = await screen.after(
        ToolStarted("c2", "quote", "Quote", "X"), ToolFinished("c2", "quote", ok=False, seconds=1.0)
    )
    assert (shown.steps[1].state, shown.steps[1].detail) == ("failed", "X")


async def test_steps_of_a_sub_agent_stand_under_it(screen: Screen) -> None:
    """SUB-8: the delegation is one line, not a tool and an agent."""
    shown = await screen.after(
        ToolStarted("d1", "delegate_to_research", "Research", "news"),
        AgentStarted("research", "Research", "find the news", "d1"),
        ToolStarted("c1", "quote", "Quote", "AAPL", agent="research"),
        ToolStarted("c2", "quote", "Quote", "MSFT"),
    )
    assert [(s.id, s.agent, s.parent) for s in shown.steps] == [
        ("d1", "research", None),
        ("c1", "research", "d1"),
        ("c2", None, None),
    ]
    shown = await screen.after(
        AgentFinished("research", "d1", "timeout", 3.0, "fallback_to_direct_tools"),
        ToolFinished("d1", "delegate_to_research", ok=True, seconds=3.0),
    )
    assert (shown.steps[0].state, shown.steps[0].detail) == ("failed", "timeout")


async def test_a_second_delegation_to_an_agent_has_its_own_steps(screen: Screen) -> None:
    shown = await screen.after(
        AgentStarted("research", "Research", "one", "d1"),
        AgentFinished("research", "d1", "completed", 1.0, "use_result"),
        AgentStarted("research", "Research", "two", "d2"),
        ToolStarted("c1", "quote", "Quote", agent="research"),
    )
    assert shown.steps[-1].parent == "d2"
    assert (shown.steps[0].state, shown.steps[0].detail) == ("ok", "one")


async def test_words_of_sub_agents_are_not_the_answer(screen: Screen) -> None:
    shown = await screen.after(
        TextDelta("mine"),
        TextDelta("theirs", "research"),
        StreamReset("theirs", "research"),
        ModelStarted("m", 1, "research"),
    )
    assert shown.text == "mine"


async def test_a_fallback_begins_the_answer_anew(screen: Screen) -> None:
    """FBK-3."""
    shown = await screen.after(
        TextDelta("half"), StreamReset("overloaded"), Retrying("overloaded", "p/other")
    )
    assert (shown.text, shown.status) == ("", "Thinking… (p/other)")
    assert (await screen.after(TextDelta("whole"))).text == "whole"


async def test_the_newest_state_wins_when_the_channel_is_slow(screen: Screen) -> None:
    gate = screen.stream.gate = asyncio.Event()
    for n in range(100):
        screen.delivery.emit(TextDelta(str(n % 10)))
        await asyncio.sleep(0)
    gate.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(screen.stream.previews) <= 2
    assert screen.stream.previews[-1].text == "0123456789" * 10


async def test_what_changes_nothing_shows_nothing(screen: Screen) -> None:
    for event in (
        Steered("x"),
        Used("m", Usage(), 1000, "research"),
        ThinkingDelta("hm"),
        TurnEnded(TurnStatus.DONE, "x"),
        ToolProgress("unknown", "x"),
    ):
        screen.delivery.emit(event)
    await asyncio.sleep(0.01)
    assert [p for p in screen.stream.previews if p.text or p.steps] == []


async def test_a_close_ends_the_preview(screen: Screen) -> None:
    await screen.after(TextDelta("a"))
    await screen.delivery.close()
    screen.delivery.emit(TextDelta("b"))
    await asyncio.sleep(0.01)
    assert [p.text for p in screen.stream.previews] == ["a"]
    assert screen.stream.closed == 1


async def test_a_close_does_not_wait_for_a_preview_that_hangs(screen: Screen) -> None:
    screen.stream.gate = asyncio.Event()
    screen.delivery.emit(TextDelta("a"))
    await asyncio.sleep(0.01)
    await asyncio.wait_for(screen.delivery.close(), 0.5)


async def test_a_preview_that_breaks_keeps_nothing_back(
    screen: Screen, caplog: pytest.LogCaptureFixture
) -> None:
    """hermes#28004: the answer and the end of typing do not hang on it."""
    screen.stream.error = RuntimeError("a defect")
    screen.delivery.emit(TextDelta("a"))
    await asyncio.sleep(0.01)
    screen.stream.error = None
    assert (await screen.after(TextDelta("b"))).text == "ab"
    screen.stream.error = RuntimeError("a defect")
    await screen.delivery.close()
    assert caplog.text.count("preview_failed") == 2


async def test_nothing_is_shown_before_what_was_to_be_said_earlier(screen: Screen) -> None:
    """The letters of the place go first; then the newest state is shown."""
    clear = asyncio.Event()

    async def wait() -> None:
        await clear.wait()

    late = Delivery(screen.stream, thinking="…", stop=None, clear=wait)
    for word in "abc":
        late.emit(TextDelta(word))
        await asyncio.sleep(0)
    assert screen.stream.previews == []
    clear.set()
    await asyncio.sleep(0.01)
    assert [p.text for p in screen.stream.previews] == ["abc"]
    await asyncio.wait_for(late.close(), 0.5)


async def test_a_close_does_not_wait_for_what_is_to_be_said_earlier(screen: Screen) -> None:
    never = asyncio.Event()

    async def wait() -> None:
        await never.wait()

    late = Delivery(screen.stream, thinking="…", stop=None, clear=wait)
    late.emit(TextDelta("a"))
    await asyncio.sleep(0)
    await asyncio.wait_for(late.close(), 0.5)
    assert screen.stream.previews == []


async def test_without_previews_events_are_only_counted() -> None:
    delivery = Delivery(None, thinking="…", stop=None)
    delivery.emit(ToolStarted("c1", "quote", "Quote"))
    assert [s.id for s in delivery.steps] == ["c1"]
    await delivery.close()


@pytest.mark.parametrize(("progress", "shown"), [("off", []), ("milestones", ["d1", "c2"])])
async def test_a_preset_says_how_much_of_the_work_is_shown(
    progress: Progress, shown: list[str]
) -> None:
    """`delegation.show_progress`: what sub-agents do inside is no milestone."""
    screen = Screen(progress)
    preview = await screen.after(
        AgentStarted("research", "Research", "find the news", "d1"),
        ToolStarted("c1", "quote", "Quote", "AAPL", agent="research"),
        ToolStarted("c2", "quote", "Quote", "MSFT"),
        AgentFinished("research", "d1", "completed", 1.0, "use_result"),
        TextDelta("so far"),
    )
    assert [step.id for step in preview.steps] == shown
    assert [step.id for step in screen.delivery.steps] == shown
    assert preview.text == "so far"
