"""Rows, checkpoints and stored text without secrets, before they are written (SCR-4).

What is redacted is the row itself, so that transcript, view, archive and trace agree and the model never sees what was
replaced. Where there is no secret, the very same object comes back: nearly always.

The arguments of a call are judged by the secrets' shapes and by their keys, but a bare `token` may name a coin: its
value stays unless it looks like a secret.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_core.ports import NewBlob
from agent_core.types import (
    ArtifactRef,
    Block,
    Checkpoint,
    Context,
    Image,
    Message,
    NewRow,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from channels.types import Inbound, Kind, Step
from gateway.redact import Redactor


def clean_row(redactor: Redactor, row: NewRow) -> NewRow:
    """A row to append."""
    blocks = tuple(_block(redactor, block) for block in row.message.blocks)
    meta = redactor.value(row.meta) if row.meta else row.meta
    if meta == row.meta and _same(blocks, row.message.blocks):
        return row
    return replace(row, message=Message(row.message.role, blocks), meta=meta)


def clean_checkpoint(redactor: Redactor, made: Checkpoint) -> Checkpoint:
    """A decision about the view; its texts were made from clean rows, so this is the second line of defence."""
    body = _values(redactor, made.body)
    return made if body == made.body else replace(made, body=body)


def clean_blob(redactor: Redactor, blob: NewBlob) -> NewBlob:
    """Stored bytes: text is cleaned, anything else is left as it is.

    The id stays that of what was handed in, so that references to it hold.
    """
    if not blob.media_type.startswith("text/"):
        return blob
    try:
        text = blob.data.decode()
    except UnicodeDecodeError:
        return blob
    clean = redactor.text(text)
    return blob if clean is text else replace(blob, data=clean.encode())


def clean_artifacts(
    redactor: Redactor, artifacts: Sequence[ArtifactRef]
) -> tuple[ArtifactRef, ...]:
    """Files that are shown: their captions."""
    return tuple(_artifact(redactor, artifact) for artifact in artifacts)


def clean_steps(redactor: Redactor, steps: Sequence[Step]) -> tuple[Step, ...]:
    """What was done for a reply, as people read it."""
    return tuple(replace(step, detail=redactor.text(step.detail)) for step in steps)


def clean_inbound(redactor: Redactor, inbound: Inbound) -> Inbound:
    """What a person wrote or filled in. What a button carries is ours."""
    if inbound.kind is Kind.BUTTON:
        return inbound
    text = redactor.text(inbound.text)
    fields = tuple((name, redactor.text(value)) for name, value in inbound.fields)
    if text is inbound.text and fields == inbound.fields:
        return inbound
    return replace(inbound, text=text, fields=fields)


def _block(redactor: Redactor, block: Block) -> Block:
    match block:
        case Text(text) | Context(text):
            clean = redactor.text(text)
            return block if clean is text else replace(block, text=clean)
        case Thinking(text):
            clean = redactor.text(text)
            # the signature is of the words as they were: the provider would refuse it
            return block if clean is text else Thinking(clean)
        case ToolUse():
            return _call(redactor, block)
        case ToolResult(_, _, content, _, artifacts):
            clean = redactor.text(content)
            files = clean_artifacts(redactor, artifacts) if artifacts else artifacts
            same = clean is content and files == artifacts
            return block if same else replace(block, content=clean, artifacts=files)
        case Image():
            return block


def _call(redactor: Redactor, call: ToolUse) -> ToolUse:
    args = call.args if call.args is None else _values(redactor, call.args)
    raw = call.raw if call.raw is None else redactor.text(call.raw)
    return call if args == call.args and raw is call.raw else replace(call, args=args, raw=raw)


def _artifact(redactor: Redactor, artifact: ArtifactRef) -> ArtifactRef:
    clean = redactor.text(artifact.caption)
    return artifact if clean is artifact.caption else replace(artifact, caption=clean)


def _values(redactor: Redactor, values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: redactor.value(value) if key.lower() == "token" else redactor.field(key, value)
        for key, value in values.items()
    }


def _same(new: Sequence[Block], old: Sequence[Block]) -> bool:
    return all(a is b for a, b in zip(new, old, strict=True))
