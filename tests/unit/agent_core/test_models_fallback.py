import datetime as dt
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from agent_core import errors
from agent_core.models.fallback import FallbackModel
from agent_core.models.scripted import INFO, Answer, ScriptedModel
from agent_core.ports import Chunk, RestartChunk
from agent_core.types import ToolUse
from tests.unit.agent_core.model_requests import ask, read, text_of

BUSY = errors.ModelOverloaded("a", "busy")


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    def now(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self.time, dt.UTC)

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds


def scripted(name: str, *answers: Answer | str, window: int = 200_000) -> ScriptedModel:
    return ScriptedModel(answers, replace(INFO, name=name, context_window=window))


def chain(clock: Clock, *models: ScriptedModel) -> FallbackModel:
    return FallbackModel(models, clock, clock.sleep)


@pytest.mark.parametrize(
    "error",
    [
        errors.ModelRateLimited("a", "", 5.0),
        errors.ModelTimeout("a", "idle", 60),
        errors.ModelUnreachable("a"),
        BUSY,
        errors.StreamBroken("a"),
    ],
)
async def test_another_model_answers_when_the_first_cannot(error: errors.ModelError) -> None:
    """FBK-1: at once, and silently where nothing was shown."""
    clock = Clock()
    a, b = scripted("a/1", Answer(error=error)), scripted("b/2", "hello")
    chunks, last = await read(chain(clock, a, b), ask())
    assert (last.model, text_of(chunks)) == ("b/2", "hello")
    assert [c for c in chunks if isinstance(c, RestartChunk)] == [
        RestartChunk(str(error), "b/2", had_output=False)
    ]
    assert clock.slept == []


@pytest.mark.parametrize(
    "error",
    [
        errors.ModelAuthRefused("a"),
        errors.ModelUnknown("a"),
        errors.ModelBadRequest("a"),
        errors.ContextTooLong("a"),
        OSError("disk full"),
    ],
)
async def test_what_the_operator_must_mend_is_raised(error: Exception) -> None:
    """FBK-1, FBK-4, defect 15."""
    a, b = scripted("a/1", Answer(error=error)), scripted("b/2", "hello")  # type: ignore[arg-type]
    with pytest.raises(type(error)):
        await read(chain(Clock(), a, b), ask())
    assert b.requests == []


async def test_words_that_were_shown_are_taken_back() -> None:
    """FBK-3, defect 14."""
    a = scripted("a/1", Answer("half an ans", chunk=4, error=BUSY, error_after=2))
    chunks, last = await read(chain(Clock(), a, scripted("b/2", "whole")), ask())
    at = next(i for i, c in enumerate(chunks) if isinstance(c, RestartChunk))
    restart = chunks[at]
    assert isinstance(restart, RestartChunk)
    assert restart.had_output
    assert text_of(chunks[:at]) == "half an "
    assert text_of(chunks[at:]) == last.message.text == "whole"


async def test_info_follows_the_active_model() -> None:
    """FBK-2, TOK-8."""
    a = scripted("a/1", Answer(error=BUSY), "back")
    model = chain(Clock(), a, scripted("b/2", "x", window=64_000))
    assert model.info.context_window == 200_000
    await read(model, ask())
    assert model.info.context_window == 64_000
    await read(model, ask())
    assert model.info.name == "a/1"


async def test_three_failures_in_a_minute_skip_a_model_for_a_minute() -> None:
    """FBK-4."""
    clock = Clock()
    a = scripted("a/1", *[Answer(error=BUSY)] * 3, "well again")
    b = scripted("b/2", *["b"] * 9)
    model = chain(clock, a, b)
    for _ in range(5):
        await read(model, ask())
        clock.time += 5
    assert (len(a.requests), len(b.requests)) == (3, 5)
    clock.time += 60
    _, last = await read(model, ask())
    assert last.message.text == "well again"


async def test_failures_far_apart_skip_nothing() -> None:
    """FBK-4."""
    clock = Clock()
    a = scripted("a/1", *[Answer(error=BUSY)] * 5)
    model = chain(clock, a, scripted("b/2", *["b"] * 5))
    for _ in range(5):
        await read(model, ask())
        clock.time += 31
    assert len(a.requests) == 5


async def test_a_lone_model_is_tried_once_more() -> None:
    clock = Clock()
    a = scripted("a/1", Answer(error=BUSY), "second time")
    _, last = await read(chain(clock, a), ask())
    assert last.message.text == "second time"
    assert clock.slept == [1.0]
    with pytest.raises(errors.ModelOverloaded):
        await read(chain(clock, scripted("a/1", *[Answer(error=BUSY)] * 3)), ask())


@pytest.mark.parametrize(("asked", "slept"), [(7.0, [7.0]), (20.0, [20.0]), (21.0, None)])
async def test_a_wait_that_a_provider_asks_for_is_kept_up_to_20_seconds(
    asked: float, slept: list[float] | None
) -> None:
    clock = Clock()
    limited = errors.ModelRateLimited("a", "", asked)
    model = chain(clock, scripted("a/1", Answer(error=limited), "ok"))
    if slept is None:
        with pytest.raises(errors.ModelRateLimited):
            await read(model, ask())
        return
    await read(model, ask())
    assert clock.slept == slept


async def test_an_open_breaker_does_not_leave_a_person_without_an_answer() -> None:
    clock = Clock()
    a = scripted("a/1", *[Answer(error=BUSY)] * 4, "ok")
    model = chain(clock, a)
    for _ in range(2):
        with pytest.raises(errors.ModelOverloaded):
            await read(model, ask())
    _, last = await read(model, ask())
    assert last.message.text == "ok"


async def test_a_silent_model_is_left_for_the_next_within_the_agents_own_limit() -> None:
    """FBK-1, SUB-12: the limit is each attempt's, so that the fallback has its time."""
    silent = ScriptedModel([Answer("some words and then nothing more", gap=60)])
    spare = ScriptedModel(["the answer"])
    chunks, last = await read(FallbackModel([silent, spare], Clock()), replace(ask(), idle=0.05))
    assert last.message.text == "the answer"
    assert any(isinstance(chunk, RestartChunk) and chunk.had_output for chunk in chunks)


async def test_leaving_closes_the_inner_stream_and_close_closes_all() -> None:
    closed: list[str] = []

    class Slow(ScriptedModel):
        async def stream(self, request: object) -> AsyncIterator[Chunk]:  # type: ignore[override]
            try:
                async for chunk in super().stream(request):  # type: ignore[arg-type]
                    yield chunk
            finally:
                closed.append("stream")

    slow = Slow(["a long answer, a very long answer"])
    model = FallbackModel([slow], Clock())
    stream = model.stream(ask())
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    assert closed == ["stream"]
    await model.close()
    assert slow.closed


async def test_the_scripted_model_refuses_what_a_provider_would() -> None:
    model = ScriptedModel(lambda request: Answer("n" + str(len(request.messages))))
    bad = replace(ask(), messages=(*ask().messages, *scripted_calls()))
    with pytest.raises(errors.ModelBadRequest, match="without results"):
        await read(model, bad)
    assert model.violations
    _, last = await read(model, ask())
    assert last.message.text == "n1"
    assert len(model.finished) == 1


def scripted_calls() -> tuple:  # type: ignore[type-arg]
    from agent_core.types import assistant

    return (assistant("", ToolUse("c", "quote", {})),)
