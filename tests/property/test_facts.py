"""Facts over random conversations: verbatim, bounded, pure, and never from anybody but the person."""

from hypothesis import given
from hypothesis import strategies as st

from agent_core import text
from agent_core.compaction import facts, headings, serialise, shrink
from agent_core.models import tokens
from tests.unit.agent_core.old_rows import people, said

WORDS = st.sampled_from(
    [
        *(
            "不要",
            "预算",
            "对了",
            "，",
            "。",
            "！",
            "\n",
            " ",
            "500",
            "800 元",
            "止损",
            "5%",
            "每天",
            "NVDA",
            "茅台",
            "吗？",
        ),
        *(
            "never ",
            "must ",
            "only ",
            "$1,200 ",
            "budget is ",
            ". ",
            ", ",
            "you",
            "x" * 150,
            "很" * 90,
            "🚀",
            "\ud83d",
        ),
    ]
)
TEXTS = st.lists(WORDS, max_size=14).map("".join)
CHATS = st.lists(TEXTS, max_size=8)


@given(CHATS)
def test_facts_are_verbatim_bounded_and_pure(chat: list[str]) -> None:
    """KFS-4, KFS-5."""
    rows = people(chat)
    found = facts.extract(rows)
    assert found == facts.extract(rows)
    for fact in found:
        assert fact.text in chat[fact.seq - 1]
        assert 0 < len(fact.text) <= facts.MAX_CHARS
        assert fact.superseded_by is None or fact.seq <= fact.superseded_by <= len(chat)
    assert [f.seq for f in found] == sorted(f.seq for f in found)
    held = [text.normal(f.text) for f in found if f.superseded_by is None]
    assert len(held) == len(set(held))


@given(CHATS)
def test_every_keyword_is_in_some_fact(chat: list[str]) -> None:
    """KFS-1: wherever it stands, and whatever stands around it."""
    found = facts.extract(people(chat))
    for seq, message in enumerate(chat, 1):
        mine = "".join(f.text for f in found if f.seq == seq)
        for word in ("不要", "预算", "对了"):
            if word in message:
                assert word in mine


@given(CHATS)
def test_the_slot_loses_nothing_in_silence(chat: list[str]) -> None:
    """KFS-5."""
    found = facts.extract(people(chat))
    kept, overflow = facts.slot(found, limit=3, total=300)
    assert len(kept) <= 3
    assert sum(len(f.text) for f in kept) <= 300
    live = [f for f in found if f.superseded_by is None]
    assert sorted([*kept, *overflow], key=live.index) == live


@given(st.lists(st.text(max_size=900), max_size=5), st.integers(120, 2_000))
def test_chunks_hold_every_character_within_the_limit(chat: list[str], limit: int) -> None:
    """CMP-23."""
    pieces = serialise.pieces([said(n, t) for n, t in enumerate(chat, 1)])
    found = serialise.chunks(pieces, limit)
    assert "".join(p.text for c in found for p in c.pieces) == "".join(p.text for p in pieces)
    assert all(tokens.of_text(c.text) <= limit for c in found)


@given(st.text(min_size=801, max_size=4_000))
def test_a_shortened_result_is_within_its_bounds(content: str) -> None:
    """CMP-21."""
    assert len(shrink.shrunk(content)) <= shrink.MOST_CHARS


PARTS = st.sampled_from([*"#*:\n -ab预", "Goal", "Progress", "(none)", "## Key Decisions\n"])


@given(st.lists(PARTS, max_size=60).map("".join))
def test_sections_are_arranged_once_and_for_all(said_text: str) -> None:
    """CMP-12."""
    once = headings.arranged(said_text)
    assert headings.missing(once) == ()
    assert headings.arranged(once) == once


@given(st.text(max_size=300))
def test_sentences_and_clauses_are_the_text(said_text: str) -> None:
    assert "".join(text.sentences(said_text)) == said_text
    assert "".join(text.clauses(said_text)) == said_text
