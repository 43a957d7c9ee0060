"""Any text becomes blocks that Slack takes, pings nobody, and shows the same letters."""

import html
import re
import unicodedata
from collections import Counter

from hypothesis import HealthCheck, given, settings

from channels.slack.dialect import to_mrkdwn
from channels.slack.progress import shown, tail
from channels.slack.render import content, parts, unadorned
from channels.split import split
from channels.types import Preview
from tests.property.markdown_texts import TEXTS
from tests.twins.slack_rules import check_blocks, mrkdwn_of, strays
from tests.twins.slack_state import block_text

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def letters(text: str) -> Counter[str]:
    """Letters outside of ASCII: no markup is made of them, so none may vanish."""
    return Counter(char for char in text if char > "\x7f" and unicodedata.category(char)[0] == "L")


def check(text: str, limit: int = 9000) -> None:
    source = re.sub(r"^[ \t>]*(```|~~~)[^\n]*", "", text, flags=re.MULTILINE)
    pieces = parts(text) if limit == 9000 else split(text, limit)
    seen = ""
    for piece in pieces:
        made = content(piece)
        check_blocks(made.blocks)
        assert made.text.strip()
        for mrkdwn in mrkdwn_of(made.blocks):
            assert not strays(mrkdwn), mrkdwn
            assert mrkdwn.count("```") % 2 == 0, mrkdwn
        seen += "\n".join(map(block_text, made.blocks))
        assert not strays(unadorned(piece).text)
    assert not letters(source) - letters(html.unescape(seen))


def check_preview(text: str) -> None:
    made = shown(Preview(text, status=text[:50]))
    check_blocks(made.blocks)
    for mrkdwn in mrkdwn_of(made.blocks):
        assert not strays(mrkdwn), mrkdwn
    assert len(tail(text, 100)) <= 106


@QUICK
@given(TEXTS)
def test_blocks_are_valid_and_keep_the_letters(text: str) -> None:
    check(text)
    check(text, 300)


@QUICK
@given(TEXTS)
def test_a_preview_of_any_end_is_valid(text: str) -> None:
    for end in (len(text), len(text) // 2, len(text) // 3):
        check_preview(text[:end])


@QUICK
@given(TEXTS)
def test_nothing_invisible_is_left_over(text: str) -> None:
    assert "\ufdd0" not in to_mrkdwn(text)
