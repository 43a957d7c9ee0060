"""Reading back what was cleared, folded or condensed: a tool over the archive port (ARC-4)."""

from typing import Annotated

from pydantic import Field

from agent_core.past import Restored
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

RESTORE = "restore_archive"
PAGE_CHARS = 7_600  # with its first line a page stays below the 8,000 characters that a result may have (EVT-6)
NOT_FOUND = "There is nothing under {ref!r}. Use a reference as it stands in the conversation, such as r17 or r3-r40."


def archive_tools() -> list[ToolSpec]:
    """`restore_archive`."""

    @tool(title={"en": "Earlier conversation", "zh": "查阅存档"}, timeout=20, credibility="mixed")
    async def restore_archive(
        ctx: ToolContext,
        ref: Annotated[str, Field(min_length=1, max_length=300)],
        offset: Annotated[int, Field(ge=0)] = 0,
    ) -> ToolOutput:
        """Read back what is shown shortened, cleared or condensed, such as `[cleared ref=r17]`.

        Args:
            ref: Such as r17, r3-r40 (a range) or b0123456789abcdef.
            offset: Where to go on, as the page before said.
        """
        found = None
        if ctx.archive is not None:
            found = await ctx.archive.read(ctx.owner, ctx.session_id, ref)
        if found is None:
            raise ToolFailure(NOT_FOUND.format(ref=ref[:80]))
        if offset and offset >= len(found.text):
            raise ToolFailure(f"It has {len(found.text)} characters; ask for an offset below that.")
        level = {"credibility": found.credibility} if found.credibility else {}
        return ToolOutput(page(found, offset), summary=found.ref, meta=level)

    return [restore_archive]


def page(found: Restored, offset: int = 0) -> str:
    """A page of at most 8,000 characters: a line that says what it is and how much is left, then the text."""
    end = min(len(found.text), offset + PAGE_CHARS)
    about = [found.ref[:150], found.source[:60], found.credibility]
    about.append(f"characters {offset}-{end} of {len(found.text)}")
    if left := len(found.text) - end:
        about.append(f"{left} left, go on with offset={end}")
    return f"[{' · '.join(part for part in about if part)}]\n{found.text[offset:end]}"
