"""`presets eval`: run the cases that presets bring along, and report what passed, what it cost and how long it took."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateway.cli.output import out, show
from gateway.model_house import CASSETTES
from gateway.problems import OperatorError, Problem
from gateway.settings.settings import Settings

if TYPE_CHECKING:
    from agent_core.models.replay import Cassette
    from gateway.presets.evals import Verdict
    from swarm_presets.loader import PresetSet

FINDINGS = "gateway.presets.team_house"  # the logger of what is wrong with presets at a start
COLUMNS = ("id", "passed", "model", "status", "usd", "tokens", "seconds")


def run_evals(
    settings: Settings,
    presets: "PresetSet",
    name: str | None,
    *,
    model: str,
    record: bool,
    as_json: bool,
) -> int:
    """Run the cases of one preset, or of all that have any. Exit code: 1 when one failed.

    Raises OperatorError for a preset that is not there or cannot run, or has no cases.
    """
    names = _names(presets, name)
    with told_once():
        verdicts = asyncio.run(_run(settings, presets, names, model=model, record=record))
    rows = [_row(verdict) for verdict in verdicts]
    show(rows, COLUMNS, as_json=as_json, empty="no preset has cases under `evals`")
    if not as_json:
        _report(verdicts)
    return 0 if all(verdict.passed for verdict in verdicts) else 1


@contextmanager
def told_once() -> Iterator[None]:
    """Tell each finding of a preset once, though every case starts a core that looks at all of them."""
    said: set[tuple[object, ...]] = set()

    def is_new(record: logging.LogRecord) -> bool:
        found = vars(record)
        key = (record.msg, *(found.get(name) for name in ("file", "line", "column", "problem")))
        new = key not in said
        said.add(key)
        return new

    log = logging.getLogger(FINDINGS)
    log.addFilter(is_new)
    try:
        yield
    finally:
        log.removeFilter(is_new)


def _names(presets: "PresetSet", name: str | None) -> list[str]:
    from swarm_presets.evals import cases

    if name is None:
        return [known for known in presets.teams if cases(presets.trees[known])]
    found = [p for p in presets.found.get(name, ()) if p.severity == "error"]
    if found:
        raise OperatorError([Problem(p.message, p.cure, p.file, p.line, p.column) for p in found])
    if name not in presets.teams:
        cure = f"use one of: {', '.join(presets.teams)}"
        raise OperatorError([Problem(f"there is no preset {name!r} that can run", cure)])
    if not cases(presets.trees[name]):
        cure = "write some under `evals`"
        raise OperatorError([Problem(f"preset {name!r} has no cases", cure)])
    return [name]


async def _run(
    settings: Settings, presets: "PresetSet", names: Sequence[str], *, model: str, record: bool
) -> "list[Verdict]":
    from gateway.presets.evals import Runner
    from swarm_presets.evals import cases

    verdicts: list[Verdict] = []
    for name in names:
        kept = settings.presets_dir / CASSETTES / f"{name}.json"
        cassette = _cassette(settings, presets, name)
        runner = Runner(settings, name, cassette, model, record)
        mine = [await runner.run(case) for case in cases(presets.trees[name])]
        verdicts += mine
        if record:
            cassette.write(kept)
    return verdicts


def _cassette(settings: Settings, presets: "PresetSet", name: str) -> "Cassette":
    from gateway.presets.evals import cassette_of

    return cassette_of(settings, name, presets.files.get(name, ""))


def _row(verdict: "Verdict") -> dict[str, object]:
    name = f"{verdict.preset}: {verdict.case}"
    return {"id": name, "preset": verdict.preset, **verdict.to_json()}


def _report(verdicts: "Sequence[Verdict]") -> None:
    for verdict in verdicts:
        for line in verdict.shortfalls:
            out(f"failed: {verdict.preset}: {verdict.case}: {line}")
    if not verdicts:
        return
    ran = [verdict.seen for verdict in verdicts if verdict.seen]
    priced = [seen.usd for seen in ran if seen.usd is not None]
    cost = f"${sum(priced):.4f}" + (" and what is unknown" if len(priced) < len(ran) else "")
    passed = sum(verdict.passed for verdict in verdicts)
    times = sorted(seen.seconds for seen in ran)
    middle = f", median {times[len(times) // 2]:.1f}s, slowest {times[-1]:.1f}s" if times else ""
    rate = 100 * passed / len(verdicts)
    out(f"{passed} of {len(verdicts)} cases passed ({rate:.0f}%), cost {cost}{middle}")
