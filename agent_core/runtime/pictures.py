"""The bytes of the pictures that a request shows, for models that can see; others are told of them in words."""

from collections.abc import Sequence
from dataclasses import replace

from agent_core.ports import ModelRequest
from agent_core.runtime.run import Run
from agent_core.types import Image, Message

# Providers take about 20 pictures and 20 MB with comfort (Anthropic: 100 pictures, 32 MB, base64 adds a third).
MOST, MOST_BYTES = 20, 20 * 2**20


async def with_pictures(run: Run, request: ModelRequest) -> ModelRequest:
    """The request with the bytes of its newest pictures; without any where the model cannot see.

    They are read once in a run. A blob that is gone (/forget) is left out: the model is then told of a picture that it
    cannot see.
    """
    wanted = _newest(request.messages)
    if not wanted or not run.model.info.vision:
        return request
    found: dict[str, bytes] = {}
    size = 0
    for blob_id in wanted:
        if blob_id not in run.pictures:
            try:
                run.pictures[blob_id] = await run.journal.blob(blob_id)
            except KeyError:
                continue
        size += len(run.pictures[blob_id])
        if size > MOST_BYTES:
            break
        found[blob_id] = run.pictures[blob_id]
    return replace(request, images=found)


def _newest(messages: Sequence[Message]) -> list[str]:
    """Blob ids, the newest first, at most MOST of them."""
    ids = [
        b.blob_id for m in reversed(messages) for b in reversed(m.blocks) if isinstance(b, Image)
    ]
    return list(dict.fromkeys(ids))[:MOST]
