"""A person's message as a question to the index: its words, symbols, names and days. Pure."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator

from agent_core import words
from agent_core.memory.bm25 import Asked

# What is read of a message, and how many of its words are looked up: a megabyte asks no more than its beginning does.
MAX_CHARS = 4_000
MAX_WORDS = 64
MAX_NAMES = 16
_DAYS_AGO = (
    (re.compile(r"\btoday\b|今天|今日", re.IGNORECASE), 0),
    (re.compile(r"\byesterday\b|昨天|昨日|昨晚", re.IGNORECASE), 1),
    (re.compile(r"\bday before yesterday\b|前天", re.IGNORECASE), 2),
)


def question(
    text: str, symbols: Iterable[str] | None = None, now: dt.datetime | None = None
) -> Asked:
    """What a message asks the index.

    `symbols` are canonical ids; None: those that the text names (RCL-1). With `now`, yesterday and the like are days.
    """
    text = text[:MAX_CHARS]
    own = words.symbol_words(words.symbols_in(text) if symbols is None else symbols)
    days = list(dict.fromkeys([*words.date_words(text), *_relative(text, now)]))
    found = list(dict.fromkeys(words.words(text)))[:MAX_WORDS]
    speakers = [words.speaker_word(name) for name in words.names(text)[:MAX_NAMES]]
    return Asked((*found, *own, *days), (*own, *speakers), tuple(own), words.asks_time(text))


def looked_up(asked: Asked) -> list[str]:
    """Every word whose postings a ranking needs."""
    return list(dict.fromkeys([*asked.words, *asked.entities, *asked.symbols]))


def _relative(text: str, now: dt.datetime | None) -> Iterator[str]:
    if now is None:
        return
    for pattern, days in _DAYS_AGO:
        if pattern.search(text):
            yield words.date_word(now - dt.timedelta(days=days))
