"""The inputs of a preset: read from what the person wrote, checked, and asked for where they are missing.

`name = value` (or `name: value`) always counts. Beside that a symbol, a choice or a date is taken where the words name
exactly one; numbers and switches are never guessed.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_core import symbols
from agent_core.runtime.flow import Input, Value, Values, shown
from agent_core.runtime.run import Language

ASKED = 3  # questions for one input before the run is given up
_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_YES = frozenset({"true", "yes", "y", "on", "是", "对", "好"})
_NO = frozenset({"false", "no", "n", "off", "否", "不", "不是"})
_WANTED: dict[str, tuple[str, str]] = {
    "symbol": ("one stock or coin, such as GOOG", "一个股票或币种代码，例如 GOOG"),
    "symbols": ("one or more symbols, such as GOOG, AAPL", "一个或多个代码，例如 GOOG, AAPL"),
    "date": ("a day such as 2026-01-31", "日期，例如 2026-01-31"),
    "choice": ("one of these", "请选择一项"),
    "text": ("a few words", "几个字即可"),
    "number": ("a number", "一个数字"),
    "integer": ("a whole number", "一个整数"),
    "boolean": ("yes or no", "是或否"),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A value that the person must give. `problem` says what was wrong with the last one, "" for none."""

    input: Input
    problem: str = ""

    def question(self, language: Language) -> str:
        """What to ask."""
        zh = language == "zh"
        one = self.input
        text = f"{one.description or one.name}: {_WANTED[one.kind][zh]}{_bounds(one, zh=zh)}?"
        return f"{self.problem} {text}" if self.problem else text

    def options(self, language: Language) -> list[str]:
        """What to choose from, as buttons; none where any words will do."""
        if self.input.kind == "boolean":
            return ["是", "否"] if language == "zh" else ["yes", "no"]
        return list(self.input.choices[:10])


def _bounds(one: Input, *, zh: bool) -> str:
    low, high = one.low, one.high
    if low is not None and high is not None:
        return f" ({low:g} – {high:g})"
    if low is not None:
        return f"（至少 {low:g}）" if zh else f" (at least {low:g})"
    if high is not None:
        return f"（最多 {high:g}）" if zh else f" (at most {high:g})"
    return ""


def resolve(
    inputs: Sequence[Input],
    words: str,
    answers: Mapping[str, Sequence[str]],
    language: Language = "en",
) -> tuple[dict[str, Value], Wanted | None]:
    """The values by name, and the first input that the person must be asked for (None: all are known).

    Args:
        inputs: what the preset declares.
        words: what the person wrote.
        answers: what was answered to questions about an input, oldest first; the last one counts.
        language: in which problems are told.
    """
    written = _written(inputs, words)
    values: dict[str, Value] = {}
    for one in inputs:
        said = answers[one.name][-1] if answers.get(one.name) else written.get(one.name)
        if said is not None:
            value, problem = parse(one, said, language)
            if problem:
                return values, Wanted(one, problem)
        else:
            value = _implied(one, inputs, words)
        value = one.default if value is None else value
        if value is None and one.required:
            return values, Wanted(one)
        values[one.name] = value
    return values, None


def found(
    inputs: Sequence[Input], words: str, language: Language = "en"
) -> tuple[dict[str, Value], dict[str, str]]:
    """What words say of inputs, without any default: values by name, and by name what is wrong with one."""
    pairs = _written(inputs, words)
    values: dict[str, Value] = {}
    problems: dict[str, str] = {}
    for one in inputs:
        said = pairs.get(one.name)
        value, problem = (
            parse(one, said, language) if said is not None else (_implied(one, inputs, words), "")
        )
        if problem:
            problems[one.name] = problem
        elif value is not None:
            values[one.name] = value
    return values, problems


def written(values: Values) -> str:
    """Inputs as a person writes them, for a run that nobody types: `symbol = GOOG; horizon = 3m`."""
    return "; ".join(f"{name} = {shown(value)}" for name, value in values.items())


def _written(inputs: Sequence[Input], words: str) -> dict[str, str]:
    """`name = value` pairs: a value goes on to the next pair, a semicolon or the end of the line."""
    if not inputs:
        return {}
    names = "|".join(re.escape(one.name) for one in inputs)
    name = re.compile(rf"(?<![\w.])({names})\s*[=:：＝]\s*", re.IGNORECASE)
    found: dict[str, str] = {}
    marks = list(name.finditer(words))
    for at, mark in enumerate(marks):
        end = marks[at + 1].start() if at + 1 < len(marks) else len(words)
        value = re.split(r"[\n;；]", words[mark.end() : end])[0]
        found[mark[1].lower()] = value.strip(" \t,，。\"'“”")
    return found


