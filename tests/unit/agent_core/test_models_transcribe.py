"""Voice messages as words, through an OpenAI-compatible endpoint."""

from collections.abc import AsyncIterator

import pytest

from agent_core import errors
from agent_core.models.transcribe import OpenAITranscriber, named
from agent_core.ports import Price, Transcriber
from tests.twins.openai import OpenAITwin


@pytest.fixture
async def twin() -> AsyncIterator[OpenAITwin]:
    twin = OpenAITwin()
    await twin.start()
    yield twin
    await twin.stop()
    assert twin.violations == []


@pytest.fixture
async def ears(twin: OpenAITwin) -> AsyncIterator[OpenAITranscriber]:
    ears = OpenAITranscriber(
        "whisper-1", provider="openai", api_key="k", base_url=f"{twin.url}/v1/", total=0.5
    )
    yield ears
    await ears.close()


async def test_what_is_heard_comes_back(twin: OpenAITwin, ears: OpenAITranscriber) -> None:
    assert isinstance(ears, Transcriber)
    twin.hears = " 谷歌今天怎么样？ "
    big = b"OggS" + bytes(3 * 2**20)
    assert (await ears.transcribe(big, "voice.ogg", "audio/ogg")).words == "谷歌今天怎么样？"
    [call] = twin.calls
    assert call.params["model"] == "whisper-1"
    assert call.headers["authorization"] == "Bearer k"
    assert (call.files["file"].media_type, call.files["file"].data) == ("audio/ogg", big)


async def test_a_name_that_the_endpoint_does_not_know_gets_an_ending(
    twin: OpenAITwin, ears: OpenAITranscriber
) -> None:
    assert (await ears.transcribe(b"x", "voice", "audio/ogg; codecs=opus")).words == "hello"
    assert twin.calls[0].files["file"].name == "voice.ogg"
    assert named("a.MP3", "audio/mpeg") == "a.MP3"
    assert named("a.amr", "audio/amr") == "a.amr"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"status": 401, "body": {"error": {"message": "bad key"}}}, errors.ModelAuthRefused),
        ({"status": 429, "headers": {"retry-after": "3"}}, errors.ModelRateLimited),
        ({"status": 500, "body": "<html>"}, errors.ModelOverloaded),
        ({"drop": "before"}, errors.StreamBroken),
        ({"hang": True}, errors.ModelTimeout),
        ({"status": 200, "body": {"words": 1}}, errors.StreamBroken),
    ],
)
async def test_a_failure_is_one_of_ours(
    twin: OpenAITwin, ears: OpenAITranscriber, fault: dict[str, object], error: type[Exception]
) -> None:
    twin.fault("transcriptions", **fault)
    with pytest.raises(error):
        await ears.transcribe(b"x", "voice.ogg", "audio/ogg")


async def test_a_server_that_answers_in_plain_text_is_understood(
    twin: OpenAITwin, ears: OpenAITranscriber
) -> None:
    twin.fault("transcriptions", status=200, body="good morning\n")
    heard = await ears.transcribe(b"x", "voice.ogg", "audio/ogg")
    assert (heard.words, heard.usage.usd) == ("good morning", None)


@pytest.mark.parametrize(
    ("told", "tokens", "usd"),
    [
        ({"type": "tokens", "input_tokens": 200, "output_tokens": 50}, 250, 500 / 1e6),
        ({"type": "duration", "seconds": 9}, 0, None),
        (None, 0, None),
        ({"input_tokens": "many"}, 0, None),
    ],
)
async def test_what_the_endpoint_counts_is_what_it_cost(
    twin: OpenAITwin, told: object, tokens: int, usd: float | None
) -> None:
    """Models that go by the second have no price of tokens: their cost is unknown, never 0 (MDL-3)."""
    price = Price(1.25, 5.0, 1.25, 1.25)
    url = f"{twin.url}/v1"
    ears = OpenAITranscriber("m", provider="p", api_key="k", base_url=url, price=lambda: price)
    assert (ears.name, await ears.price()) == ("p/m", price)
    twin.fault("transcriptions", status=200, body={"text": "hello", "usage": told})
    usage = (await ears.transcribe(b"x", "voice.ogg", "audio/ogg")).usage
    assert (usage.total_input + usage.output_tokens, usage.usd) == (tokens, usd)
    await ears.close()


async def test_nobody_there_is_unreachable() -> None:
    ears = OpenAITranscriber("m", provider="p", api_key="", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(errors.ModelUnreachable):
        await ears.transcribe(b"x", "voice.ogg", "audio/ogg")
    await ears.close()
    await ears.close()
