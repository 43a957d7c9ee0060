"""Which model answers: the settings' providers as ready Model objects, made once each, off the event loop.

`auto` is settled at start (DESIGN.md 8). Making a model imports its SDK, which costs over a second
of CPU, so it happens in a thread: for the default right after the channels are up, for others when
they are first chosen.
"""

import asyncio
import threading
from collections.abc import Iterable
from pathlib import Path

from agent_core.models.catalog import info
from agent_core.models.discover import discover
from agent_core.models.fallback import FallbackModel
from agent_core.ports import Clock, Model, Transcriber
from gateway.lean_imports import lean
from gateway.settings.models import Models, Provider, has_sdk

AUTO = "auto"
DEMO = "demo"
REPLAY = "replay"
CASSETTES = "cassettes"  # folder beside the presets, one file a preset


class UnknownModel(Exception):
    """No such model in the settings."""


class ModelHouse:
    """Models by name (`<provider>/<model>`, "demo", "replay", or "auto" for the default).

    `cassettes` is the folder from whose recordings "replay" answers.
    """

    def __init__(self, settings: Models, clock: Clock, cassettes: Path | None = None) -> None:
        self._settings = settings
        self._clock = clock
        self._cassettes = cassettes
        self._made: dict[str, Model] = {}
        self._making = threading.Lock()  # in threads, of several first turns at once
        self._locals: dict[str, str] = {}
        self._transcriber: Transcriber | None = None
        self.default = settings.default
        self._settled = asyncio.Event()
        if settings.default != AUTO:
            self._settled.set()

    @property
    def settings(self) -> Models:
        """The settings that it was made from."""
        return self._settings

    async def settle(self) -> str:
        """Decide what `auto` is; returns one line that says which and why (empty when the settings name one)."""
        if self._settings.default != AUTO:
            return ""
        choice = await discover(self._settings.keyed())
        self.default = choice.model
        if choice.base_url:
            self._locals[choice.provider] = choice.base_url
        self._settled.set()
        return choice.why["en"]

    def choices(self) -> list[str]:
        """What `/model` offers: the default, the fallbacks, each provider's own model, the demo planner."""
        names = [self.default, *self._settings.fallback]
        for name, entry in self._settings.providers.items():
            if entry.model and (entry.api_key is not None or entry.base_url):
                names.append(f"{name}/{entry.model}")
        return list(dict.fromkeys([*names, DEMO]))

    def known(self, name: str) -> bool:
        """Whether a model of this name can be made."""
        provider, _, model = name.partition("/")
        if name in (AUTO, DEMO):
            return True
        if name == REPLAY:
            return self._cassettes is not None and self._cassettes.is_dir()
        entry = self._settings.providers.get(provider)
        if entry is not None:
            return bool(model) and has_sdk(entry.kind)
        return bool(model) and provider in self._locals

    async def warm(self) -> None:
        """Import the default model's SDK, over a second of CPU, before the first message needs it.

        The model itself is made with that message (35 ms): the price table alone takes 5 MB of an idle process.
        """
        await self._settled.wait()
        provider = self.default.partition("/")[0]
        entry = self._settings.providers.get(provider)
        if entry is not None or provider in self._locals:
            await asyncio.to_thread(_import_sdk, entry.kind if entry else "openai")

    async def prepare(self, names: Iterable[str]) -> None:
        """Make these models ready for `get`; waits until `auto` is settled. Raises UnknownModel."""
        await self._settled.wait()
        missing = [name for name in names if self._resolve(name) not in self._made]
        for name in missing:
            await asyncio.to_thread(self._make_once, self._resolve(name))

    def get(self, name: str) -> Model:
        """A model that was prepared."""
        return self._made[self._resolve(name)]

    def transcriber(self) -> Transcriber | None:
        """What hears voice messages; None where the settings name nothing."""
        name = self._settings.transcriber
        if name is not None and self._transcriber is None:
            from agent_core.models.transcribe import OpenAITranscriber

            provider, _, model = name.partition("/")
            entry = self._settings.providers[provider]
            key = entry.api_key.get_secret_value() if entry.api_key is not None else ""
            self._transcriber = OpenAITranscriber(
                model,
                provider=provider,
                api_key=key,
                base_url=entry.base_url,
                price=lambda: info(name, self._settings.facts(), entry.kind).price,
            )
        return self._transcriber

    async def close(self) -> None:
        """Close all connections."""
        if self._transcriber is not None:
            await self._transcriber.close()
        for model in self._made.values():
            await model.close()

    def _resolve(self, name: str) -> str:
        return self.default if name in ("", AUTO) else name

    def _make_once(self, name: str) -> None:
        with self._making:
            if name not in self._made:
                self._make(name)

    def _make(self, name: str) -> None:
        if not self.known(name):
            raise UnknownModel(name)
        if name == REPLAY:
            self._made[name] = self._replayed()
            return
        rest = [n for n in self._settings.fallback if DEMO not in (n, name) and n != name]
        models = [self._single(n) for n in (name, *rest)]
        self._made[name] = models[0] if name == DEMO else FallbackModel(models, self._clock)

    def _replayed(self) -> Model:
        from agent_core.models.replay import Cassette, ReplayModel

        files = sorted(self._cassettes.glob("*.json")) if self._cassettes else []
        return ReplayModel(Cassette.read(*files))

    def _single(self, name: str) -> Model:
        if name == DEMO:
            from agent_core.models.demo import DemoModel

            return DemoModel()
        provider = name.partition("/")[0]
        entry = self._settings.providers.get(provider) or Provider(base_url=self._locals[provider])
        key = entry.api_key.get_secret_value() if entry.api_key is not None else ""
        facts = info(name, self._settings.facts(), entry.kind)
        _import_sdk(entry.kind)
        if entry.kind == "anthropic":
            from agent_core.models.anthropic import AnthropicModel

            return AnthropicModel(facts, provider=provider, api_key=key, base_url=entry.base_url)
        if entry.kind == "gemini":
            from agent_core.models.gemini import GeminiModel

            return GeminiModel(facts, provider=provider, api_key=key, base_url=entry.base_url)
        from agent_core.models import openai

        base_url = entry.base_url or self._locals.get(provider)
        return openai.OpenAIModel(facts, provider=provider, api_key=key, base_url=base_url)


def _import_sdk(kind: str) -> None:
    with lean():
        if kind == "anthropic":
            from agent_core.models.anthropic import warm
        elif kind == "gemini":
            from agent_core.models.gemini import warm
        else:
            from agent_core.models.openai import warm
        warm()