def _implied(one: Input, inputs: Sequence[Input], words: str) -> Value:
    """A value that the words name without saying for what, where there is no doubt."""
    alone = sum(other.kind == one.kind for other in inputs) == 1
    if one.kind == "choice":
        named = [choice for choice in one.choices if _stands(choice, words)]
        return named[0] if len(named) == 1 else None
    if one.kind == "text":
        return words.strip() or None if alone and one.required and one.default is None else None
    if one.kind == "symbols":
        found = list(symbols.ids(_without_choices(inputs, words))) if alone else []
        return found if found and _few(one, found) else None
    named = _named(one, _without_choices(inputs, words)) if alone else []
    return named[0] if len(named) == 1 else None


def _named(one: Input, words: str) -> list[str]:
    """Values of this kind that the words hold, each once."""
    if one.kind == "symbol":
        return list(symbols.ids(words))
    days = dict.fromkeys(_DAY.findall(words)) if one.kind == "date" else {}
    return [day for day in days if _is_day(day)]


def _without_choices(inputs: Sequence[Input], words: str) -> str:
    """The words without those that name a choice: a horizon of 3m is no share of 3M."""
    for choice in (choice for one in inputs for choice in one.choices):
        words = re.sub(_word(choice), " ", words, flags=re.IGNORECASE)
    return words


def _word(choice: str) -> str:
    return rf"(?<![A-Za-z0-9_]){re.escape(choice)}(?![A-Za-z0-9_])"


def _stands(choice: str, words: str) -> bool:
    return re.search(_word(choice), words, re.IGNORECASE) is not None


def _few(one: Input, found: Sequence[str]) -> bool:
    return one.max_items is None or len(found) <= one.max_items


def _is_day(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def parse(one: Input, text: str, language: Language = "en") -> tuple[Value, str]:
    """The value of words that were given for an input, and in one line what is wrong with them ("" for nothing)."""
    said = text.strip().strip("\"'“”")
    value = _PARSERS[one.kind](one, said)
    if value is None:
        zh = language == "zh"
        known = f"：{'、'.join(one.choices)}" if zh else f": {', '.join(one.choices)}"
        listed = known if one.choices else ""
        return (
            None,
            f"“{said[:60]}”不合适{listed}。" if zh else f"`{said[:60]}` does not fit{listed}.",
        )
    return value, ""


def _symbol(_: Input, said: str) -> Value:
    found = symbols.ids(said) or tuple(filter(None, [_looked_up(said)]))
    return found[0] if len(found) == 1 else None


def _looked_up(said: str) -> str:
    known = symbols.lookup(said)
    return known.id if known else ""


def _symbols(one: Input, said: str) -> Value:
    """A list in which every part names a symbol: what is not known is not left out in silence."""
    parts = [part for part in re.split(r"[,，、]", said) if part.strip()]
    named = [symbols.ids(part) or tuple(filter(None, [_looked_up(part)])) for part in parts]
    found = list(dict.fromkeys(one_id for ids in named for one_id in ids))
    return found if found and all(named) and _few(one, found) else None


def _date(_: Input, said: str) -> Value:
    return said if _DAY.fullmatch(said) and _is_day(said) else None


def _choice(one: Input, said: str) -> Value:
    return next((c for c in one.choices if c.casefold() == said.casefold()), None)


def _text(_: Input, said: str) -> Value:
    return said or None


def _number(one: Input, said: str) -> Value:
    try:
        value = float(said.rstrip("%").replace(",", ""))
    except ValueError:
        return None
    low = one.low is None or value >= one.low
    high = one.high is None or value <= one.high
    return value if low and high and abs(value) < float("inf") else None


def _integer(one: Input, said: str) -> Value:
    value = _number(one, said)
    return int(value) if value is not None and value == int(value) else None


def _boolean(_: Input, said: str) -> Value:
    word = said.casefold()
    return True if word in _YES else False if word in _NO else None


_PARSERS = {
    "symbol": _symbol,
    "symbols": _symbols,
    "date": _date,
    "choice": _choice,
    "text": _text,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
}
