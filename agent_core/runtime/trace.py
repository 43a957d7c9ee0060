"""The events of a turn's trace, one function each: what was asked, sent, thought, done and answered (SCR-1).

A trace explains a turn; nothing is rebuilt from it (SCR-5). Events are noted on the journal and stored with its next
commit, so `tool_started` belongs before the append of the intent rows: a killed process then leaves both (TGV-10).
Texts are cut to what explains them, and a cut says how much is missing; the whole stands in the rows. Secrets are
replaced by the journal.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent_core.ports import Journal
from agent_core.types import TurnStatus, Usage

INIT: Final = "init"
REQUEST: Final = "request"
THINKING: Final = "thinking"
TOOL_STARTED: Final = "tool_started"
TOOL_RESULT: Final = "tool_result"
COMPACTION: Final = "compaction"
FINAL: Final = "final"
ERROR: Final = "error"
TEXT_CHARS = 2_000
DEPTH = 6  # of nested arguments


def begun(
    journal: Journal, said: str, *, model: str = "", preset: str = "", resumed: bool = False
) -> None:
    """A turn begins, or goes on after a break (`resumed`)."""
    journal.trace(
        INIT,
        session=journal.session_id,
        input=cut(said),
        model=model,
        preset=preset,
        resumed=resumed,
    )


def requested(
    journal: Journal, report: Mapping[str, Any], *, model: str, agent: str | None = None
) -> None:
    """A model is called; `report` is the assembly report: what the request holds, and from where."""
    journal.trace(REQUEST, model=model, agent=agent, report=dict(report))


def thought(journal: Journal, text: str, *, agent: str | None = None) -> None:
    """A model's reasoning; nothing for none."""
    if text.strip():
        journal.trace(THINKING, text=cut(text), agent=agent)


def tool_started(
    journal: Journal,
    call_id: str,
    name: str,
    args: Mapping[str, Any] | None,
    *,
    agent: str | None = None,
) -> None:
    """A call is about to run."""
    journal.trace(TOOL_STARTED, call=call_id, name=name, args=_short(args), agent=agent)


def tool_ended(
    journal: Journal,
    call_id: str,
    name: str,
    args: Mapping[str, Any] | None,
    *,
    result: str,
    ms: int,
    status: str,
    agent: str | None = None,
) -> None:
    """A call has its result. `status`: ok, error, or why it was refused; `ms` is wall time."""
    journal.trace(
        TOOL_RESULT,
        call=call_id,
        name=name,
        args=_short(args),
        result=cut(result),
        chars=len(result),
        ms=ms,
        status=status,
        agent=agent,
    )


def compacted(
    journal: Journal,
    *,
    before: int,
    after: int,
    notes: Sequence[Mapping[str, Any]] = (),
    problem: str = "",
    agent: str | None = None,
) -> None:
    """The view was made smaller; `before` and `after` are estimated tokens of the request."""
    journal.trace(
        COMPACTION,
        before=before,
        after=after,
        notes=[dict(note) for note in notes],
        problem=problem,
        agent=agent,
    )


def ended(
    journal: Journal,
    text: str,
    usage: Usage,
    *,
    seconds: float,
    status: TurnStatus,
    model: str = "",
) -> None:
    """The turn ends. `usage` is that of all its calls; to be noted before `finish`."""
    journal.trace(
        FINAL,
        text=cut(text),
        status=status.value,
        model=model,
        seconds=round(seconds, 3),
        tokens={
            "input": usage.input_tokens,
            "output": usage.output_tokens,
            "cache_read": usage.cache_read_tokens,
            "cache_write": usage.cache_write_tokens,
            "cache_write_1h": usage.cache_write_1h_tokens,
        },
        usd=usage.usd,
        usd_uncached=usage.usd_uncached,
    )


def failed(journal: Journal, error: BaseException, *, code: str, error_id: str = "") -> None:
    """The turn, or a call of a model in it, has failed. `error_id` is what the person is told."""
    journal.trace(
        ERROR, code=code, kind=type(error).__name__, detail=cut(str(error)), error_id=error_id
    )


def cut(text: str, limit: int = TEXT_CHARS) -> str:
    """The beginning of a text; a cut says how much is missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… [{len(text) - limit} more characters]"


def _short(value: Any, depth: int = DEPTH) -> Any:
    """JSON with its long texts cut; what is nested too deeply is only named."""
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, Mapping):
        return {str(k): _short(v, depth - 1) for k, v in value.items()} if depth else "{…}"
    if isinstance(value, list | tuple):
        return [_short(v, depth - 1) for v in value] if depth else "[…]"
    return value
