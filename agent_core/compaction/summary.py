"""Summaries of the rows behind a cut (layers 3 and 5)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_core.compaction.decisions import Anchor, Fact, Profile, Summary
from agent_core.models.stream import StreamLimits
from agent_core.ports import Model, ModelRequest
from agent_core.types import Row, Usage

LIMITS = StreamLimits(first_token=30.0, idle=30.0, total=300.0)  # CMP-24


@dataclass(frozen=True, slots=True)
class Job:
    """One summary to make.

    Attributes:
        request: the request that the conversation would send next; the summary is asked for on top of it, so that the
            provider's cache of it is read ("forked"). None: the rows are written out in a request of their own.
        rows: the rows that the summary will stand for, from the previous cut to the new one, in order.
        previous: the summary in force, which the new one replaces (CMP-31).
        facts: facts whose numbers and symbols must not be lost (CMP-16).
        anchors: likewise, excerpts of high score.
        topic: what a person or the model asked to keep most of (CMP-29).
        profile: "structured", "brief" (500 characters) or "short" (100).
        limit_tokens: tokens of the summary at most, by estimate (`structured`; C-7: a tenth of T).
        window: tokens of the summarising model's window.
        shown: texts that will stand beside the summary anyway; None: those of `facts` and `anchors`.
        ratio: real tokens for each estimated one (TOK-10).
    """

    request: ModelRequest | None
    rows: Sequence[Row]
    previous: Summary | None = None
    facts: tuple[Fact, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    topic: str = ""
    profile: Profile = "structured"
    limit_tokens: int = 4_000
    window: int = 64_000
    shown: tuple[str, ...] | None = None
    ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Made:
    """A summary, and what the trace tells of it (CMP-26).

    `text` is "" where there is none: the rows stay as they are (CMP-14). `profile` is "mechanical" where no model's
    words could be used. `usage` is the sum over `attempts` model calls, whose model is `model`. `problem` says in a few
    words what went wrong, "" for nothing; `missing` are numbers and symbols that the model left out and that were
    added. `forked`: the cache of the conversation's own request was read.
    """

    text: str
    profile: Profile
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    chunks: int = 1
    attempts: int = 0
    problem: str = ""
    missing: tuple[str, ...] = ()
    forked: bool = False


async def summarise(
    job: Job, model: Model, *, limits: StreamLimits = LIMITS, fallback: bool = True
) -> Made:
    """Make the summary."""
    raise NotImplementedError
