"""Notes of the paper broker in Chinese: each of them, with what it says filled in; those of others as they are."""

import re
import string

import pytest

from agent_core.finance import broker_paper
from agent_core.tools.orders_notes import told

TEMPLATES = sorted(
    value for value in vars(broker_paper).values() if isinstance(value, str) and "{" in value
)
VALUES = {"day": "2013-03-01", "source": "bundled", "ratio": 7.0, "found": "USD", "wanted": "EUR"}


@pytest.mark.parametrize("template", TEMPLATES)
def test_each_note_is_told_in_chinese_with_its_values(template: str) -> None:
    names = [name for _, name, _, _ in string.Formatter().parse(template) if name]
    note = template.format(**VALUES | {"why": "no prices"})
    said = told(note, "zh")
    assert re.search("[一-鿿]", said)
    shown = {"why": "no prices", "ratio": "7"}
    assert all(str(shown.get(name, VALUES.get(name))) in said for name in names)
    assert told(note, "en") == note


def test_there_are_notes() -> None:
    assert len(TEMPLATES) == 6


def test_what_another_broker_says_stays() -> None:
    assert told("alpaca refuses it: no", "zh") == "alpaca refuses it: no"
