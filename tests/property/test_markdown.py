"""Any text becomes HTML that Telegram takes, and shows the same letters."""

import re
import unicodedata
from collections import Counter

from hypothesis import HealthCheck, given, settings

from channels.markdown import to_plain, to_telegram
from channels.split import split, utf16_len
from tests.property.markdown_texts import TEXTS
from tests.property.telegram_html import visible

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def letters(text: str) -> Counter[str]:
    """Letters outside of ASCII: no markup is made of them, so none may vanish."""
    return Counter(char for char in text if char > "\x7f" and unicodedata.category(char)[0] == "L")


def check(text: str) -> None:
    html = to_telegram(text)
    shown = visible(html)
    source = re.sub(r"^[ \t>]*(```|~~~)[^\n]*", "", text, flags=re.MULTILINE)
    assert not letters(source) - letters(shown)
    assert not letters(source) - letters(to_plain(text))


def check_length(text: str, limit: int) -> None:
    for part in split(text, limit, utf16_len):
        assert utf16_len(visible(to_telegram(part))) <= limit, part


@QUICK
@given(TEXTS)
def test_html_is_valid_and_keeps_the_letters(text: str) -> None:
    check(text)


@QUICK
@given(TEXTS)
def test_a_part_never_grows_over_the_limit_when_rendered(text: str) -> None:
    check_length(text, 200)


def test_what_is_left_of_a_row_that_was_cut_is_not_aligned() -> None:
    """Found by chance: under its head again, the rest of a long row took the width of the table with it."""
    link = "[link](https://a.b/c?d=1&e=2)"
    many = " ".join(["price"] * 8)
    text = f"| price |\n| - |\n| {link} | {many} {link} {link} price |\n| price | {many} {link} https://x.y/z |\n\n"
    check_length(text, 200)


def test_a_rule_without_a_pipe_makes_a_table_of_a_row_of_one_cell() -> None:
    """Found by chance: the renderer reads it so, and its lines came on top of what had been measured."""
    rows = "| price |\n" * 4 + f"| {' '.join(['price'] * 6)} |\n"
    fence = f"```\n{'y' * 90}\n\n"
    check_length(f"price\n\n| price |\n| - |\n{rows}---\n\n---\n\n{fence}", 150)


def test_a_rule_behind_a_row_without_its_head_makes_no_table_of_it() -> None:
    head = "| price | price | price |\n| - | - | - |\n"
    rows = "| price | price | price |\n| price | price | price | price |\n"
    check_length(f"{head}{rows}| {' '.join(['price'] * 7)} |\n---\n\n", 150)


def test_rows_of_rules_inside_a_table_make_no_wider_table_of_what_a_cut_leaves() -> None:
    head = "| price | price | price |\n| - | - | - |\n| price |\n"
    rows = "| price |\n| --: |\n| price |\n| price |\n| price price | price price price |\n"
    check_length(f"price\n\n{head}{rows}\n", 150)
