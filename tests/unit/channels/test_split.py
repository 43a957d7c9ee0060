"""Where Markdown is cut."""

import time

import pytest

from channels.split import numbered, split, utf16_len


def test_short_text_is_one_part() -> None:
    assert split("Hello **you**\n", 100) == ["Hello **you**"]


@pytest.mark.parametrize("text", ["", "  \n\n ", "\t"])
def test_blank_text_has_no_parts(text: str) -> None:
    assert split(text, 10) == []


def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="leaves no room"):
        split("a", 0)


def test_cuts_at_blank_lines_first() -> None:
    text = "First paragraph.\nIts second line.\n\nSecond paragraph. It is longer."
    assert split(text, 50) == [
        "First paragraph.\nIts second line.",
        "Second paragraph. It is longer.",
    ]


def test_then_at_lines_sentences_and_words() -> None:
    assert split("one two three\nfour five six", 20) == ["one two three", "four five six"]
    assert split("One two three. Four five six.", 20) == ["One two three.", "Four five six."]
    assert split("one two three four five", 12) == ["one two", "three four", "five"]


def test_chinese_sentences_end_without_spaces() -> None:
    assert split("苹果上涨了。谷歌下跌了！为什么？", 8) == [
        "苹果上涨了。",
        "谷歌下跌了！",
        "为什么？",
    ]


def test_utf16_counts_astral_characters_twice() -> None:
    assert utf16_len("a汉👍") == 4
    assert split("👍" * 5, 4, utf16_len) == ["👍👍", "👍👍", "👍"]


@pytest.mark.parametrize(
    "grapheme",
    ["👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "e\u0301", "❤️", "각", "\ud83d\udc4d"],
)
def test_graphemes_stay_whole(grapheme: str) -> None:
    size = utf16_len(grapheme)
    parts = split(grapheme * 9, size * 2 + 1, utf16_len)
    assert "".join(parts) == grapheme * 9
    assert all(set(part.split(grapheme)) == {""} for part in parts)


def test_links_and_inline_code_stay_whole() -> None:
    link, code = "[the annual report](https://example.com/a_long_path)", "`some code here`"
    parts = split(f"{'word ' * 8}{link} {'word ' * 8}{code} and the rest", 60)
    assert any(link in part for part in parts)
    assert any(code in part for part in parts)


def test_a_cut_fence_is_closed_and_opened_again() -> None:
    body = "".join(f"line {number}\n" for number in range(20))
    parts = split(f"Intro.\n\n```python\n{body}```\n\nEnd.", 80)
    assert parts[0].startswith("Intro.\n\n```python\nline 0\n")
    assert all(part.startswith("```python\n") for part in parts[1:])
    assert all(part.endswith("\n```") for part in parts[:-1])
    assert parts[-1].endswith("```\n\nEnd.")


def test_a_fence_that_fits_is_not_cut() -> None:
    fence = "```\n" + "x\n" * 20 + "```"
    assert split(f"{'Words before it. ' * 3}\n\n{fence}", 60)[-1] == fence


def test_a_heading_moves_on_with_its_block() -> None:
    fence = "```\n" + "x\n" * 20 + "```"
    parts = split(f"{'Words before it. ' * 2}\n\n## Code\n\n{fence}", 60)
    assert parts[-1] == f"## Code\n\n{fence}"


def test_a_fence_in_a_quote_keeps_its_marks() -> None:
    text = "> ```py\n" + "> x = 1\n" * 12 + "> ```"
    for part in split(text, 50):
        assert part.startswith("> ```py\n")
        assert part.endswith("\n> ```")


def test_a_piece_of_code_cannot_end_its_fence() -> None:
    text = "```\n" + "a" * 50 + "```" + "b" * 50 + "\n```"
    parts = split(text, 60)
    assert all(part.startswith("````\n") and part.endswith("\n````") for part in parts)


def test_a_cut_table_repeats_its_head() -> None:
    rows = "".join(f"| name {number} | {number} |\n" for number in range(12))
    parts = split(f"| Name | Value |\n|---|--:|\n{rows}", 120)
    assert len(parts) > 1
    assert all(part.startswith("| Name | Value |\n|---|--:|\n| name ") for part in parts)
    assert sum(part.count("| name ") for part in parts) == 12


def test_a_quoted_line_goes_on_as_a_quote() -> None:
    parts = split("> " + "words and more words " * 5, 40)
    assert all(part.startswith("> ") for part in parts)


def test_a_huge_line_in_a_fence_is_cut() -> None:
    """nanobot#4250: a fence with one line of 6,000 characters must not hang the splitter."""
    parts = split("```\n" + "x" * 6000 + "\n```", 4096)
    assert [len(part) for part in parts] == [4096, 1920]


def test_a_piece_never_turns_into_a_list() -> None:
    parts = split("the result is five minus three - which is two and so on", 36)
    assert not any(part.startswith("- ") for part in parts)


def test_limits_smaller_than_the_markup_still_work() -> None:
    parts = split("```python\nprint(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |", 8)
    assert all(len(part) <= 8 for part in parts)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["a", "word ", "Some words. ", "汉", "`", "[", "*", "> ", "&", "[](", "``a`", "- ", "\n",
     "```\nx\n```\n", "| x | y |\n", "**a ", "\\", "👍"],
)  # fmt: skip
def test_a_megabyte_takes_linear_time(unit: str) -> None:
    text = "| a | b |\n|---|---|\n" + unit * (2**20 // len(unit))
    began = time.process_time()
    parts = split(text, 4096, utf16_len)
    assert time.process_time() - began < 5  # about 0.2 s on an idle core
    assert max(map(utf16_len, parts), default=0) <= 4096


def test_several_parts_say_which_one_each_is_and_still_fit() -> None:
    parts = numbered("word " * 300, 200)
    assert [part.rpartition("\n\n")[2] for part in parts] == [
        f"({n}/{len(parts)})" for n in range(1, len(parts) + 1)
    ]
    assert max(map(len, parts)) <= 200
    assert numbered("short", 200) == ["short"]
