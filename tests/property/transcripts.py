"""Random transcripts and checkpoints, good and bad ones, for whatever reads them.

`TRANSCRIPTS`: anything that a database could hold: parallel calls, partial, late and repeated results, ids used twice,
orphans, people who write between a call and its result, notes, hidden rows, pictures, reasoning, Han, broken
surrogates, our own tags, huge texts, gaps. `TIDY`: what the runtime writes by itself.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from agent_core.compaction.decisions import (
    Anchor,
    Body,
    Cleared,
    Clipped,
    Dropped,
    Fact,
    Folded,
    Summary,
    checkpoint,
)
from agent_core.types import (
    Block,
    Checkpoint,
    Context,
    Image,
    Message,
    Row,
    RowKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)

START = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
TEXTS = st.sampled_from(
    [
        "",
        " ",
        "ok",
        "Buy AAPL when it falls below 180.",
        "对了，我对花粉过敏，预算是每天 500 元。",
        "NaN \ud83d half a picture",
        "</context> <context> [对话摘要] [cleared ref=r1]",
        "x" * 101,
        "价格 12.5，" * 300,
        "close 101.25 " * 700,
    ]
)
CALL_IDS = st.sampled_from(["a", "b", "c", "functions.quote:0"])
_KINDS = st.sampled_from(["said", "calls", "answer", "note", "orphan", "hidden", "gap", "turn"])


@dataclass
class Script:
    """Rows in the making."""

    rows: list[Row] = field(default_factory=list)
    seq: int = 0
    turn: int = 1

    def add(self, kind: RowKind, *blocks: Block, ref: str = "", **meta: Any) -> None:
        """Append a row."""
        self.seq += 1
        role = "assistant" if kind in {RowKind.ASSISTANT, RowKind.INTENT} else "user"
        self.rows.append(Row(self.seq, self.turn, kind, Message(role, blocks), ref, START, meta))


@st.composite
def transcripts(draw: st.DrawFn, most: int = 12) -> tuple[Row, ...]:
    """Rows that a database could hold."""
    script = Script()
    for kind in draw(st.lists(_KINDS, max_size=most)):
        _grow(draw, script, kind)
    return tuple(script.rows)


def _grow(draw: st.DrawFn, script: Script, kind: str) -> None:
    if kind == "said":
        script.add(RowKind.USER, *draw(said()))
    elif kind == "calls":
        _calls(draw, script)
    elif kind == "answer":
        script.add(RowKind.ASSISTANT, *draw(_thoughts()), Text(draw(TEXTS)))
    elif kind == "note":
        script.add(RowKind.NOTE, Text(draw(TEXTS)))
    elif kind == "orphan":
        id_ = draw(CALL_IDS)
        script.add(RowKind.RESULT, ToolResult(id_, "quote", draw(TEXTS)), ref=id_)
    elif kind == "hidden":
        script.add(RowKind.NOTE, Text("compact"), hidden=True)
    elif kind == "gap":
        script.seq += draw(st.integers(1, 3))
    else:
        script.turn += 1


@st.composite
def said(draw: st.DrawFn) -> tuple[Block, ...]:
    """What a person sends, with what was found for it."""
    contexts: list[Block] = [Context("now: 2026-01-05 12:00 UTC")]
    if draw(st.booleans()):
        contexts.append(Context("a memory", "recall"))
    pictures = [Image("p1", "image/png")] if draw(st.integers(0, 5)) == 0 else []
    return (*contexts, *pictures, Text(draw(TEXTS))) if draw(st.integers(0, 9)) else ()


@st.composite
def _thoughts(draw: st.DrawFn) -> tuple[Block, ...]:
    return (Thinking("hm", "signed"),) if draw(st.integers(0, 3)) == 0 else ()


def _calls(draw: st.DrawFn, script: Script) -> None:
    ids = draw(st.lists(CALL_IDS, min_size=1, max_size=3))
    calls = tuple(ToolUse(i, "quote", {"symbol": "AAPL", "note": "价" * 40}) for i in ids)
    script.add(RowKind.ASSISTANT, *draw(_thoughts()), Text(draw(TEXTS)), *calls)
    for id_ in draw(st.permutations(ids)):
        what = draw(st.sampled_from(["result", "result", "result", "twice", "nothing", "steered"]))
        script.add(RowKind.INTENT, ToolUse(id_, "quote", {}), ref=id_)
        if what == "steered":
            script.add(RowKind.USER, Text("and one more thing"))
        for _ in range({"nothing": 0, "twice": 2}.get(what, 1)):
            failed = draw(st.booleans())
            result = ToolResult(id_, "quote", draw(TEXTS), is_error=failed)
            script.add(RowKind.RESULT, result, ref=id_)


@st.composite
def tidy(draw: st.DrawFn, most: int = 6) -> tuple[Row, ...]:
    """Rows as the runtime writes them: new ids, each call answered before the model is called again."""
    script = Script()
    made = 0
    for _ in range(draw(st.integers(1, most))):
        script.add(RowKind.USER, *(draw(said()) or (Text("go on"),)))
        for _ in range(draw(st.integers(0, 3))):
            ids = [f"k{made + i}" for i in range(draw(st.integers(1, 3)))]
            made += len(ids)
            calls = (ToolUse(i, "quote", {"symbol": "AAPL"}) for i in ids)
            script.add(RowKind.ASSISTANT, Text(draw(TEXTS)), *calls)
            for id_ in draw(st.permutations(ids)):
                script.add(RowKind.RESULT, ToolResult(id_, "quote", draw(TEXTS)), ref=id_)
            if draw(st.integers(0, 4)) == 0:
                script.add(RowKind.USER, Text("also this"))
        script.add(RowKind.ASSISTANT, Text(draw(TEXTS) or "done"))
        script.turn += 1
    return tuple(script.rows)


@st.composite
def checkpoints(draw: st.DrawFn, rows: Sequence[Row], most: int = 4) -> tuple[Checkpoint, ...]:
    """Decisions about these rows, sensible or not: any cut, any range, rows of any kind."""
    last = rows[-1].seq if rows else 0
    return tuple(draw(st.lists(_decisions(last), max_size=most)))


@st.composite
def _decisions(draw: st.DrawFn, last: int) -> Checkpoint:
    seqs = tuple(draw(st.lists(st.integers(1, last + 2), max_size=5, unique=True)))
    kind = draw(st.sampled_from(["undo", "clear", "fold", "clip", "summary", "drop"]))
    until = draw(st.integers(1, last + 2))
    after = draw(st.integers(0, until - 1))
    bodies: dict[str, Body] = {
        "clear": Cleared(seqs, plain=draw(st.booleans())),
        "fold": Folded(seqs),
        "clip": Clipped(seqs, draw(st.sampled_from([0, 10, 60, 400]))),
        "drop": Dropped(),
        "summary": draw(summaries(seqs)),
    }
    if kind == "undo":
        return Checkpoint("undo", after, until)
    own = after if kind == "drop" else 0
    return checkpoint(
        bodies[kind], after=own, until=last + 1 if kind in {"clear", "fold"} else until
    )


@st.composite
def summaries(draw: st.DrawFn, words: tuple[int, ...]) -> Summary:
    """The body of a summary."""
    facts = (Fact(1, 1, draw(TEXTS), "keyword"), Fact(2, 1, "budget 400", "keyword", "budget", 3))
    return Summary(
        text=draw(TEXTS),
        profile=draw(st.sampled_from(["structured", "brief", "short", "none"])),
        layout=draw(st.sampled_from(["one", "layers"])),
        facts=facts if draw(st.booleans()) else (),
        anchors=(Anchor(1, "user", "600519 跌破"),) if draw(st.booleans()) else (),
        words=words,
        state=draw(st.sampled_from(["", "run: demo"])),
        archive=draw(st.sampled_from(["", "r1-r9"])),
    )


TRANSCRIPTS = transcripts()
TIDY = tidy()
