"""Models by name: each kind is made by its own provider's class, and what cannot be made is unknown."""

import asyncio
import contextlib
import sys
import threading
from pathlib import Path

import pytest

from agent_core.models.anthropic import AnthropicModel
from agent_core.models.fallback import FallbackModel
from agent_core.models.gemini import GeminiModel
from agent_core.models.openai import OpenAIModel
from agent_core.models.replay import ReplayModel
from agent_core.ports import Model
from gateway.clock import SystemClock
from gateway.model_house import ModelHouse, UnknownModel
from gateway.settings.models import Models


def house(**models: object) -> ModelHouse:
    keys = {name: {"api_key": "k"} for name in ("anthropic", "openai", "gemini", "deepseek")}
    return ModelHouse(
        Models.model_validate({"default": "demo", "providers": keys} | models), SystemClock()
    )


@pytest.mark.parametrize(
    ("name", "kind", "cache"),
    [
        ("anthropic/claude-sonnet-5-5", AnthropicModel, "breakpoint"),
        ("gemini/gemini-2.5-flash", GeminiModel, "prefix"),
        ("deepseek/deepseek-chat", OpenAIModel, "prefix"),
    ],
)
async def test_each_kind_is_made_by_its_own_class(name: str, kind: type, cache: str) -> None:
    models = house()
    await models.prepare([name])
    made = models.get(name)
    assert isinstance(made, FallbackModel)
    assert isinstance(made._models[0], kind)
    assert (made.info.name, made.info.cache) == (name, cache)
    await models.close()


async def test_turns_that_begin_at_once_share_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a restart: a second one would be left with its connections open."""
    models = house()
    make, together = models._make, threading.Barrier(2)

    def slow(name: str) -> None:
        with contextlib.suppress(threading.BrokenBarrierError):
            together.wait(0.2)  # for another one that makes it, too
        make(name)

    monkeypatch.setattr(models, "_make", slow)

    async def got() -> Model:
        await models.prepare(["anthropic/claude-sonnet-5-5"])
        return models.get("anthropic/claude-sonnet-5-5")

    await asyncio.gather(got(), got())
    assert together.broken  # there was no other
    await models.close()


async def test_fallbacks_stand_behind_the_model_in_their_order() -> None:
    """FBK-1: default, then fallback."""
    models = house(default="gemini/gemini-3-pro", fallback=["anthropic/c", "openai/g", "demo"])
    await models.prepare(["auto"])
    made = models.get("auto")
    assert isinstance(made, FallbackModel)
    names = [m.info.name for m in made._models]
    assert names == ["gemini/gemini-3-pro", "anthropic/c", "openai/g"]
    await models.close()


async def test_a_kind_whose_sdk_is_not_installed_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "google", None)
    monkeypatch.delitem(sys.modules, "google.genai", raising=False)
    models = house()
    assert not models.known("gemini/gemini-3-pro")
    with pytest.raises(UnknownModel):
        await models.prepare(["gemini/gemini-3-pro"])
    assert models.known("anthropic/c")


async def test_replay_answers_from_the_recordings_beside_the_presets(tmp_path: Path) -> None:
    """`use: replay` in a preset; without a folder of recordings there is no such model."""
    settings = Models.model_validate({"default": "demo"})
    models = ModelHouse(settings, SystemClock(), tmp_path / "cassettes")
    assert not models.known("replay")
    with pytest.raises(UnknownModel):
        await models.prepare(["replay"])
    (tmp_path / "cassettes").mkdir()
    (tmp_path / "cassettes" / "desk.json").write_text('{"version": 1, "answers": {"a": {}}}')
    await models.prepare(["replay"])
    made = models.get("replay")
    assert isinstance(made, ReplayModel)
    assert list(made.cassette.answers) == ["a"]
