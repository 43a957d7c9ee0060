"""Recorded model streams: what was said is said again, without secrets, and only to the same question."""

import json
from pathlib import Path

import pytest

from agent_core.errors import ModelBadRequest
from agent_core.models.replay import Cassette, RecordingModel, ReplayModel
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import Chunk, FinishedChunk, Model, ModelRequest, TextChunk
from agent_core.types import Context, Message, Text, ToolResult, ToolUse, Usage, assistant, user

ASKED = ModelRequest("You are the desk.", (user("How did GOOG do?"),))
CALL = ToolUse("c1", "echo", {"words": "GOOG"})


def with_result(content: str, call: ToolUse = CALL) -> ModelRequest:
    result = Message("user", (ToolResult(call.id, call.name, content),))
    return ModelRequest(ASKED.system, (*ASKED.messages, assistant("", call), result))


async def stream(model: Model, request: ModelRequest = ASKED) -> list[Chunk]:
    return [chunk async for chunk in model.stream(request)]


async def recorded(*answers: Answer | str, secret: str = "s3cret-key") -> Cassette:
    cassette = Cassette(clean=lambda text: text.replace(secret, "[redacted]"))
    model = RecordingModel(ScriptedModel(list(answers)), cassette)
    await stream(model)
    if len(answers) > 1:
        await stream(model, with_result("GOOG closed at 707.38 (took 0.012 s)"))
    return cassette


async def test_what_was_recorded_is_said_again_word_by_word(tmp_path: Path) -> None:
    cassette = await recorded(Answer(calls=(CALL,)), "x" * 1_000)
    cassette.write(tmp_path / "kept" / "desk.json")
    model = ReplayModel(Cassette.read(tmp_path / "kept" / "desk.json"))
    (done,) = await stream(model)
    assert isinstance(done, FinishedChunk)
    assert (done.message.calls, done.stop) == ((CALL,), "tool_use")
    again = ToolUse("another-id", "echo", {"words": "GOOG"})
    *words, last = await stream(model, with_result("the clock differs now", again))
    assert "".join(chunk.text for chunk in words if isinstance(chunk, TextChunk)) == "x" * 1_000
    assert isinstance(last, FinishedChunk)
    assert last.usage.usd == 0.0, "nothing is paid twice"
    assert last.usage.output_tokens > 0


async def test_background_and_clocks_do_not_count_but_words_and_prompt_do() -> None:
    model = ReplayModel(await recorded("fine"))
    background = Message("user", (Context("now: 2030-01-01"), Text("How did GOOG do?")))
    assert await stream(model, ModelRequest(ASKED.system, (background,)))
    for other in (
        ModelRequest("You are another desk.", ASKED.messages),
        ModelRequest(ASKED.system, (user("How did AAPL do?"),)),
    ):
        with pytest.raises(ModelBadRequest, match="--record"):
            await stream(model, other)


async def test_secrets_are_not_kept(tmp_path: Path) -> None:
    """Defect 16: also those that a model repeats; the reasoning and its signature are left out."""
    told = Answer("the key is s3cret-key", thinking="hm, s3cret-key")
    cassette = await recorded(told)
    cassette.write(tmp_path / "desk.json")
    kept = (tmp_path / "desk.json").read_text("utf-8")
    assert "s3cret" not in kept
    assert "the key is [redacted]" in kept
    assert "hm," not in kept


async def test_a_broken_stream_is_not_kept() -> None:
    model = ScriptedModel([Answer("half", error=ModelBadRequest("p", "no"), error_after=1)])
    cassette = Cassette()
    with pytest.raises(ModelBadRequest):
        await stream(RecordingModel(model, cassette))
    assert cassette.answers == {}


async def test_a_later_file_wins_and_a_missing_one_holds_nothing(tmp_path: Path) -> None:
    for name, words in (("a", "first"), ("b", "second")):
        (await recorded(words)).write(tmp_path / f"{name}.json")
    files = [tmp_path / f"{name}.json" for name in ("a", "b", "c")]
    *_, last = await stream(ReplayModel(Cassette.read(*files)))
    assert isinstance(last, FinishedChunk)
    assert last.message.text == "second"


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"version": 2, "answers": {}}', '{"version": 1, "answers": []}']
)
def test_a_file_that_is_no_cassette_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "desk.json").write_text(text)
    with pytest.raises(ValueError, match=r"desk\.json"):
        Cassette.read(tmp_path / "desk.json")


async def test_the_file_is_the_same_for_the_same_recording(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (await recorded(Answer("x", usage=Usage(5, 3)))).write(tmp_path / f"{name}.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert json.loads((tmp_path / "a.json").read_text())["version"] == 1
