"""One question to a model about memory: within time-outs, without tools, with one plain answer."""

from dataclasses import dataclass, field

from agent_core.errors import StreamBroken
from agent_core.models.stream import StreamLimits, closing, watch
from agent_core.ports import FinishedChunk, Model, ModelRequest
from agent_core.types import Usage, user

LIMITS = StreamLimits(first_token=60.0, idle=30.0, total=120.0)  # seconds; nobody waits for it
OUTPUT_TOKENS = 1_024


@dataclass(frozen=True, slots=True)
class Said:
    """The words of an answer, and what they cost."""

    text: str
    usage: Usage
    model: str


async def ask(model: Model, system: str, words: str, limits: StreamLimits = LIMITS) -> Said:
    """One answer. Raises a ModelError, ModelTimeout among them; cancellation closes the stream.

    An answer that is a refusal, a tool call or cut off is no answer: StreamBroken, since the next try may do better.
    """
    most = min(OUTPUT_TOKENS, model.info.max_output_tokens)
    request = ModelRequest(system, (user(words),), max_tokens=most)
    name = model.info.name
    async with closing(watch(model.stream(request), limits, name)) as stream:
        async for chunk in stream:
            if isinstance(chunk, FinishedChunk):
                if chunk.stop != "end":
                    raise StreamBroken(name, f"stopped by {chunk.stop}")
                return Said(chunk.message.text.strip(), chunk.usage, chunk.model)
    raise AssertionError("a model stream ended without its last chunk")


@dataclass(slots=True)
class Bill:
    """Questions that belong together, and what each cost: (model, usage)."""

    calls: list[tuple[str, Usage]] = field(default_factory=list)

    async def ask(self, model: Model, system: str, words: str) -> str:
        """The words of one answer; see `ask`."""
        said = await ask(model, system, words)
        self.calls.append((said.model, said.usage))
        return said.text
