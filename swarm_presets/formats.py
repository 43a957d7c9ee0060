"""Findings for continuous integration: SARIF 2.1.0, and the annotations of GitHub's workflow commands."""

import json
from collections.abc import Iterable
from pathlib import Path

from swarm_presets.problems import Problem, in_order

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
TOPICS = {
    "SW0": "Syntax of a preset",
    "SW1": "Shape of a preset",
    "SW2": "References of a preset",
    "SW3": "Meaning of a preset",
    "SW4": "Cautions about a preset",
    "SW5": "Keys that are not enforced",
}


def to_sarif(problems: Iterable[Problem], base: Path) -> str:
    """One run of SARIF 2.1.0; files are given relative to `base` where they lie in it."""
    ordered = in_order(problems)
    rules = [
        {"id": code, "shortDescription": {"text": TOPICS[code[:3]]}}
        for code in sorted({p.code for p in ordered})
    ]
    run = {
        "tool": {"driver": {"name": "swarmgate presets", "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(p, base) for p in ordered],
    }
    whole = {"$schema": SARIF, "version": "2.1.0", "runs": [run]}
    return json.dumps(whole, ensure_ascii=False, indent=2)


def to_github(problems: Iterable[Problem], base: Path) -> str:
    """A line for each finding that a GitHub workflow shows at its place."""
    return "\n".join(_annotation(p, base) for p in in_order(problems))


def _result(p: Problem, base: Path) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": p.code,
        "level": p.severity,
        "message": {"text": f"{p.message}: {p.cure}"},
        "locations": [_location(p.path, p.line, p.column, p.length, base)],
    }
    if p.other is not None:
        there = p.other
        path = there.source.path or there.source.name
        place = _location(path, there.line, there.column, there.length, base)
        result["relatedLocations"] = [{"id": 1, **place, "message": {"text": "sealed here"}}]
    return result


def _location(path: str, line: int, column: int, length: int, base: Path) -> dict[str, object]:
    region = {"startLine": line, "startColumn": column, "endColumn": column + length}
    artifact = {"uri": _shown(path, base)}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _annotation(p: Problem, base: Path) -> str:
    place = f"file={_escaped(_shown(p.path, base), ':,')},line={p.line},col={p.column}"
    place += f",endColumn={p.column + p.length},title={p.code}"
    return f"::{p.severity} {place}::{_escaped(f'{p.message}: {p.cure}')}"


def _escaped(text: str, more: str = "") -> str:
    """GitHub reads a finding up to the end of its line, and properties up to `:` and `,`."""
    for char in "%\r\n" + more:
        text = text.replace(char, f"%{ord(char):02X}")
    return text


def _shown(path: str, base: Path) -> str:
    here = Path(path)
    try:
        return here.resolve().relative_to(base.resolve()).as_posix()
    except ValueError:
        return here.as_posix()
