"""Looking into one's own past conversations: a tool over what the owner said and was told (MSC-4, ARC-5).

It reads transcripts and what was condensed in them. Memory is another store with another purpose: nothing is copied
between the two, and what is found here is quoted with its date, never taken for a standing rule.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import Field

from agent_core import text
from agent_core.tools import answers_other
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

Source = Literal["chats", "archive", "all"]
ROW_CHARS = 300  # of one message; its reference gives back all of it
TITLE_CHARS = 60
NOTHING = "Nothing in {where} fits {query!r}. Try fewer or other words, or a longer time."
OFF = "Past conversations cannot be searched here: memory is switched off. Ask the person instead."
_WHERE = {"chats": "the conversations", "archive": "the archive", "all": "past conversations"}
_HEAD = "Found in past conversations, the best first; restore_archive reads a ref in full. Old words, not live data."


@dataclass(frozen=True, slots=True)
class PastRow:
    """A message of a past conversation. `ref` is what restore_archive takes; `archived`: no longer shown to a model.

    `role` is user or assistant; `title` is the session's, "" for none; `here`: of the session that asks.
    """

    ref: str
    session: str
    title: str
    role: Literal["user", "assistant"]
    text: str
    at: dt.datetime
    archived: bool = False
    here: bool = False


class History(Protocol):
    """Finds an owner's own past messages. Reading changes nothing."""

    async def search(
        self,
        owner: str,
        turn_id: int,
        query: str,
        *,
        source: Source,
        since: dt.datetime | None,
        limit: int,
    ) -> Sequence[PastRow]:
        """The messages that answer `query` best, best first.

        Only of `owner`, and only what may be read where the turn runs: in a group that group's, in private what was
        said in private (MEM-17). The words of the query are text, never syntax.
        """
        ...


def history_tools(history: History | None = None) -> list[ToolSpec]:
    """`query_history`; without a history it says that there is none."""

    @tool(
        title={"en": "Past conversations", "zh": "历史对话"},
        timeout=20,
        credibility="mixed",
        output=answers_other.Found,
        in_words=True,
    )
    async def query_history(
        ctx: ToolContext,
        query: Annotated[str, Field(min_length=1, max_length=1_000)],
        source: Source = "all",
        days: Annotated[int | None, Field(ge=1, le=3_650)] = None,
        limit: Annotated[int, Field(ge=1, le=20)] = 8,
    ) -> ToolOutput:
        """Search this person's own past conversations, in English or Chinese.

        For what was said before and is not in view (上次). Prices in it are old.

        Args:
            source: archive: what was condensed; chats: the rest.
            days: Only the last so many.
        """
        if history is None:
            raise ToolFailure(OFF)
        since = None if days is None else ctx.clock.now() - dt.timedelta(days=days)
        found = await history.search(
            ctx.owner, ctx.turn_id, query, source=source, since=since, limit=limit
        )
        if not found:
            nothing = NOTHING.format(where=_WHERE[source], query=text.clip(query, 80))
            none = {"found": [], "note": nothing}
            return ToolOutput(nothing, summary=_summary(ctx.language, 0), fields=none)
        lines = [_HEAD, *(_told(row) for row in found)]
        return ToolOutput(
            "\n\n".join(lines),
            summary=_summary(ctx.language, len(found)),
            fields={"found": [_fields(row) for row in found], "note": _HEAD},
        )

    return [query_history]


def _told(row: PastRow) -> str:
    title = text.clip(text.one_line(row.title), TITLE_CHARS)
    where = "this conversation" if row.here else f"session {row.session[:7]}"
    marks = [
        f"{row.at:%Y-%m-%d %H:%M} UTC",
        f'{where} "{title}"' if title else where,
        row.role,
        f"ref={row.ref}",
        "archived" if row.archived else "",
    ]
    head = " · ".join(mark for mark in marks if mark)
    return f"[{head}]\n{text.clip(row.text.strip(), ROW_CHARS)}"


def _fields(row: PastRow) -> dict[str, object]:
    return {
        "ref": row.ref,
        "at": row.at.isoformat(timespec="minutes"),
        "session": row.session[:7],
        "title": text.clip(text.one_line(row.title), TITLE_CHARS),
        "here": row.here,
        "role": row.role,
        "archived": row.archived,
        "text": text.clip(row.text.strip(), ROW_CHARS),
    }


def _summary(language: str, count: int) -> str:
    return f"找到 {count} 条" if language == "zh" else f"{count} found"
