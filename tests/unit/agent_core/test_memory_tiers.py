"""Memories grow shorter while nobody needs them: when, to what, and what stays findable (TIR-1 … TIR-6, TIR-9)."""

import datetime as dt

import pytest

from agent_core.memory.tiers import (
    DEFAULT,
    STANDING,
    Tiers,
    concepts_of,
    daily,
    digest,
    due,
    retention,
    sentences,
    shortened,
)
from agent_core.models.tokens import of_text
from agent_core.words import words

NOW = dt.datetime(2026, 1, 5, 12, 0, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)
SECOND = dt.timedelta(seconds=1)
CHINESE = (
    "我昨天开始关注宁德时代。它的电池业务增长很快。不过估值偏高，需要等待回调。如果跌破支撑位就不买。"
    "仓位不超过5%！止损设在8%；这是纪律。另外白酒板块我不碰。今年的目标是年化15%。最后提醒自己：不追高。"
)
ENGLISH = (
    "I like to buy on pullbacks. The stop is 3.5 percent. Dr. Smith said so. NVDA is my main position. "
    "I never buy before earnings. The market was odd in May. I sold half of it. BA is too risky. Never average down."
)


def test_the_numbers_are_those_of_the_source() -> None:
    """TIR-1."""
    assert (
        Tiers(
            daily_after=7 * DAY, digest_after=30 * DAY, sentences=5, keywords=15, digest_tokens=50
        )
        == DEFAULT
    )


@pytest.mark.parametrize(
    ("level", "idle", "wanted"),
    [
        ("raw", 7 * DAY, None),
        ("raw", 7 * DAY + SECOND, "daily"),
        ("raw", 90 * DAY, "daily"),  # two passes are needed for a digest
        ("daily", 30 * DAY, None),
        ("daily", 30 * DAY + SECOND, "digest"),
        ("digest", 900 * DAY, None),
        ("raw", -DAY, None),
    ],
)
def test_a_level_is_due_strictly_after_its_time_one_step_at_a_time(
    level: str, idle: dt.timedelta, wanted: str | None
) -> None:
    """TIR-2."""
    assert due(level, NOW - idle, NOW) == wanted


def test_a_chinese_paragraph_is_many_sentences() -> None:
    """TIR-4, FIX-4, defect 2: no white space stands behind 。！？；."""
    found = sentences(CHINESE)
    assert len(found) == 10
    assert "".join(found) == CHINESE
    short = daily(CHINESE)
    assert len(short) < len(CHINESE)
    assert short.startswith("我昨天开始关注宁德时代。")
    assert short.endswith("最后提醒自己：不追高。")


def test_figures_codes_and_abbreviations_end_no_sentence() -> None:
    """TIR-4."""
    text = "The stop is 3.5 percent. Dr. Smith likes U.S. stocks, e.g. BRK.B, vs. bonds. Really? Yes. 600519.SH rose."
    assert [s.strip() for s in sentences(text)] == [
        "The stop is 3.5 percent.",
        "Dr. Smith likes U.S. stocks, e.g. BRK.B, vs. bonds.",
        "Really?",
        "Yes.",
        "600519.SH rose.",
    ]


def test_daily_keeps_the_first_the_last_and_five_between_in_their_order() -> None:
    """TIR-3."""
    kept = daily(ENGLISH)
    found, all_of_them = sentences(kept), [s.strip() for s in sentences(ENGLISH)]
    assert len(found) == 7
    at = [all_of_them.index(s.strip()) for s in found]
    assert at == sorted(at)
    assert (at[0], at[-1]) == (0, len(all_of_them) - 1)


def test_a_chinese_sentence_behind_an_english_one_stays_a_sentence() -> None:
    """TIR-3: what stood between the two is gone, and a full stop ends a sentence only with a blank behind it."""
    text = "Sold. " + "涨。" * 7 + "再见"
    assert sentences(daily(text))[-1] == "再见"
    mixed = daily("Sold. 。。。。。。再见")
    assert [s.strip() for s in sentences(mixed)] == ["Sold.", "再见"]


