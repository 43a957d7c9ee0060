"""What the contract suite asks of each model: the model, its provider's twin, and how that twin counts and is read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from agent_core.errors import ModelOverloaded
from agent_core.models.anthropic import AnthropicModel
from agent_core.models.gemini import GeminiModel
from agent_core.models.openai import OpenAIModel
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.models.stream import StreamLimits
from agent_core.ports import Model, ModelInfo, Price
from agent_core.types import ToolUse
from tests.twins.anthropic import AnthropicTwin
from tests.twins.gemini import GeminiTwin
from tests.twins.llm_script import Turn, turn_of
from tests.twins.openai import OpenAITwin

PRICE = Price(2.0, 10.0, 0.2, 2.5)
PATIENT = StreamLimits(first_token=60.0, idle=60.0, total=120.0)


@dataclass(frozen=True, slots=True)
class Counted:
    """What a twin is told to have counted."""

    fresh: int
    read: int
    output: int


class Rig:
    """A provider's model against its twin.

    Attributes:
        name: the provider.
        halves: the provider's wire can cut a surrogate pair.
        signs: reasoning comes with a proof that must come back unchanged.
        keeps_broken: a call with unreadable arguments arrives, rather than ending the stream.
    """

    name: ClassVar[str]
    halves: ClassVar[bool] = True
    signs: ClassVar[bool] = True
    keeps_broken: ClassVar[bool] = True
    twin: AnthropicTwin | OpenAITwin | GeminiTwin
    cache: ClassVar[Any] = "prefix"

    def __init__(self) -> None:
        self.models: list[Model] = []

    @property
    def facts(self) -> ModelInfo:
        """Of a model that sees, with a price."""
        return ModelInfo(f"{self.name}/{self.model_name}", 200_000, 8_192, True, self.cache, PRICE)

    model_name: ClassVar[str]

    def model(self, *, limits: StreamLimits = PATIENT, **facts: Any) -> Model:
        """A new model; it is closed with the rig."""
        made = self._model(replace(self.facts, **facts), limits)
        self.models.append(made)
        return made

    def _model(self, facts: ModelInfo, limits: StreamLimits) -> Model:
        raise NotImplementedError

    def usage(self, counted: Counted) -> dict[str, int]:
        """The twin's own fields of a count."""
        raise NotImplementedError

    def pictures(self) -> list[str]:
        """Base64 of the pictures in the last request."""
        raise NotImplementedError

    def results(self) -> list[str]:
        """The contents of the tool results at the end of the last request, in order."""
        raise NotImplementedError

    @property
    def sent(self) -> dict[str, Any]:
        """The body of the last request."""
        return self.twin.calls[-1].params

    async def close(self) -> None:
        """Close the models, then the twin."""
        for model in self.models:
            await model.close()
        await self.twin.stop()


class AnthropicRig(Rig):
    """Claude."""

    name, model_name, cache = "anthropic", "claude-sonnet-5-5", "breakpoint"

    def __init__(self) -> None:
        super().__init__()
        self.twin = AnthropicTwin()

    def _model(self, facts: ModelInfo, limits: StreamLimits) -> Model:
        return AnthropicModel(
            facts, provider=self.name, api_key="k", base_url=self.twin.url, limits=limits
        )

    def usage(self, counted: Counted) -> dict[str, int]:
        return {
            "input_tokens": counted.fresh,
            "cache_read_input_tokens": counted.read,
            "output_tokens": counted.output,
        }

    def pictures(self) -> list[str]:
        listed = (m["content"] for m in self.sent["messages"] if isinstance(m["content"], list))
        blocks = (b for content in listed for b in content)
        return [b["source"]["data"] for b in blocks if b["type"] == "image"]

    def results(self) -> list[str]:
        blocks = self.sent["messages"][-1]["content"]
        return [b["content"] for b in blocks if b["type"] == "tool_result"]


class OpenAIRig(Rig):
    """Any OpenAI-compatible endpoint."""

    name, model_name, signs = "openai", "gpt-5", False

    def __init__(self) -> None:
        super().__init__()
        self.twin = OpenAITwin()

    def _model(self, facts: ModelInfo, limits: StreamLimits) -> Model:
        return OpenAIModel(
            facts, provider=self.name, api_key="k", base_url=f"{self.twin.url}/v1", limits=limits
        )

    def usage(self, counted: Counted) -> dict[str, int]:
        return {
            "prompt_tokens": counted.fresh + counted.read,
            "cached_tokens": counted.read,
            "completion_tokens": counted.output,
        }

    def pictures(self) -> list[str]:
        contents = (m["content"] for m in self.sent["messages"] if isinstance(m["content"], list))
        urls = (p["image_url"]["url"] for c in contents for p in c if p["type"] == "image_url")
        return [url.partition("base64,")[2] for url in urls]

    def results(self) -> list[str]:
        return [m["content"] for m in self.sent["messages"] if m["role"] == "tool"]


class GeminiRig(Rig):
    """Gemini."""

    name, model_name, halves, keeps_broken = "gemini", "gemini-3-pro", False, False

    def __init__(self) -> None:
        super().__init__()
        self.twin = GeminiTwin()

    def _model(self, facts: ModelInfo, limits: StreamLimits) -> Model:
        return GeminiModel(
            facts, provider=self.name, api_key="k", base_url=self.twin.url, limits=limits
        )

    def usage(self, counted: Counted) -> dict[str, int]:
        return {
            "promptTokenCount": counted.fresh + counted.read,
            "cachedContentTokenCount": counted.read,
            "candidatesTokenCount": counted.output,
        }

    def pictures(self) -> list[str]:
        parts = (p for c in self.sent["contents"] for p in c["parts"])
        return [p["inlineData"]["data"] for p in parts if "inlineData" in p]

    def results(self) -> list[str]:
        parts = self.sent["contents"][-1]["parts"]
        return [p["functionResponse"]["response"]["output"] for p in parts]


class Gemini25Rig(GeminiRig):
    """The generation before: calls without ids, reasoning bounded by tokens."""

    name, model_name = "gemini", "gemini-2.5-flash"


RIGS: tuple[type[Rig], ...] = (AnthropicRig, OpenAIRig, GeminiRig, Gemini25Rig)


def scripted(*turns: Turn | str) -> ScriptedModel:
    """The scripted model of other tests, with the same script: what they prove holds for real providers."""
    return ScriptedModel([_answer(turn_of(t), n) for n, t in enumerate(turns)])


def _answer(turn: Turn, n: int) -> Answer:
    import json

    calls: Sequence[ToolUse] = [
        ToolUse(b["id"] or f"c{n}_{i}", b["name"], json.loads(b["raw"]))
        for i, b in enumerate(turn.blocks)
        if b["type"] == "tool_use"
    ]
    thinking = "".join(b["thinking"] for b in turn.blocks if b["type"] == "thinking")
    cut = turn.cut
    return Answer(
        turn.text,
        tuple(calls),
        thinking,
        chunk=turn.chunk,
        error=ModelOverloaded("scripted", "cut") if cut else None,
        error_after=cut[0] if cut else 0,
        stop=turn.stop,
    )
