import asyncio
from collections.abc import AsyncIterator

import pytest

from agent_core.errors import ModelTimeout
from agent_core.models.sse import frames
from agent_core.models.stream import Joiner, StreamLimits, mend, watch


async def source(*gaps: float, closed: list[str] | None = None) -> AsyncIterator[int]:
    try:
        for n, gap in enumerate(gaps):
            await asyncio.sleep(gap)
            yield n
    finally:
        if closed is not None:
            closed.append("closed")


async def drain(items: AsyncIterator[int]) -> list[int]:
    return [item async for item in items]


def test_default_limits() -> None:
    """STM-1, STM-2, C-22."""
    assert StreamLimits() == StreamLimits(first_token=120, idle=60, total=300)


@pytest.mark.parametrize(
    ("gaps", "limits", "phase"),
    [
        ((5.0,), StreamLimits(0.05, 5, 9), "first_token"),
        ((0.0, 5.0), StreamLimits(5, 0.05, 9), "idle"),
        ((0.0, *[0.02] * 50), StreamLimits(5, 5, 0.1), "total"),
        ((5.0,), StreamLimits(5, 5, 0.05), "total"),
    ],
)
async def test_silence_ends_the_stream_and_closes_its_source(
    gaps: tuple[float, ...], limits: StreamLimits, phase: str
) -> None:
    closed: list[str] = []
    tasks = asyncio.all_tasks()
    with pytest.raises(ModelTimeout) as caught:
        await drain(watch(source(*gaps, closed=closed), limits, "p"))
    assert caught.value.phase == phase
    assert closed == ["closed"]
    assert asyncio.all_tasks() == tasks


async def test_what_is_no_life_moves_no_clock() -> None:
    limits = StreamLimits(first_token=0.1, idle=9, total=9)
    with pytest.raises(ModelTimeout) as caught:
        await drain(watch(source(*[0.03] * 50), limits, "p", life=lambda _: False))
    assert caught.value.phase == "first_token"


async def test_a_slow_reader_is_not_the_models_silence() -> None:
    got = []
    async for item in watch(source(0, 0, 0), StreamLimits(9, 0.05, 9), "p"):
        await asyncio.sleep(0.1)
        got.append(item)
    assert got == [0, 1, 2]


async def test_a_time_out_of_the_source_itself_is_not_ours() -> None:
    async def failing() -> AsyncIterator[int]:
        raise TimeoutError("theirs")
        yield 0

    with pytest.raises(TimeoutError, match="theirs"):
        await drain(watch(failing(), StreamLimits(), "p"))


async def test_leaving_early_closes_the_source() -> None:
    closed: list[str] = []
    items = watch(source(0, 9, closed=closed), StreamLimits(), "p")
    await anext(items)
    await items.aclose()  # type: ignore[attr-defined]
    assert closed == ["closed"]


def test_surrogate_halves_are_joined_over_chunks() -> None:
    """STM-3."""
    joiner = Joiner()
    sent = [joiner.push(t) for t in ("up \ud83d", "\ude80", "\ud83d", "", "x")]
    assert sent == ["up ", "🚀", "", "", "\ufffdx"]
    assert joiner.push("\ud83d") + joiner.flush() == "\ufffd"
    assert joiner.flush() == ""
    assert mend("plain 文") == "plain 文"


async def read_frames(*chunks: bytes) -> list[tuple[str, str]]:
    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return [frame async for frame in frames(body())]


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_events_are_the_same_however_the_bytes_are_cut(step: int, end: str) -> None:
    text = "event: a\ndata: {\ndata: 价}\n\n: comment\n\ndata:x\nid: 4\n\ndata: last"
    raw = text.replace("\n", end).encode()
    found = await read_frames(*(raw[i : i + step] for i in range(0, len(raw), step)))
    assert found == [("a", "{\n价}"), ("", "x"), ("", "last")]
