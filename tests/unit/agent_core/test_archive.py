"""The archive: references, what they give back, and what is said of a compaction (ARC-1 … ARC-4)."""

import datetime as dt

import pytest

from agent_core.compaction import archive
from agent_core.compaction.archive_index import describe, entry, related
from agent_core.compaction.decisions import Cleared, Folded, Summary, checkpoint
from agent_core.types import (
    Checkpoint,
    Context,
    Message,
    Row,
    RowKind,
    Text,
    ToolResult,
    ToolUse,
    assistant,
)

AT = dt.datetime(2026, 1, 5, 12, 0, tzinfo=dt.UTC)
CALL = ToolUse("c1", "get_prices", {"symbol": "GOOG"})


def row(seq: int, kind: RowKind, message: Message, **meta: object) -> Row:
    return Row(seq, 1, kind, message, "", AT, dict(meta))


ROWS = (
    row(1, RowKind.USER, Message("user", (Context("12:00"), Text("how is  GOOG?\n\nNow")))),
    row(2, RowKind.ASSISTANT, assistant("I look.", CALL)),
    row(3, RowKind.INTENT, Message("assistant", (CALL,))),
    row(
        4,
        RowKind.RESULT,
        Message("user", (ToolResult("c1", "get_prices", '{"close": 180.1}'),)),
        credibility="objective fact",
    ),
    row(5, RowKind.ASSISTANT, assistant("It is at 180.1.")),
    row(6, RowKind.NOTE, Message("user", (Text("compact"),)), hidden=True),
)


@pytest.mark.parametrize(
    ("written", "short", "session"),
    [
        ("r17", "r17", ""),
        (" r17 ", "r17", ""),
        ("[cleared ref=r17]", "r17", ""),
        ("ref=r3-r40", "r3-r40", ""),
        ("r3-40", "r3-r40", ""),
        ("archive://s0123abc/r17", "r17", "s0123abc"),
        ("s0123abc/call_1/r2", "r2", "s0123abc/call_1"),
        ("b0123456789abcdef", "b0123456789abcdef", ""),
        ("archive://s1/b0123456789abcdef", "b0123456789abcdef", "s1"),
    ],
)
def test_references_are_read_as_they_are_written(written: str, short: str, session: str) -> None:
    ref = archive.parse(written)
    assert ref is not None
    assert (ref.short, ref.session) == (short, session)


@pytest.mark.parametrize(
    "written",
    [
        *("", "17", "r0", "r9-r3", "r-1", "rx", "b12", "bxyz0123456789ab", "archive://", "r1;drop"),
        *("archive://../r1", "../../etc/passwd", "s1/../s2/r1", "s1//r1", "/r1", "archive:///r1"),
        "r" + "9" * 30,
    ],
)
def test_what_is_no_reference_is_none(written: str) -> None:
    """ARC-7: a path that climbs is no session."""
    assert archive.parse(written) is None


def test_one_row_comes_back_exactly_and_a_range_with_headings() -> None:
    """ARC-4."""
    assert archive.read(ROWS, (), "r4") == '{"close": 180.1}'
    text = archive.read(ROWS, (), "r1-r5")
    for said in ("12:00", "how is  GOOG?\n\nNow", "I look.", '{"symbol": "GOOG"}', "180.1}", "It"):
        assert said in text
    assert "## r4 · result · get_prices · objective fact · 2026-01-05 12:00 UTC" in text
    assert "## r3" not in text  # the intent repeats the call
    assert archive.read(ROWS, (), "r90") == ""
    assert archive.read(ROWS, (), "nonsense") == ""


def test_hidden_rows_and_rows_that_were_taken_back_stay_out() -> None:
    assert archive.read(ROWS, (), "r6") == ""
    undo = Checkpoint("undo", 0, 5)
    assert archive.read(ROWS, (undo,), "r4") == ""
    assert archive.read(ROWS, (undo,), "r1-r5").startswith("## r5")


