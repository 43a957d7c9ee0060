"""The policies of compaction as data: every constant is a field, its default the source's number (STR-1 … STR-5).

A policy is chosen per session or preset and read anew before each model call (STR-4, MSC-14); `ladder.py` is the one
place that acts on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agent_core.compaction.decisions import Layout, Profile

Schedule = Literal["economic", "in_place", "threshold", "count"]


@dataclass(frozen=True, slots=True)
class Policy:
    """How a session is compacted. Shares are of the threshold T or of the window W; the rest is tokens or characters.

    Attributes:
        name: its name in settings.
        schedule: "economic": layers 1 and 2 in batches, when the cache makes it worth it; "in_place": at their marks,
            before each call; "threshold": a summary at T and nothing before; "count": by number of messages.
        clear_at, fold_at, summarise_at: the water marks, shares of T (TOK-9).
        batch: share of W that layer 1 must free to act on a warm cache; `patience`: see `economics.pays`.
        cold_at: share of W above which a cold cache is used for a whole compaction.
        keep_results, clear_over: layer 1 spares the last results, and those of at most so many characters (CMP-1).
        plain: cleared results show as `[cleared]`, without the reference (CMP-4).
        fold_keep, fold_over, fold_head, fold_tail: layer 2 (CMP-5).
        tail_tokens: what a summary leaves raw; None: by the window (TOK-7). `tail_share` bounds it further, as a
            share of W. `tail_messages`: at least so many (CMP-9b).
        keep_last, slack: "count" keeps the last messages, and acts when more than both together stand there.
        profile: of the summary; "none": no summary, no model call.
        layout: "layers": facts and summary are messages of their own (STR-3).
        facts: whether there is a slot of key facts; `keywords_only`: by the six keywords of KFS-1 alone.
        anchors: how many excerpts (ANC-3).
        words: share of W for what the person said behind the cut, kept verbatim; `clip`: of each text its first and
            last characters.
        forked: the summary is asked for on the same prefix, so that it reads the cache.
        summary_share: most tokens of a structured summary, as a share of T (C-7).
        worth: share of W that a compaction must free to be tried before the window forces it.
        ceiling: T is never more than this; a window of a million tokens used to the brim is the dearest policy.
    """

    name: str
    schedule: Schedule
    clear_at: float = 0.5
    fold_at: float = 0.7
    summarise_at: float = 1.0
    batch: float = 0.2
    patience: float = 6.0
    cold_at: float = 0.4
    keep_results: int = 3
    clear_over: int = 100
    plain: bool = False
    fold_keep: int = 6
    fold_over: int = 2_400
    fold_head: int = 900
    fold_tail: int = 500
    tail_tokens: int | None = None
    tail_share: float = 1.0
    tail_messages: int = 4
    keep_last: int = 6
    slack: int = 0
    profile: Profile = "structured"
    layout: Layout = "one"
    facts: bool = True
    keywords_only: bool = False
    anchors: int = 6
    words: float = 0.0
    clip: tuple[int, int] = (300, 300)
    forked: bool = False
    summary_share: float = 0.1
    worth: float = 0.1
    ceiling: int | None = None


POLICIES: Mapping[str, Policy] = {
    p.name: p
    for p in (
        Policy(
            "economic",
            "economic",
            summarise_at=0.8,
            tail_share=0.08,
            words=0.2,
            forked=True,
            ceiling=200_000,
        ),
        Policy("eager", "in_place"),
        Policy("window_reserve", "threshold", profile="brief", facts=False),
        Policy(
            "layered",
            "count",
            profile="short",
            layout="layers",
            keywords_only=True,
            anchors=0,
            slack=6,
        ),
        Policy("summary", "count", profile="short", facts=False, anchors=0, slack=6),
        Policy("truncate", "count", profile="none", facts=False, anchors=0),
    )
}
DEFAULT = "economic"
