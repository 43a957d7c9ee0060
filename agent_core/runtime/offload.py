"""What a tool answered, made fit for a row: files and long text go to blobs, a preview with a reference stays (EVT-6).

Text comes out such that every database and every provider takes it: no lone surrogates, no NaN or Infinity where the
result is JSON, and what is no text at all is only named.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent_core.models.stream import mend
from agent_core.ports import NewBlob
from agent_core.storage.blobs import result_type
from agent_core.storage.statements import blob_id
from agent_core.tools.spec import Artifact, ToolOutput
from agent_core.types import ArtifactRef, ToolResult, ToolUse

INLINE_CHARS = 8_000  # EVT-6: as long as this stays in the row, one more does not
PREVIEW_CHARS = 2_000
REF_DIGITS = 16  # of the blob's id in a reference
LONG = 100_000  # characters from which this is worth a thread: more than 20 ms of work
_SEEN = 2_000  # characters by which binary data is told from text
_MANY = 0.1  # share of characters that no text has, and how many there must be: a text may be broken in places
_LEAST = 16
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")
# A string is skipped as a whole, so that only bare words are replaced.
_NOT_JSON = re.compile(r'("(?:[^"\\]|\\.)*+")|-?\b(?:NaN|Infinity)\b')


@dataclass(frozen=True, slots=True)
class Packed:
    """A result with what is stored beside it. `meta` is for its row: `blob` and `chars` of what was offloaded."""

    result: ToolResult
    blobs: tuple[NewBlob, ...]
    meta: Mapping[str, object]


def pack(owner: str, call: ToolUse, output: ToolOutput, credibility: str = "") -> Packed:
    """Make the row's part and the blobs. Pure; takes up to 100 ms for 10 MB."""
    blobs: list[NewBlob] = []
    refs: list[ArtifactRef] = []
    for file in output.artifacts:
        if isinstance(file, Artifact):
            blobs.append(NewBlob(blob_id(owner, file.data), file.name, file.media_type, file.data))
            refs.append(ArtifactRef(blobs[-1].id, file.name, file.media_type, file.caption))
        else:
            refs.append(file)
    level = str(output.meta.get("credibility") or credibility)
    meta: dict[str, object] = dict(output.meta)
    if level:
        meta["credibility"] = level
    if output.summary:
        meta["summary"] = output.summary
    content = clean(output.content)
    binary = _is_binary(content)
    if binary or len(content) > INLINE_CHARS:
        whole = stored(owner, call.name, content, level)
        blobs.append(whole)
        meta |= {"blob": whole.id, "chars": len(content)}
        content = _binary(content, whole) if binary else preview(content, whole)
    result = ToolResult(call.id, call.name, content, artifacts=tuple(refs))
    return Packed(result, tuple(blobs), meta)


def stored(owner: str, tool: str, content: str, credibility: str = "") -> NewBlob:
    """The whole of a result as a blob."""
    data = content.encode()
    return NewBlob(blob_id(owner, data), f"{tool}.txt", result_type(credibility), data)


def preview(content: str, whole: NewBlob) -> str:
    """The beginning, how much is missing, and by which reference it is read back."""
    missing = len(content) - PREVIEW_CHARS
    return f"{content[:PREVIEW_CHARS]}\n[{missing} more characters are stored: ref=b{whole.id[:REF_DIGITS]}]"


def clean(content: str) -> str:
    """Text that can be stored and sent: broken characters show as such, JSON holds null for what is no number."""
    content = mend(content).replace("\x00", "\ufffd")
    if content[:1] in ("{", "[") and ("NaN" in content or "Infinity" in content):
        content = _NOT_JSON.sub(lambda found: found[1] or "null", content)
    return content


def _is_binary(content: str) -> bool:
    seen = content[:_SEEN]
    return len(_CONTROL.findall(seen)) > max(_LEAST, _MANY * len(seen))


def _binary(content: str, whole: NewBlob) -> str:
    return f"[{len(content)} characters that are no text are stored: ref=b{whole.id[:REF_DIGITS]}]"
