"""Amounts in a person's words: "10 shares", "at 300", "十股", "10万"."""

import re

from agent_core.models.demo_period import without_periods

AMOUNT = r"\d[\d,]*(?:\.\d+)?(?:\s*(?:k\b|万))?"
COUNTED = rf"(?:{AMOUNT}|[一二两三四五六七八九十百]+)"
_MANY = {"k": 1_000, "万": 10_000}
_DIGITS = {word: value for value, word in enumerate("一二三四五六七八九", start=1)} | {"两": 2}


def amount(written: str) -> int | float:
    """The number that is written: digits with separators, "k" or "万" behind them, or a Chinese numeral below 1,000."""
    if not re.search(r"\d", written):
        return _numeral(written)
    factor = _MANY.get(written.strip()[-1], 1)
    digits = re.sub(r"[^\d.]", "", written)
    value = float(digits) * factor
    return int(value) if value == int(value) else value


def _numeral(word: str) -> int:
    total, digit = 0, 0
    for sign in word:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        else:
            total += (digit or 1) * (100 if sign == "百" else 10)
            digit = 0
    return total + digit


def named(text: str, before: str, written: str = AMOUNT) -> int | float | None:
    """The amount that follows the first of the words that `before` matches, with nothing but small words between."""
    for match in re.finditer(
        rf"(?:{before})[^\d,.;，。；]{{0,14}}?({written})", text, re.IGNORECASE
    ):
        return amount(match[1])
    return None


def numbers(text: str) -> list[int | float]:
    """All plain numbers, those of days and periods left out."""
    return [amount(found) for found in re.findall(r"\d+(?:\.\d+)?", without_periods(text))]
