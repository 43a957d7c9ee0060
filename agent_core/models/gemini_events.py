"""The chunks of a Gemini stream, folded into ours. No network here.

Decided here: a call without an id gets one of ours (2.5 gives none); pieces of words join unless a signature stands
between them; an answer without a finish reason is a broken stream; a prompt or an answer that was blocked is a refusal;
a call that the API itself found malformed is a broken stream, so it never runs (PRV-4).
"""

import secrets
from typing import Any

from agent_core.errors import StreamBroken
from agent_core.models.catalog import usage_of
from agent_core.models.gemini_wire import stored
from agent_core.models.stream import mend
from agent_core.ports import Chunk, FinishedChunk, ModelInfo, TextChunk, ThinkingChunk
from agent_core.types import Block, Message, StopReason, Text, Thinking, ToolUse, Usage

_REFUSED = frozenset(
    ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR")
)
_ENDED = frozenset(("STOP", "MAX_TOKENS")) | _REFUSED


class Fold:
    """Takes the SDK's chunks of one answer and makes our chunks and the finished message of them."""

    def __init__(self, info: ModelInfo, provider: str) -> None:
        self._info = info
        self._provider = provider
        self._blocks: list[Block] = []
        self._usage: Any = None
        self._stop = ""

    def feed(self, event: Any) -> list[Chunk]:
        """Take one GenerateContentResponse."""
        self._usage = event.usage_metadata or self._usage
        feedback = event.prompt_feedback
        if feedback is not None and feedback.block_reason:
            self._stop = "SAFETY"
        if not event.candidates:
            return []
        candidate = event.candidates[0]
        if candidate.finish_reason:
            self._stop = str(getattr(candidate.finish_reason, "value", candidate.finish_reason))
        parts = (candidate.content.parts if candidate.content else None) or ()
        return [chunk for part in parts if (chunk := self._part(part))]

    def _part(self, part: Any) -> Chunk | None:
        if part.function_call is not None:
            self._sign(part)
            call = part.function_call
            id_ = call.id or f"call_{secrets.token_hex(8)}"
            self._blocks.append(ToolUse(id_, call.name or "", dict(call.args or {})))
            return None
        text = mend(part.text or "")
        if part.thought:
            return self._think(part, text)
        self._sign(part)
        if not text:
            return None
        self._join(Text(text))
        return TextChunk(text)

    def _think(self, part: Any, text: str) -> Chunk | None:
        if part.thought_signature:
            signature = stored(part.thought_signature, own=True)
            last = self._blocks[-1] if self._blocks else None
            if isinstance(last, Thinking) and last.signature is None:
                self._blocks.pop()
                text_so_far = last.text + text
            else:
                text_so_far = text
            self._blocks.append(Thinking(text_so_far, signature))
        elif text:
            self._join(Thinking(text))
        return ThinkingChunk(text) if text else None

    def _sign(self, part: Any) -> None:
        """Keep the signature of a part directly before the part's block."""
        if part.thought_signature:
            self._blocks.append(Thinking("", stored(part.thought_signature, own=False)))

    def _join(self, block: Text | Thinking) -> None:
        last = self._blocks[-1] if self._blocks else None
        if isinstance(block, Text) and isinstance(last, Text):
            self._blocks[-1] = Text(last.text + block.text)
        elif (
            isinstance(block, Thinking)
            and isinstance(last, Thinking)
            and last.signature is block.signature is None
        ):
            self._blocks[-1] = Thinking(last.text + block.text)
        else:
            self._blocks.append(block)

    def finish(self) -> FinishedChunk:
        """The whole message. Calls are kept with the stop reason tool_use alone (PRV-4, defect 22)."""
        if self._stop not in _ENDED:
            said = f"with {self._stop}" if self._stop else "without a finish reason"
            raise StreamBroken(self._provider, f"the stream ended {said}")
        stop = self._reason()
        blocks = tuple(b for b in self._blocks if stop == "tool_use" or not isinstance(b, ToolUse))
        return FinishedChunk(Message("assistant", blocks), stop, self._used(), self._info.name)

    def _reason(self) -> StopReason:
        if self._stop == "MAX_TOKENS":
            return "max_tokens"
        if self._stop in _REFUSED:
            return "refusal"
        calls = [b for b in self._blocks if isinstance(b, ToolUse)]
        if any(not call.name for call in calls):
            raise StreamBroken(self._provider, "a tool call came without a name")
        return "tool_use" if calls else "end"

    def _used(self) -> Usage:
        """`prompt_token_count` includes what the cache had; reasoning is paid as output (the API's page on tokens)."""
        count = self._usage
        if count is None:
            return usage_of(self._info.price, fresh=0, output=0)
        read = count.cached_content_token_count or 0
        prompt = (count.prompt_token_count or 0) + (count.tool_use_prompt_token_count or 0)
        output = (count.candidates_token_count or 0) + (count.thoughts_token_count or 0)
        return usage_of(self._info.price, fresh=max(0, prompt - read), output=output, read=read)
