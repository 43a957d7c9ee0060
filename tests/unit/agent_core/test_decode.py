"""Bytes of strangers become text quickly, whatever encoding they claim to be in."""

import time

import pytest

from agent_core.tools.decode import decode

SLOW = (
    b"abc-" + b"ba" * 1_000_000
)  # two megabytes that punycode would take a quarter of an hour for


@pytest.mark.parametrize(
    "claimed",
    [
        "punycode",
        "idna",
        "undefined",
        "uu",
        "hex",
        "rot13",
        "zlib",
        "unicode_escape",
        "utf-7",
        "no",
    ],
)
def test_an_encoding_that_no_page_has_is_not_believed(claimed: str) -> None:
    """It neither fails nor holds anybody up; what the bytes are is found as if nothing had been claimed."""
    before = time.thread_time()
    assert decode(SLOW, claimed) == (SLOW.decode(), "utf-8")
    assert decode(b"\\u0041 +AGE-", claimed) == ("\\u0041 +AGE-", "utf-8")
    assert time.thread_time() - before < 1


def test_a_page_that_names_such_an_encoding_itself_is_read_all_the_same() -> None:
    page = b'<meta charset="punycode">' + SLOW
    assert decode(page) == (page.decode(), "utf-8")


@pytest.mark.parametrize(
    ("text", "claimed", "found"),
    [
        ("价格 806.19", "gb2312", "gb18030"),
        ("價格", "big5", "big5"),
        ("株価", "Shift_JIS", "shift_jis"),
        ("주가", "euc-kr", "euc_kr"),
        ("цена", "windows-1251", "cp1251"),
        ("café €", "iso-8859-15", "iso8859-15"),
    ],
)
def test_the_encodings_of_the_web_are_read(text: str, claimed: str, found: str) -> None:
    assert decode(text.encode(claimed), claimed) == (text, found)
