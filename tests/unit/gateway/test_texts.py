"""Texts for people: each code has one, in both languages, with the same values."""

import pkgutil
from collections import Counter
from importlib import import_module
from string import Formatter

from gateway import texts as room
from gateway.texts import texts

NAMES = [m.name for m in pkgutil.iter_modules(room.__path__) if m.name != "texts"]
PARTS = [import_module(f"gateway.texts.{name}") for name in NAMES]


def values(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_no_part_takes_the_code_of_another() -> None:
    """The later one would be said in place of the earlier one, which needs other values."""
    codes = Counter(code for part in PARTS for code in part.TEXTS)
    codes.update(code for code in texts._TEXTS if not any(code in part.TEXTS for part in PARTS))
    assert [code for code, count in codes.items() if count > 1] == []


def test_both_languages_take_the_same_values() -> None:
    assert {code for code, (en, zh) in texts._TEXTS.items() if values(en) != values(zh)} == set()