def test_a_cleared_or_folded_row_is_given_back_whole() -> None:
    """MSC-10: the row is the lossless copy; what checkpoints say of it changes nothing."""
    made = (checkpoint(Cleared((4,)), until=6), checkpoint(Folded((5,)), until=6))
    assert archive.read(ROWS, made, "r4") == '{"close": 180.1}'
    assert archive.read(ROWS, made, "r5") == "It is at 180.1."


def test_a_large_result_comes_from_its_blob_or_as_its_preview() -> None:
    large = row(
        7,
        RowKind.RESULT,
        Message("user", (ToolResult("c2", "read", "the beginn"),)),
        blob="ab" * 32,
        chars=20,
    )
    whole = archive.text_of([large], headed=False, whole={"ab" * 32: "the beginning of it"}.get)
    assert whole == "the beginning of it"
    assert archive.text_of([large], headed=False, whole=lambda _: None) == "the beginn"


def summary(until: int, **more: object) -> Checkpoint:
    fields = {"text": "Bought GOOG at 180.\nKeep the stop.", "profile": "structured"}
    return checkpoint(Summary(**fields | more), until=until)  # type: ignore[arg-type]


def test_the_metadata_of_a_compaction() -> None:
    """ARC-2: id, times, ranges, and the limits of each list."""
    made = summary(
        41,
        text="x" * 900,
        archive="r3-r40",
        symbols=tuple(f"S{n}" for n in range(40)),
        paths=tuple(f"p{n}.py" for n in range(40)),
        keywords=tuple(f"k{n}" for n in range(90)),
        before=1_000,
        after=300,
    )
    about = describe(made, session_id="s1", at=AT)
    assert about["id"].startswith("ctx_20260105120000_")
    assert len(about["id"]) == len("ctx_20260105120000_") + 12
    assert (about["message_range"], about["message_count"], about["tail_start"]) == (
        [3, 40],
        38,
        41,
    )
    assert about["archive_ref"] == "archive://s1/r3-r40"
    sizes = [len(about[name]) for name in ("summary", "symbols", "paths", "keywords")]
    assert sizes == [500, 24, 24, 60]
    assert describe(made, session_id="s1", at=AT) == about
    assert describe(checkpoint(Cleared((1,)), until=3)) == {}


def test_what_a_checkpoint_left_out_has_references() -> None:
    kept = entry(checkpoint(Cleared((4, 9)), until=12))
    assert kept is not None
    assert (kept.kind, kept.refs) == ("clear", ("r4", "r9"))
    assert entry(Checkpoint("undo", 0, 5)) is None
    condensed = entry(summary(41))
    assert condensed is not None
    assert condensed.refs == ("r1-r40",)


def test_a_message_finds_the_archives_it_has_to_do_with() -> None:
    """ARC-3: by symbol, file, keyword or reference; at most two lines, 400 characters, five tags."""
    made = (
        summary(20, archive="r1-r19", symbols=("GOOG",), keywords=("rebalance",)),
        summary(40, archive="r20-r39", paths=("src/report.py",), keywords=("止损",)),
        summary(
            60, archive="r40-r59", text="y" * 900, symbols=tuple("ABCDEFG"), keywords=("goog",)
        ),
        Checkpoint("undo", 70, 75),
    )
    assert related(made, "what about the weather") == ()
    lines = related(made, "and GOOG?")
    assert [line.split(" ")[1] for line in lines] == ["ref=r1-r19", "ref=r40-r59"]
    assert "[goog, A, B, C, D]" in lines[1]
    assert len(lines[1].rpartition("] ")[2]) == 400
    assert related(made, "look at report.py again")[0].startswith("- ref=r20-r39 [src/report.py")
    assert related(made, "我的止损是多少")[0].startswith("- ref=r20-r39 [止损")
    assert related(made, "rebalancer") == ()  # a Latin word stands alone
    assert related(made, "show archive://s1/r1-r19")[0].startswith("- ref=r1-r19")
