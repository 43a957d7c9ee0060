"""Text files as quoted words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.inbound.documents import clip, is_text, quoted, read


@pytest.mark.parametrize(
    ("name", "media_type", "yes"),
    [
        ("a.txt", "text/plain", True),
        ("a", "text/csv; charset=utf-8", True),
        ("a.log", "application/octet-stream", True),
        ("a.YAML", "application/octet-stream", True),
        ("a", "application/ld+json", True),
        ("a", "application/json", True),
        ("a.pdf", "application/pdf", False),
        ("a.zip", "application/zip", False),
        ("a.png", "image/png", False),
        ("a.txt.exe", "application/octet-stream", False),
    ],
)
def test_what_is_taken_for_text(name: str, media_type: str, yes: bool) -> None:
    assert is_text(name, media_type) is yes


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_the_encodings_that_people_use(encoding: str) -> None:
    text = "日期,收盘价\n2012-01-03,665.41\n"
    assert read(text.encode(encoding)) == text


def test_bytes_are_no_text() -> None:
    assert read(b"\x00\x01\x02") is None
    assert read(b"\xff\xff\xff\xff") is None


def test_a_clip_ends_with_a_line() -> None:
    assert clip("one\ntwo\nthree\nfour", 16) == "one\ntwo\nthree\n"
    assert clip("short", 100) == "short"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), st.integers(0, 400))
def test_a_clip_keeps_within_its_limit_and_is_a_beginning(text: str, limit: int) -> None:
    kept = clip(text, limit)
    assert len(kept.encode()) <= limit
    assert text.startswith(kept)


@given(st.text(st.sampled_from("`a\n <>/contex"), max_size=80))
def test_nothing_within_ends_the_quotation(text: str) -> None:
    lines = quoted("a.md", text, 1000).splitlines()
    fence = lines[1]
    assert set(fence) == {"`"}
    assert lines[-1] == fence
    assert not any(line.strip().startswith(fence) for line in lines[2:-1])
    assert "<context>" not in quoted("a.md", text, 1000)
