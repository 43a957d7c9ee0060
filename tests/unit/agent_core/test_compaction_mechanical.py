"""The summary without a model: what it holds, how large it may be, how it joins an earlier one; and the sections."""

import pytest

from agent_core.compaction import headings, mechanical
from agent_core.models import tokens
from tests.unit.agent_core.old_rows import answered, called, note, result, said

FULL = headings.written({h: f"- about {h} 1" for h in headings.HEADINGS})


def test_it_names_symbols_questions_conclusions_and_results() -> None:
    """CMP-17."""
    rows = [
        said(1, "How is NVDA doing?"),
        called(2, "quote", symbol="NVDA"),
        result(3, "quote", "NVDA closed at 900.5"),
        answered(4, "NVDA looks strong."),
        note(5, "the runtime said this"),
    ]
    assert mechanical.summary(rows) == (
        "Symbols: NVDA\n"
        "Recent questions:\n- How is NVDA doing?\n"
        "Main conclusions:\n- NVDA looks strong.\n"
        "Recent tool results:\n- NVDA closed at 900.5"
    )


def test_it_speaks_the_language_of_the_conversation() -> None:
    """CMP-17."""
    made = mechanical.summary([said(1, "茅台怎么样"), answered(2, "走势平稳")])
    assert made == "涉及标的: 600519.SH\n最近的问题:\n- 茅台怎么样\n主要结论:\n- 走势平稳"


def test_its_bounds() -> None:
    """CMP-17: the last six questions of 180, six answers and four results of 220, 1,200 in all, newest first."""
    rows = []
    for n in range(1, 400, 3):
        rows += [
            said(n, f"Q{n} " + "q" * 400),
            answered(n + 1, f"A{n} " + "a" * 400),
            result(n + 2, "t", f"R{n} " + "r" * 400),
        ]
    made = mechanical.summary(rows)
    assert len(made) <= 1_200
    assert "Q397" in made
    assert "A397" in made
    short = [said(n, f"Q{n}.") for n in range(1, 20)] + [
        answered(n, f"A{n}.") for n in range(20, 40)
    ]
    made = mechanical.summary(short)
    assert [f"Q{n}." in made for n in range(13, 20)] == [False] + [True] * 6
    assert made.count("- A") == 6


def test_at_most_twelve_symbols_those_named_last() -> None:
    """CMP-17."""
    codes = [f"6005{n:02}" for n in range(20)]
    made = mechanical.summary([said(n, f"看 {code}") for n, code in enumerate(codes, 1)])
    listed = made.splitlines()[0].partition(": ")[2].split(", ")
    assert len(listed) == 12
    assert listed[-1].startswith(codes[-1])


def test_rows_that_say_nothing_give_nothing() -> None:
    assert mechanical.summary([]) == ""
    assert mechanical.summary([note(1, "x", hidden=True)]) == ""


def test_an_earlier_summary_keeps_its_form_and_gets_the_new_under_critical_context() -> None:
    """CMP-24, CMP-31."""
    made = mechanical.update(FULL, [said(1, "what about TSLA?")], 4_000)
    assert headings.missing(made) == ()
    assert "TSLA" in headings.parsed(made)[headings.CRITICAL]
    assert "about Goal 1" in made


def test_it_stays_bounded_however_often_every_summary_fails() -> None:
    """CMP-24: history is bounded even then."""
    text = FULL
    for n in range(60):
        text = mechanical.update(text, [said(n, f"NVDA question {n} " + "x" * 150)], 900)
    assert tokens.of_text(text) <= 1_300
    assert "question 59" in text
    plain = ""
    for n in range(60):
        plain = mechanical.update(plain, [said(n, f"问题 {n} " + "很" * 150)], 900)
    assert tokens.of_text(plain) <= 1_300
    assert "问题 59" in plain


def test_sections_in_their_fixed_order() -> None:
    """CMP-12."""
    assert [h.partition(" (")[0] for h in headings.HEADINGS] == [
        "Goal",
        "Constraints & Preferences",
        "Progress",
        "Key Decisions",
        "Resolved Questions",
        "Pending User Asks",
        "Relevant Files",
        "Remaining Work",
        "Critical Context",
        "Tools & Patterns",
    ]
    assert headings.HEADINGS[4].endswith("(do not answer again)")


@pytest.mark.parametrize(
    "form",
    ["## {}", "# {}", "**{}**", "**{}:**", "{}:", "### 3. {}", "{}"],
)
def test_headings_are_found_however_they_are_marked(form: str) -> None:
    """CMP-16."""
    text = "\n".join(form.format(h) + "\n- x" for h in headings.HEADINGS)
    assert headings.missing(text) == ()
    assert headings.missing(text.replace(" & ", " and ")) == ()
    assert headings.missing(text.replace("Goal", "Aim")) == ("Goal",)


def test_a_word_in_a_sentence_is_no_heading() -> None:
    assert "Progress" in headings.missing("Progress was made on several fronts today.")


def test_sections_are_put_in_order_and_no_word_is_lost() -> None:
    """CMP-12, CMP-16: loose words go to Critical Context, a section that comes twice is joined."""
    text = "Preamble 42.\n## Remaining Work\n- later\n## Goal\n- win\n## Goal\n- and again"
    made = headings.arranged(text)
    assert headings.missing(made) == ()
    assert [made.index(f"## {h}") for h in headings.HEADINGS] == sorted(
        made.index(f"## {h}") for h in headings.HEADINGS
    )
    sections = headings.parsed(made)
    assert sections["Goal"] == "- win\n- and again"
    assert sections["Remaining Work"] == "- later"
    assert sections[headings.CRITICAL] == "Preamble 42."
    assert headings.arranged(made) == made


def test_a_summary_that_is_too_long_gives_up_what_is_least_needed() -> None:
    """C-7: rules and numbers last."""
    long = {h: "\n".join(f"- {h} line {n}" for n in range(40)) for h in headings.HEADINGS}
    made = headings.shorten(headings.written(long), 2_000)
    assert tokens.of_text(made) <= 2_000 + 40
    sections = headings.parsed(made)
    assert "line 39" in sections[headings.CRITICAL]
    assert "line 0" in sections[headings.CONSTRAINTS]
    assert sections["Tools & Patterns"] == headings.NONE


def test_text_without_sections_is_cut_behind_a_sentence() -> None:
    """C-7."""
    assert headings.cut_chars("一句话。第二句话很长很长。", 5) == "一句话。"
    assert headings.cut_chars("x" * 50, 10) == "x" * 9 + "…"
    assert headings.cut("First. " + "word " * 100, 10) == "First."
    assert tokens.of_text(headings.cut("预" * 500, 20)) <= 20