def test_daily_puts_no_blank_where_nothing_is_gone() -> None:
    """TIR-3: so it is never longer than the text."""
    assert daily("。0。0!0!。。。0") == "。0。0!0!0"


def test_rare_words_win_a_place() -> None:
    """TIR-3: a sentence is as good as its words are rare on the average."""
    dull = [f"The price went up on day {n}." for n in "abcdefghi"]
    text = " ".join(
        ["It began.", *dull[:4], "Glencore cancelled copper shipments.", *dull[4:], "It ended."]
    )
    assert "Glencore cancelled copper shipments." in daily(text)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_few_sentences_stay_as_they_are(count: int) -> None:
    """TIR-3: at most top_k + 2."""
    text = "".join(f"第{n}句话。" for n in range(count))
    assert daily(text, ["NVDA"]) == text


def test_daily_names_what_it_is_about_in_the_language_of_the_text() -> None:
    """TIR-3."""
    assert daily(ENGLISH, ["NVDA", "BA"]).startswith("Keywords: NVDA, BA\nI like to buy")
    assert daily(CHINESE, ["300750"]).startswith("关键词：300750\n我昨天")


def test_the_most_frequent_word_ranks_first() -> None:
    """TIR-5, defect 3: with one sentence the plain IDF is negative, and what is said most ranked last."""
    assert concepts_of(["risk risk risk limit once"])[0] == "risk"
    assert concepts_of(["risk risk.", "risk limit.", "limit."])[:2] == ["risk", "limit"]


def test_a_digest_has_a_beginning_and_concepts_within_its_tokens() -> None:
    """TIR-5, defect 25: the bound of 50 tokens is kept, not only declared."""
    for text in (ENGLISH, CHINESE, daily(ENGLISH, ["NVDA"]), daily(CHINESE, ["300750"])):
        short = digest(text)
        assert of_text(short) <= DEFAULT.digest_tokens
        opening, concepts, listed = short.splitlines()
        assert opening.startswith(("Context: ", "内容："))
        assert concepts in ("Key concepts:", "要点：")
        assert 0 < len(listed.split(", ")) <= DEFAULT.keywords
    assert len(digest(ENGLISH, Tiers(digest_tokens=1_000)).splitlines()[2].split(", ")) == 15


def test_a_chinese_digest_is_found_by_words_not_by_single_characters() -> None:
    """TIR-5: single Han characters would make a digest useless for a search."""
    listed = digest(daily(CHINESE, ["300750"])).splitlines()[2].split(", ")
    assert "300750" in listed
    assert all(len(word) > 1 for word in listed if not word.isascii())
    assert {"宁德", "时代"} <= set(words(digest(CHINESE)))


def test_a_digest_of_a_daily_text_does_not_speak_of_its_heading() -> None:
    short = digest(daily(ENGLISH, ["NVDA"]))
    assert "eywords" not in short
    assert short.startswith("Context: I like to buy")


def test_retention_is_the_jaccard_of_words() -> None:
    """TIR-9."""
    assert retention("", "") == 1.0
    assert retention("buy copper", "") == 0.0
    assert retention("", "buy copper") == 0.0
    assert retention("buy copper", "copper sell") == pytest.approx(1 / 3)
    assert 0.0 < retention(CHINESE, daily(CHINESE)) < 1.0


def test_standing_constraints_are_never_shortened() -> None:
    """CAP-2: a word less in a rule is another rule."""
    assert {"preference", "persona", "rule"} == STANDING


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "🙂" * 300, "a" * 20_000, "。" * 50])
def test_odd_texts_are_shortened_without_complaint(text: str) -> None:
    for level in ("daily", "digest"):
        short = shortened(text, level)  # type: ignore[arg-type]
        assert level == "daily" or of_text(short) <= DEFAULT.digest_tokens
