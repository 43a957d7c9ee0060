"""Splitting loses nothing, keeps to the limit, and comes out the same twice."""

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from channels.split import split, utf16_len
from tests.property.markdown_texts import LINE, LIST, PARAGRAPH, QUOTE, TEXTS

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
LIMITS = st.integers(8, 400)


def ink(text: str) -> str:
    return re.sub(r"\s+", "", text)


def is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(char in rest for char in short)


def utf8_len(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def check(text: str, limit: int) -> None:
    for measure in (len, utf16_len, utf8_len):
        parts = split(text, limit, measure)
        assert parts == split(text, limit, measure)
        assert all(part.strip() for part in parts)
        for part in parts:
            assert measure(part) <= limit or measure is utf8_len
        if all(measure(part) <= limit for part in parts):
            assert is_subsequence(ink(re.sub(r"(```|~~~)\S*", "", text)), "".join(map(ink, parts)))


@QUICK
@given(TEXTS, LIMITS)
def test_parts_keep_to_the_limit_and_keep_the_text(text: str, limit: int) -> None:
    check(text, limit)


@QUICK
@given(st.lists(st.one_of(PARAGRAPH, LIST, LINE), max_size=6).map("\n\n".join), LIMITS)
def test_prose_and_lists_come_back_whole(text: str, limit: int) -> None:
    text = re.sub("[`~|]", "", text)
    assert "".join(map(ink, split(text, limit))) == ink(text)


@QUICK
@given(QUOTE, LIMITS)
def test_quotes_only_gain_their_marks(text: str, limit: int) -> None:
    text = re.sub("[`~|]", "", text)
    together = "".join(map(ink, split(text, limit)))
    assert together.replace(">", "") == ink(text).replace(">", "")


CODE = st.lists(
    st.text(alphabet="ab `~|>#汉👍\t", max_size=150).map(lambda line: "x" + line),
    min_size=1,
    max_size=30,
)


@QUICK
@given(CODE, st.sampled_from(["```", "~~~"]), st.integers(60, 300))
def test_code_is_the_same_in_pieces(lines: list[str], mark: str, limit: int) -> None:
    parser = MarkdownIt("commonmark")
    code = ""
    for part in split(f"{mark}py\n" + "\n".join(lines) + f"\n{mark}", limit):
        tokens = parser.parse(part)
        assert [(token.type, token.info) for token in tokens] == [("fence", "py")]
        code += tokens[0].content.removesuffix("\n")
    assert code.replace("\n", "") == "".join(lines)
