"""read_file and write_file: text in a workspace of one person's own (TGV-3, TGV-11).

The workspace is private: it opens in the person's private chats alone, since in a group others could have it read out.
"""

import asyncio
import mimetypes
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from agent_core.tools import answers_other, decode
from agent_core.tools.series import dump
from agent_core.tools.spec import (
    Artifact,
    Preview,
    ToolContext,
    ToolFailure,
    ToolOutput,
    ToolSpec,
    tool,
)
from agent_core.tools.untrusted import fenced
from agent_core.tools.workspace_files import Listing, Plan, Workspace

PART_CHARS = 6_000  # of one answer; with its head it stays in the row (EVT-6)
WRITTEN_CHARS = 20_000  # what is approved is shown whole
SOURCE = "workspace"
NONE = "There is no workspace in this run."


@dataclass(frozen=True, slots=True)
class Room:
    """A person's workspace, as it is open to one session. `channel` is the platform that the session is on."""

    workspace: Workspace
    channel: str


class Rooms(Protocol):
    """Opens workspaces."""

    async def of(self, owner: str, session_id: str) -> Room:
        """The owner's workspace. Raises ToolFailure where the session is no private chat of theirs."""
        ...


def workspace_tools(rooms: Rooms | None) -> list[ToolSpec]:
    """The tools of this file."""
    return [_read_file(rooms), _write_file(rooms)]


async def opened(rooms: Rooms | None, ctx: ToolContext) -> Room:
    """The room of a call. Raises ToolFailure."""
    if rooms is None:
        raise ToolFailure(NONE)
    return await rooms.of(ctx.owner, ctx.session_id)


def _read_file(rooms: Rooms | None) -> ToolSpec:
    @tool(
        title={"en": "Read file", "zh": "读取文件"},
        timeout=30,
        credibility="mixed",
        output=answers_other.File,
    )
    async def read_file(
        ctx: ToolContext,
        path: str,
        offset: Annotated[int, Field(ge=0)] = 0,
        limit: Annotated[int, Field(ge=200, le=PART_CHARS)] = PART_CHARS,
    ) -> ToolOutput:
        """Read a text file of the person's workspace, or list a folder; "." is the workspace itself.

        A file that is no text is shown to the person instead.

        Args:
            path: Within the workspace, such as notes/plan.md.
            offset: Characters to skip, to read on where an answer was cut.
            limit: How many characters at most.
        """
        room = await opened(rooms, ctx)
        listing = await asyncio.to_thread(room.workspace.list, path)
        if listing is not None:
            return _listed(ctx, path, listing)
        data = await asyncio.to_thread(room.workspace.read, path)
        if decode.is_binary(data):
            return _shown(ctx, path, data)
        text, _ = await asyncio.to_thread(decode.decode, data)
        part = text[offset : offset + limit]
        left = max(0, len(text) - offset - len(part))
        fields = _head(ctx, path) | {
            "chars": len(text),
            "offset": offset,
            "note": f"cut: {left} more characters, go on with offset={offset + len(part)}"
            if left
            else "",
            "text": fenced(part),
        }
        return ToolOutput(dump(fields), path)

    return read_file


def _write_file(rooms: Rooms | None) -> ToolSpec:
    async def preview(ctx: ToolContext, path: str, content: str, replace: bool = False) -> Preview:
        room = await opened(rooms, ctx)
        size = len(_bytes(content))
        plan = await asyncio.to_thread(room.workspace.plan, path, size, replace=replace)
        return Preview(_announced(ctx.language, path, size, plan), bound=plan.stamp)

    @tool(
        title={"en": "Write file", "zh": "写入文件"},
        timeout=30,
        concurrency_safe=False,
        idempotent=False,
        requires_approval=True,
        effect="write",
        credibility="mixed",
        preview=preview,
        output=answers_other.Written,
    )
    async def write_file(
        ctx: ToolContext,
        path: str,
        content: Annotated[str, Field(max_length=WRITTEN_CHARS)],
        replace: bool = False,
    ) -> ToolOutput:
        """Write a text file in the person's workspace; the person approves it first.

        Args:
            path: Within the workspace, such as notes/plan.md; folders are made.
            content: The whole text.
            replace: Whether a file of this name may be overwritten.
        """
        room = await opened(rooms, ctx)
        data, stamp = _bytes(content), ctx.consent.bound if ctx.consent else None
        await asyncio.to_thread(room.workspace.write, path, data, replace=replace, stamp=stamp)
        return ToolOutput(dump(_head(ctx, path) | {"written_bytes": len(data)}), path)

    return write_file


def _head(ctx: ToolContext, path: str) -> dict[str, object]:
    return {
        "path": path,
        "source": SOURCE,
        "as_of": str(ctx.clock.now().date()),
        "credibility": "mixed",
    }


def _listed(ctx: ToolContext, path: str, listing: Listing) -> ToolOutput:
    lines = [
        f"{entry.path}/" if entry.is_folder else f"{entry.path} ({entry.size:,} bytes)"
        for entry in listing.entries
    ]
    note = "" if lines else "the folder is empty"
    if listing.more:
        note = "not all entries are listed"
    fields = _head(ctx, path) | {"note": note, "entries": fenced("\n".join(lines))}
    count = f"{len(lines)} 项" if ctx.language == "zh" else f"{len(lines)} entries"
    return ToolOutput(dump(fields), count)


def _shown(ctx: ToolContext, path: str, data: bytes) -> ToolOutput:
    name = path.rstrip("/").rpartition("/")[2]
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    fields = _head(ctx, path) | {
        "bytes": len(data),
        "artifact": name,
        "note": "this file is no text: it is shown to the person",
    }
    return ToolOutput(dump(fields), path, (Artifact(name, kind, data),))


def _bytes(content: str) -> bytes:
    return content.encode("utf-8", "replace")


def _announced(language: str, path: str, size: int, plan: Plan) -> str:
    """What the arguments do not say: how much it is, and what it replaces."""
    name = path.replace("`", "'")
    if language == "zh":
        over = "新文件" if plan.replaces is None else f"覆盖现有的 {plan.replaces:,} 字节"
        return f"在工作区写入 `{name}`：{size:,} 字节，{over}"
    over = "a new file" if plan.replaces is None else f"over a file of {plan.replaces:,} bytes"
    return f"Write `{name}` in the workspace: {size:,} bytes, {over}"
