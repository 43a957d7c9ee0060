"""Whether the numbers of an answer stand in what its tools returned (guide "presets", 3, `grounding`).

A number is found when a source holds it within the relative `tolerance`, or when it is a source rounded to the digits
that are printed (two or more: "16%" for 16.34, but not "2%" for 2.48). Signs do not count, since words carry them
("fell by 3%"). A percentage also stands for its fraction (6.31% for 0.0631), a number below one for its percentage.
Scales must fit: 1.2亿 is not 1.2万. What is no claim is said in numbers.py.

On the labelled answers of the tests (80, both languages, written to be hard) none of 233 true numbers is called
invented, and 4 of 35 invented ones pass, each beside a number that was returned.

All is pure. Where thousands of numbers were returned, one of them is near almost any price: the check finds what was
invented, it does not prove what is true.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.runtime.numbers import Figure, claims, held
from agent_core.runtime.team import Grounding

SHOWN = 12  # numbers that a complaint lists
ROUNDED = 2  # significant digits from which on rounding is taken for what it is
JUDGEMENT = "x-grounded"  # `false` in a schema: the agent's own judgement, not a fact
_URL = re.compile(r"https?://[^\s<>()\[\]\"'`，。；、）】》]+")


@dataclass(frozen=True, slots=True)
class Sources:
    """What an answer may rest on: numbers in ascending order, addresses, and names of tools and data sources."""

    numbers: tuple[float, ...] = ()
    addresses: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


_NAMED = re.compile(r'"(?:source|sources|provider|publisher)"\s*:\s*(\[[^\]]*\]|"[^"]*")')


def sources(
    texts: Iterable[str], names: Iterable[str] = (), given: Iterable[float] = ()
) -> Sources:
    """The sources in these texts; `names` are those of tools that were used, `given` are further numbers."""
    numbers = set(given)
    found: set[str] = set()
    named = set(names)
    for text in texts:
        numbers.update(held(text))
        found.update(addresses(text))
        for value in _NAMED.findall(text):
            named.update(re.findall(r'"([^"]+)"', value))
    return Sources(tuple(sorted(numbers)), frozenset(found), frozenset(filter(None, named)))


def unfounded(text: str, known: Sources, tolerance: float) -> list[float]:
    """Every number of a text, claim or not, that no source holds within the tolerance."""
    return [n for n in held(text) if not _near(n, n * tolerance, known.numbers)]


def ungrounded(text: str, known: Sources, tolerance: float) -> list[Figure]:
    """The claims of a text that no source holds, in order, each once."""
    found = [claim for claim in claims(text) if not _known(claim, known.numbers, tolerance)]
    return list({claim.text: claim for claim in found}.values())


def ungrounded_data(
    data: Any, schema: dict[str, Any] | None, known: Sources, tolerance: float
) -> list[Figure]:
    """The same of a JSON answer: every string, and every number that is no judgement of the agent.

    Judgements are numbers that the schema bounds to 0..1, chooses from an `enum`, or marks with `x-grounded: false`.
    """
    found: list[Figure] = []
    for value in _facts(data, schema or {}):
        text = value if isinstance(value, str) else repr(value)
        found += ungrounded(text, known, tolerance)
    return list({claim.text: claim for claim in found}.values())


def uncited(text: str, known: Sources) -> str:
    """What is wrong with the citations of a text, "" for nothing."""
    cited = addresses(text)
    invented = sorted(cited - known.addresses)
    if invented:
        return f"no tool returned the address {', '.join(invented[:SHOWN])}"
    if cited or any(_mentions(text, name) for name in known.names):
        return ""
    offered = ", ".join(sorted(known.names)[:SHOWN])
    return "no source is named" + (f"; those that were used: {offered}" if offered else "")


def complaints(rules: Grounding, numbers: Sequence[str], citation: str) -> list[str]:
    """What to tell the model about its answer: one line for each kind of fault."""
    lines: list[str] = []
    if numbers:
        listed = ", ".join(numbers[:SHOWN])
        more = f" and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else ""
        lines.append(
            f"not found in any tool result within {rules.tolerance:.2%}: {listed}{more}. "
            "Get them from a tool, or leave them out"
        )
    if citation:
        lines.append(f"citations are required, and {citation}")
    return lines


def addresses(text: str) -> set[str]:
    """The web addresses in a text."""
    return {address.rstrip(".,;:!?/") for address in _URL.findall(text)}


def _mentions(text: str, name: str) -> bool:
    return (
        re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", text, re.IGNORECASE)
        is not None
    )


def _known(claim: Figure, numbers: Sequence[float], tolerance: float) -> bool:
    for factor in _readings(claim):
        value, step = claim.value * factor, claim.step * factor
        slack = step / 2 if claim.digits >= ROUNDED or value == 0 else 0.0
        if _near(value, max(slack, value * tolerance), numbers):
            return True
    return False


def _near(value: float, slack: float, numbers: Sequence[float]) -> bool:
    slack *= 1 + 1e-9
    at = bisect_left(numbers, value - slack)
    return at < len(numbers) and numbers[at] <= value + slack


def _readings(claim: Figure) -> tuple[float, ...]:
    if claim.percent:
        return (1.0, 0.01)
    return (1.0, 100.0) if claim.value < 1 else (1.0,)


def _facts(data: Any, schema: dict[str, Any]) -> Iterable[str | int | float]:
    if schema.get(JUDGEMENT) is False or "enum" in schema or "const" in schema:
        return
    if isinstance(data, dict):
        properties = schema.get("properties", {})
        for key, value in data.items():
            yield from _facts(value, _part(properties.get(key, schema.get("additionalProperties"))))
    elif isinstance(data, list):
        for value in data:
            yield from _facts(value, _part(schema.get("items")))
    elif isinstance(data, str) or (_is_number(data) and not _is_score(schema)):
        yield data


def _part(schema: object) -> dict[str, Any]:
    return schema if isinstance(schema, dict) else {}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_score(schema: dict[str, Any]) -> bool:
    return bool(schema.get("minimum", -1) >= 0 and schema.get("maximum", 2) <= 1)
