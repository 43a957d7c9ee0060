"""Markdown as Discord reads it: what is meant is marked up, what is not is escaped, and every part fits."""

import subprocess
import sys
import unicodedata
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from channels.discord.components import clipped
from channels.discord.dialect import to_discord
from channels.discord.invite import RIGHTS, invite_url
from channels.discord.render import MAX_TEXT, MAX_TITLE, parts, title_of
from channels.split import utf16_len
from tests.property.markdown_texts import TEXTS

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("**a `b` c** *i* ~~s~~", "**a `b` c** *i* ~~s~~"),
        ("# T\n## **U** x\n### V", "## T\n### U x\n**V**"),
        ("- a\n  - b\n1. c\n2. d", "- a\n  - b\n1. c\n2. d"),
        ("*   **bold**", "- **bold**"),
        ("> q\n> r", "> q\n> r"),
        ("> q\n> ```\n> c\n> ```\n> z", "> q\n```\nc\n```\n> z"),
        ("| a | b |\n|--|--:|\n| 1 | 2 |", "```\na  b\n─  ─\n1  2\n```"),
        ("[x](https://a.b/c_(d))", "[x](https://a.b/c_%28d%29)"),
        ("[https://good.com](https://evil.com)", "https://good.com (https://evil.com)"),
        ("[report](files/a_.md)", "report (files/a\\_.md)"),
        ("https://a.b/c_d_e*f* snake_case", "https://a.b/c_d_e*f* snake_case"),
        ("2 \\* 3 \\_x\\_ a || b ~~ c", "2 \\* 3 \\_x\\_ a \\|\\| b \\~\\~ c"),
        ("\\# no\n\\- no\n1\\. no", "\\# no\n\\- no\n1\\. no"),
        ("`a``b`", "`` a`\u200b`\u200bb ``"),
        ("```py\nx='```'\n```", "```py\nx='`\u200b`\u200b`'\n```"),
        ("~~~\n`````\n~~~", "```\n`\u200b`\u200b`\u200b`\u200b`\n```"),
        ("```py title\nx < 1\n```", "```py\nx < 1\n```"),
        ("**重点：**内容", "**重点：**内容"),
        ("**bol", "\\*\\*bol"),
        ("a\n---\nb", "a\n———\nb"),
        ("", ""),
    ],
)
def test_discord_markdown(source: str, shown: str) -> None:
    assert to_discord(source) == shown


def letters(text: str) -> Counter[str]:
    """Letters outside of ASCII: no markup is made of them, so none may vanish."""
    return Counter(char for char in text if char > "\x7f" and unicodedata.category(char)[0] == "L")


def check(text: str) -> None:
    shown = parts(text)
    assert all(0 < utf16_len(part) <= MAX_TEXT and part.strip() for part in shown)
    assert all(part.count("```") % 2 == 0 for part in shown), shown
    source = "\n".join(
        line
        for line in text.splitlines()
        if not line.lstrip(" \t>-*+0123456789.)").startswith(("```", "~~~"))
    )
    assert not letters(source) - letters("".join(shown))


@QUICK
@given(TEXTS)
def test_every_part_fits_closes_its_fences_and_keeps_the_letters(text: str) -> None:
    check(text)


def test_a_title_is_one_line_within_the_limit() -> None:
    assert title_of("\n how is\tAAPL? \nmore") == "how is AAPL?"
    assert title_of("") == "…"
    assert utf16_len(title_of("word " * 60)) <= MAX_TITLE
    assert utf16_len(title_of("🙂" * 200)) <= MAX_TITLE
    assert clipped("  ", 80) == "…"


def test_the_invitation_names_the_rights_and_the_commands() -> None:
    url = invite_url("777000000000000001")
    assert url.startswith("https://discord.com/oauth2/authorize?client_id=777000000000000001&")
    assert "scope=bot+applications.commands" in url
    assert f"permissions={sum(RIGHTS.values())}" in url
    with pytest.raises(ValueError, match="17 to 20 digits"):
        invite_url("my bot")


def test_the_settings_and_the_invitation_import_no_sdk() -> None:
    code = (
        "import sys, channels.discord.config, channels.discord.invite, channels.discord.dialect, "
        "channels.discord.commands; assert 'discord' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
