"""The pages of presets: which there are, what one comes to and where each value is written, and the most it may use."""

import asyncio
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.cli.preset_plan import plan_rows
from gateway.console.calls import Call, Nothing, missing
from gateway.console.house import House
from gateway.console.preset_desk import SourceFile
from gateway.presets import eval_runs
from gateway.presets.eval_runs import EvalRun
from swarm_presets.explain import Difference, Value, differences, values
from swarm_presets.loader import PresetSet
from swarm_presets.parts import leaves
from swarm_presets.positions import Mapping
from swarm_presets.problems import Problem


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a file; line and column count from 1."""

    severity: str
    code: str
    message: str
    file: str
    line: int
    column: int
    cure: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class PresetItem:
    """One preset. `state`: default, ready, abstract (to be extended), broken; `own`: its file is the operator's.

    `cases` were run the last time and `passed` of them passed; `run_at` is None where none were.
    """

    name: str
    state: str
    title: str
    description: str
    agents: list[str]
    file: str
    own: bool
    errors: int
    cases: int
    passed: int
    run_at: dt.datetime | None


@dataclass(frozen=True, slots=True)
class Presets:
    """The list."""

    presets: list[PresetItem]
    problems: list[Finding]


@dataclass(frozen=True, slots=True)
class Origin:
    """One value of a preset with all that it inherits, and where it was written."""

    path: str
    value: str
    file: str
    line: int
    own: bool


@dataclass(frozen=True, slots=True)
class Change:
    """Where the preset differs from what it is compared with; "" on the side that has none."""

    path: str
    before: str
    now: str


@dataclass(frozen=True, slots=True)
class Share:
    """The most that a worker may use in one run, or `total`. `usd` is None where a price is unknown."""

    who: str
    model: str
    times: int
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    time: str


@dataclass(frozen=True, slots=True)
class Preset:
    """One preset. `against` names what `changes` compares it with: the shipped one of its name, else its parent."""

    name: str
    state: str
    title: str
    file: str
    own: bool
    digest: str
    text: str
    problems: list[Finding]
    values: list[Origin]
    plan: list[Share]
    plan_note: str
    against: str
    changes: list[Change]


async def read(call: Call[Nothing]) -> Presets:
    """The list."""
    house = call.house
    presets, now = await asyncio.to_thread(house.presets.load), house.core.clock.now()
    runs = await house.core.db.read(lambda conn: eval_runs.latest(conn, now))
    made = [_item(house, presets, name, runs.get(name)) for name in sorted(presets.files)]
    return Presets(made, findings(presets.problems))


async def show(call: Call[Nothing]) -> Preset:
    """One preset."""
    return await asyncio.to_thread(_preset, call.house, call.path["name"])


def findings(problems: Sequence[Problem]) -> list[Finding]:
    """Problems as they are shown."""
    return [
        Finding(p.severity, p.code, p.message, p.file, p.line, p.column, p.cure, p.excerpt)
        for p in problems
    ]


def _item(house: House, presets: PresetSet, name: str, run: EvalRun | None = None) -> PresetItem:
    team = house.core.turns.teams.find(name) if name in presets.trees else None
    file = presets.files[name]
    own = house.presets.is_own(presets, name)
    errors = sum(p.severity == "error" for p in presets.found.get(name, ()))
    return PresetItem(
        name,
        _state(house, presets, name),
        str(team.title) if team else "",
        str(team.description) if team else "",
        list(team.agents) if team else [],
        file.rpartition("/")[2],
        own,
        errors,
        run.cases if run else 0,
        run.passed if run else 0,
        run.at if run else None,
    )


def _state(house: House, presets: PresetSet, name: str) -> str:
    if name in presets.broken:
        return "broken"
    if name in presets.abstract:
        return "abstract"
    return "default" if name == house.settings.preset else "ready"


def _preset(house: House, name: str) -> Preset:
    presets = house.presets.load()
    source = house.presets.source(presets, name)
    if source is None:
        raise missing()
    tree = presets.trees.get(name)
    plan, note = _plan(house, tree, abstract=name in presets.abstract)
    against, changes = _compared(house, presets, source, tree)
    return Preset(
        name,
        _state(house, presets, name),
        _item(house, presets, name).title,
        source.file,
        source.own,
        source.digest,
        source.text,
        findings(presets.found.get(name, ())),
        [_origin(v, source) for v in values(tree)] if tree else [],
        plan,
        note,
        against,
        changes,
    )


def _origin(value: Value, source: SourceFile) -> Origin:
    own = value.file == source.file.rpartition("/")[2] or value.file == source.file
    return Origin(value.path, value.value, value.file, value.line, own)


def _plan(house: House, tree: Mapping | None, *, abstract: bool) -> tuple[list[Share], str]:
    if tree is None or abstract:
        return [], ""
    rows, note = plan_rows(house.settled, tree)
    keys = ("id", "model", "times", "calls", "input_tokens", "output_tokens", "usd", "time")
    return [Share(*(row[key] for key in keys)) for row in rows], note  # type: ignore[arg-type]


def _compared(
    house: House, presets: PresetSet, source: SourceFile, tree: Mapping | None
) -> tuple[str, list[Change]]:
    """With what a preset is compared, and where it differs."""
    if tree is None:
        return "", []
    shipped = house.presets.shipped() if source.own else None
    if shipped and source.name in shipped.trees:
        return source.name, _changes(differences(shipped.trees[source.name], tree))
    parents = [leaf.text for leaf in leaves(tree.get("extends"))]
    parent = next((p for p in parents if p in presets.trees and p != source.name), "")
    return (parent, _changes(differences(presets.trees[parent], tree))) if parent else ("", [])


def _changes(found: Sequence[Difference]) -> list[Change]:
    return [
        Change(d.path, d.left.value if d.left else "", d.right.value if d.right else "")
        for d in found
    ]
