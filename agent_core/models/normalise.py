"""The role normaliser, which runs last in each provider (ASM-15): whatever the view holds, the provider accepts it.

Guaranteed of its result, and tested by property (TPR-4): the first message is the user's; no message is empty, and no
text in it; every call has exactly one result, in the very next message, in call order, before any other block; no
result lacks its call; call ids are unique; neighbours differ in role. It is idempotent and pure, so equal transcripts
give equal bytes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent_core.types import (
    Block,
    Context,
    Image,
    Message,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)

MISSING_RESULT = "no result was recorded"
OPENING = "(the conversation goes on)"
_CALLING = (ToolUse, ToolResult)
_WORDS = {Context: 1, Text: 2}  # in the order in which they stand
_OF_ASSISTANT = (Thinking, ToolUse)
_OF_USER = (Image, ToolResult)

_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(slots=True)
class _Piece:
    """A block, with the index of the message that it comes from (None: made here)."""

    block: Block
    origin: int | None


@dataclass(slots=True)
class _Draft:
    role: Role
    pieces: list[_Piece] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Slot:
    """A call, and the piece in which its result will stand."""

    call: ToolUse
    piece: _Piece


@dataclass(frozen=True, slots=True)
class Normal:
    """Messages that a provider accepts, and the (message, block) places of the breakpoints asked for, by index."""

    messages: tuple[Message, ...]
    places: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def marks(self) -> tuple[tuple[int, int], ...]:
        """The places in order, each once."""
        return tuple(sorted(set(self.places.values())))


def normalise(messages: Sequence[Message], breakpoints: Iterable[int] = ()) -> Normal:
    """Bring messages into the form above.

    `breakpoints` are indexes into `messages`; each becomes the place of the last block that came from its message, even
    where that message was merged or its results were moved. One whose message vanished is left out.
    """
    if _is_normal(messages):
        places = {
            at: (at, len(messages[at].blocks) - 1) for at in breakpoints if at < len(messages)
        }
        return Normal(tuple(messages), places)
    return _finish(_merge(_pair(_drafts(messages))), set(breakpoints))


def _is_normal(messages: Sequence[Message]) -> bool:
    """Whether words alone go to and fro, as in most chats: then there is nothing to do."""
    role: Role = "user"
    for message in messages:
        if message.role != role or not message.blocks:
            return False
        before = 0
        for block in message.blocks:
            place = _WORDS.get(type(block), 0)
            if place < max(before, 1) or not _belongs(role, block):
                return False
            before = place
        role = "assistant" if role == "user" else "user"
    return bool(messages)


def safe_ids(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with call ids of letters, digits, - and _ alone, as Anthropic demands.

    Other providers' ids (such as `functions.quote:0`) come here after a fallback.
    """
    return tuple(
        Message(m.role, tuple(_safe(b) for b in m.blocks))
        if any(isinstance(b, _CALLING) for b in m.blocks)
        else m
        for m in messages
    )


def _safe(block: Block) -> Block:
    match block:
        case ToolUse(id=id_) if _UNSAFE.search(id_):
            return replace(block, id=_UNSAFE.sub("_", id_))
        case ToolResult(call_id=id_) if _UNSAFE.search(id_):
            return replace(block, call_id=_UNSAFE.sub("_", id_))
        case _:
            return block


def _belongs(role: Role, block: Block) -> bool:
    if isinstance(block, Text):
        return bool(block.text.strip())
    if isinstance(block, Context):
        return role == "user" and bool(block.text.strip())
    return isinstance(block, _OF_USER if role == "user" else _OF_ASSISTANT)


def _drafts(messages: Sequence[Message]) -> list[_Draft]:
    """Messages with the blocks that belong to their role; empty ones vanish (defect 11).

    An assistant message of reasoning alone says nothing and vanishes too.
    """
    drafts = []
    for index, message in enumerate(messages):
        blocks = [b for b in message.blocks if _belongs(message.role, b)]
        if all(isinstance(b, Thinking) for b in blocks):
            continue
        drafts.append(_Draft(message.role, [_Piece(b, index) for b in blocks]))
    return drafts


