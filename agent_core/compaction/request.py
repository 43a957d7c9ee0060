"""Layer 4: the model asks for a compaction. The tool itself does nothing; the loop compacts after the round (CMP-27).

Is there a lossless copy, can a cut split a pair, where is the original: as for the summary that follows (MSC-10).
"""

import json
from collections.abc import Sequence

from agent_core.compaction.ladder import Asked
from agent_core.tools.spec import ToolContext, ToolOutput, tool
from agent_core.types import Row, RowKind

TOPIC_CHARS = 200
_KEY = "compact"


# Not concurrency-safe: it never joins a parallel batch (CMP-28).
@tool(title={"en": "Compact the conversation", "zh": "压缩对话"}, concurrency_safe=False)
async def compact(ctx: ToolContext, focus_topic: str = "") -> ToolOutput:
    """Condense the older part of this conversation before the next step; nothing is lost.

    Args:
        focus_topic: What the summary should keep most of.
    """
    del ctx
    said = json.dumps({"status": "ok", "message": "Compressing..."})
    return ToolOutput(said, meta={_KEY: focus_topic[:TOPIC_CHARS]})


def asked_in(rows: Sequence[Row], turn_id: int) -> Asked | None:
    """The request for a compaction in the newest round of calls; of several the last counts, as one (CMP-30)."""
    for row in reversed(rows):
        if row.turn_id != turn_id or row.kind is RowKind.ASSISTANT:
            return None
        if row.kind is RowKind.RESULT and _KEY in row.meta:
            return Asked(str(row.meta[_KEY]))
    return None
