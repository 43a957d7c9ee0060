"""Whatever a memory says: no step loses a byte, none makes it longer, and the digest keeps its bound (TIR-3, 5, 8)."""

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import StaticPool
from sqlmodel import SQLModel

from agent_core.memory.tiers import DEFAULT, concepts_of, daily, digest, retention, sentences
from agent_core.models.tokens import of_text
from agent_core.storage import upkeep
from tests.harness import ALICE
from tests.house import START
from tests.unit.gateway.remembering import put

PIECES = st.sampled_from(
    [
        "铜价",
        "上涨。",
        "Sell ",
        "3.5",
        " percent. ",
        "Dr. ",
        "！",
        "；",
        "\n",
        "NVDA ",
        "🙂",
        "ไทย ",
        "не ",
    ]
)
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=80).map("".join))

ENGINE = create_engine("sqlite://", poolclass=StaticPool)
SQLModel.metadata.create_all(ENGINE)


@given(TEXTS)
def test_sentences_are_the_text(text: str) -> None:
    """TIR-4: but for blank ones, nothing is lost and nothing is added."""
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(TEXTS)
def test_daily_holds_whole_sentences_of_the_text_and_is_stable(text: str) -> None:
    """TIR-3."""
    short = daily(text)
    assert len(short) <= len(text)
    assert all(s.strip() in text for s in sentences(short))
    assert 0.0 <= retention(text, short) <= 1.0
    assert daily(short) in (short, daily(daily(short)))


@given(TEXTS)
def test_a_digest_is_within_its_tokens(text: str) -> None:
    """TIR-5, defect 25."""
    assert of_text(digest(text)) <= DEFAULT.digest_tokens
    assert len(concepts_of(sentences(text))) == len(set(concepts_of(sentences(text))))


STEPS = st.tuples(st.sampled_from(["daily", "digest", "edit"]), TEXTS)


@settings(deadline=None, max_examples=60)
@given(st.lists(STEPS, max_size=6))
def test_every_text_that_a_memory_had_comes_back(steps: list[tuple[str, str]]) -> None:
    """TIR-8, defect 1: in whatever order it was shortened and edited."""
    with ENGINE.connect() as conn:
        had = ["the first text"]
        number = put(conn, had[0], kind="view")
        for step, text in steps:
            if step == "edit":
                upkeep.edit(conn, entry(conn, number), text, START)
            else:
                before = entry(conn, number).text
                assert upkeep.shorten(conn, ALICE, number, before, step, text, START)
            had.append(text)
        kept = {v.text for v in upkeep.versions(conn, ALICE, number)}
        assert set(had) <= kept | {entry(conn, number).text}
        for version in upkeep.versions(conn, ALICE, number):
            back = upkeep.restore(conn, entry(conn, number), version.level, START)
            assert back == version.text == entry(conn, number).text
        conn.rollback()


def entry(conn: Connection, number: int) -> upkeep.Entry:
    found = upkeep.entry(conn, ALICE, number)
    assert found is not None
    return found