def _place(block: Block) -> int:
    return 0 if isinstance(block, ToolResult) else 1 if isinstance(block, Context) else 2


def _pair(drafts: list[_Draft]) -> list[_Draft]:
    """Move each result directly behind its call; drop orphans; stand in for missing ones (TPR-1)."""
    if not any(isinstance(p.block, _CALLING) for draft in drafts for p in draft.pieces):
        return [draft for draft in drafts if draft.pieces]
    seen: set[str] = set()
    slots: dict[str, list[_Slot]] = {}
    out: list[_Draft] = []
    for draft in drafts:
        kept: list[_Piece] = []
        fresh: dict[str, list[_Slot]] = {}
        answers: list[_Piece] = []
        for piece in draft.pieces:
            block = piece.block
            if isinstance(block, ToolUse):
                call = replace(block, id=_unique(block.id, seen))
                slot = _Slot(call, _Piece(_stub(call), None))
                kept.append(_Piece(call, piece.origin))
                answers.append(slot.piece)
                fresh.setdefault(block.id, []).append(slot)
            elif isinstance(block, ToolResult):
                _fill(slots.get(block.call_id), block, piece.origin)
            else:
                kept.append(piece)
        slots |= fresh
        if kept:
            out.append(_Draft(draft.role, kept))
        if answers:
            out.append(_Draft("user", answers))
    return out


def _stub(call: ToolUse) -> ToolResult:
    return ToolResult(call.id, call.name, MISSING_RESULT, is_error=True)


def _fill(waiting: list[_Slot] | None, result: ToolResult, origin: int | None) -> None:
    """Put a result into the first open slot of its call; without one it is dropped."""
    if waiting:
        slot = waiting.pop(0)
        content = result.content if result.content.strip() else "(no output)"
        slot.piece.block = replace(result, call_id=slot.call.id, content=content)
        slot.piece.origin = origin


def _unique(id_: str, seen: set[str]) -> str:
    """The id, or a variant where an earlier call has it: some servers count from 0 in each answer."""
    candidate, n = id_, 1
    while candidate in seen:
        n += 1
        candidate = f"{id_}-{n}"
    seen.add(candidate)
    return candidate


def _merge(drafts: list[_Draft]) -> list[_Draft]:
    """Join neighbours of one role. Of a user message results come first, then contexts, then the person's words."""
    if drafts and drafts[0].role == "assistant":
        drafts = [_Draft("user", [_Piece(Text(OPENING), None)]), *drafts]
    out: list[_Draft] = []
    for draft in drafts:
        if out and out[-1].role == draft.role:
            out[-1].pieces.extend(draft.pieces)
        else:
            out.append(draft)
    for draft in out:
        if draft.role == "user":
            draft.pieces.sort(key=lambda piece: _place(piece.block))
    return out


def _finish(drafts: list[_Draft], wanted: set[int]) -> Normal:
    messages = tuple(Message(d.role, tuple(p.block for p in d.pieces)) for d in drafts)
    places: dict[int, tuple[int, int]] = {}
    for i, draft in enumerate(drafts):
        for j, piece in enumerate(draft.pieces):
            if piece.origin in wanted and piece.origin is not None:
                places[piece.origin] = (i, j)
    return Normal(messages, places)


def problems(messages: Sequence[Message]) -> list[str]:
    """What a provider would refuse in these messages as they stand; empty when nothing. For tests and traces."""
    found = []
    if not messages or messages[0].role != "user":
        found.append("the first message is not the user's")
    open_ids: list[str] = []
    for i, message in enumerate(messages):
        results = [b.call_id for b in message.blocks if isinstance(b, ToolResult)]
        if sorted(results) != sorted(open_ids):
            found.append(f"message {i}: results {results} do not answer the calls {open_ids}")
        if not message.blocks:
            found.append(f"message {i} is empty")
        if any(isinstance(b, Text) and not b.text.strip() for b in message.blocks):
            found.append(f"message {i} has an empty text")
        open_ids = [call.id for call in message.calls]
    if open_ids:
        found.append(f"calls without results: {open_ids}")
    return found
