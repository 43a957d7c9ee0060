"""Whatever was written is given back, whatever was decided about it (ARC-4): every character of every row."""

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from agent_core.compaction import archive
from agent_core.compaction.decisions import Cleared, Clipped, Folded, Summary, checkpoint
from agent_core.past import Restored
from agent_core.runtime.offload import pack
from agent_core.tools.archive import PAGE_CHARS, page
from agent_core.tools.spec import ToolOutput
from agent_core.types import Message, NewRow, Row, RowKind, ToolResult, ToolUse, assistant, user

AT = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
kinds = st.sampled_from([RowKind.USER, RowKind.ASSISTANT, RowKind.RESULT])
rows = st.lists(st.tuples(kinds, texts), min_size=1, max_size=12)


def made(kind: RowKind, said: str, seq: int) -> NewRow:
    if kind is RowKind.RESULT:
        return NewRow(kind, Message("user", (ToolResult(f"c{seq}", "t", said),)))
    return NewRow(kind, user(said) if kind is RowKind.USER else assistant(said))


@given(rows, st.data())
def test_every_row_is_given_back_under_any_checkpoints(
    spec: list[tuple[RowKind, str]], data: st.DataObject
) -> None:
    stored = [
        Row(seq, 1, new.kind, new.message, "", AT)
        for seq, (kind, said) in enumerate(spec, 1)
        for new in [made(kind, said, seq)]
    ]
    last = len(stored)
    seqs = tuple(sorted(data.draw(st.sets(st.integers(1, last)))))
    bodies = [Cleared(seqs), Folded(seqs), Clipped(seqs, 3), Summary("s", "structured")]
    checkpoints = [checkpoint(body, until=last + 1) for body in bodies]
    for row, (_, said) in zip(stored, spec, strict=True):
        assert archive.read(stored, checkpoints, f"r{row.seq}") == said
    first = data.draw(st.integers(1, last))
    ranged = archive.read(stored, checkpoints, f"r{first}-r{last}")
    assert all(said in ranged for _, said in spec[first - 1 :])


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), st.integers(1, 40_000))
def test_a_result_of_any_length_is_given_back_in_pages(piece: str, length: int) -> None:
    content = (piece * (length // len(piece) + 1))[:length]
    done = pack("telegram:1", ToolUse("c1", "t", {}), ToolOutput(content))
    whole = done.blobs[0].data.decode() if done.blobs else done.result.content
    assert whole == content or not content.isprintable()
    restored = Restored("archive://s1/r1", whole)
    pages = [page(restored, at) for at in range(0, max(1, len(whole)), PAGE_CHARS)]
    assert "".join(p.partition("\n")[2] for p in pages) == whole
    assert all(len(p) <= 8_000 for p in pages)
