"""Numbers of sources in every form in which they are written, and numbers that are none of them."""

from hypothesis import given
from hypothesis import strategies as st

from agent_core.runtime.grounding import sources, ungrounded
from agent_core.runtime.numbers import claims, held

TOLERANCE = 0.005
values = st.floats(min_value=11, max_value=9e11, allow_nan=False, allow_infinity=False)
FORMS = (
    "{0:.2f}", "{0:,.2f}", "{0:.1f}", "${0:,.2f}", "¥{0:.2f}", "{0:.2f}元", "{0:.2f}%", "{0:.2f}％", "-{0:.2f}",
    "**{0:.2f}**", "| {0:.2f} |", "约{0:.1f}，", "({0:.2f})", "{1:.3f}k", "{2:.4f}万", "{3:.6f} million", "{3:.6f}百万",
    "{4:.8f}亿", "${5:.9f}bn",
)  # fmt: skip


def written(value: float, form: str) -> str:
    return form.format(value, value / 1e3, value / 1e4, value / 1e6, value / 1e8, value / 1e9)


@given(values, st.sampled_from(FORMS))
def test_a_number_of_a_source_is_found_in_whatever_form_it_is_written(
    value: float, form: str
) -> None:
    assert ungrounded(f"It is {written(value, form)} now.", sources([repr(value)]), TOLERANCE) == []


@given(
    values.map(lambda v: v + 1e5),
    st.sampled_from(FORMS),
    st.floats(min_value=0.012, max_value=0.9),
    st.booleans(),
)
def test_a_number_that_is_too_far_from_its_source_is_told(
    value: float, form: str, off: float, above: bool
) -> None:
    wrong = value * (1 + off) if above else value / (1 + off)
    if "%" in form or "％" in form:
        return  # a percentage has two readings
    text = f"It is {written(wrong, form)} now."
    assert len(ungrounded(text, sources([repr(value)]), TOLERANCE)) == 1


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_error_and_grounds_itself(text: str) -> None:
    assert all(claim.value >= 0 and claim.text for claim in claims(text))
    assert ungrounded(text, sources([], given=held(text)), TOLERANCE) == []


@given(
    st.lists(st.sampled_from("0123456789.,%$-/:年月万亿 kMe()\n|#S&P"), max_size=60).map("".join)
)
def test_number_like_noise_grounds_itself(text: str) -> None:
    assert ungrounded(text, sources([], given=held(text)), TOLERANCE) == []


def test_a_unit_counts_though_a_name_with_a_number_follows() -> None:
    text = "1万S0"
    assert ungrounded(text, sources([], given=held(text)), TOLERANCE) == []
