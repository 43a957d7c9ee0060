"""The model calls of one summary: within their time-outs, added up, each with one plain answer."""

from dataclasses import dataclass, replace

from agent_core.compaction import prompts
from agent_core.compaction.validate import Verdict
from agent_core.models.stream import StreamLimits, closing, watch
from agent_core.ports import FinishedChunk, Model, ModelRequest
from agent_core.types import Message, Usage, user


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said. `refused`: why it cannot be a summary at all, "" where it may be one."""

    message: Message
    refused: str = ""

    @property
    def text(self) -> str:
        """The words, without reasoning."""
        return self.message.text.strip()


class Calls:
    """Calls of one model. `limits` bound each call; `usage` and `attempts` sum them up, failed ones included."""

    def __init__(self, model: Model, limits: StreamLimits) -> None:
        self.model = model
        self.usage = Usage()
        self.attempts = 0
        self.answered_by = ""
        self._limits = limits

    async def ask(self, request: ModelRequest) -> Answer:
        """One answer. Raises a ModelError, ModelTimeout among them; cancellation closes the stream.

        A tool call is no summary: it is never run.
        """
        self.attempts += 1
        name = self.model.info.name
        async with closing(watch(self.model.stream(request), self._limits, name)) as stream:
            async for chunk in stream:
                if isinstance(chunk, FinishedChunk):
                    self.usage += chunk.usage
                    self.answered_by = chunk.model
                    return _answer(chunk)
        raise AssertionError("a model stream ended without its last chunk")


def again(request: ModelRequest, answer: Answer, verdict: Verdict) -> ModelRequest:
    """The request once more, with the answer and what is wrong with it (CMP-16).

    A tool call in the answer could not stand without its result, so such an answer is left out.
    """
    told = user(prompts.repair(verdict.headings, verdict.items, verdict.over or verdict.unusable))
    said = (answer.message,) if answer.text and not answer.message.calls else ()
    return replace(request, messages=(*request.messages, *said, told))


def _answer(chunk: FinishedChunk) -> Answer:
    match chunk.stop:
        case "tool_use":
            return Answer(chunk.message, "a tool call instead of a summary")
        case "refusal":
            return Answer(chunk.message, "refused")
        case _:
            return Answer(chunk.message)
