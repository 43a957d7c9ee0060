"""The cases that a preset brings along: what they are, what running them may cost, and what came of them."""

import asyncio
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import Connection

from agent_core.ports import Need
from gateway.budgets.paid_evals import give_back_of
from gateway.cli.preset_plan import plan_rows
from gateway.console import audit
from gateway.console.calls import Call, Done, Nothing, Refused, Wanted, missing
from gateway.console.eval_room import Job, Planned
from gateway.console.house import House
from gateway.model_house import AUTO, DEMO, REPLAY
from gateway.presets import eval_runs
from gateway.presets.eval_runs import Begin, Busy, EvalRun
from gateway.presets.evals import SLACK_S, said
from swarm_presets.compile import compile_team
from swarm_presets.evals import cases
from swarm_presets.positions import Mapping
from swarm_presets.schema_flow import CasePart

FREE = (DEMO, REPLAY)
START_S = 60.0  # a process and its core, on a busy machine


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `model` is its own choice; `faults` what goes wrong on purpose in it."""

    name: str
    said: str
    model: str
    faults: int


@dataclass(frozen=True, slots=True)
class Choice:
    """What may stand in for every model ("": each case's own), and the most that a run costs then; None: unknown."""

    model: str
    usd: float | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a case. `status`, `usd`, `tokens`, `seconds` and `answer` are None where it could not be run."""

    case: str
    passed: bool
    model: str
    status: str | None
    usd: float | None
    tokens: int | None
    seconds: float | None
    shortfalls: list[str]
    answer: str | None


@dataclass(frozen=True, slots=True)
class EvalItem:
    """One run. `status`: running, done, stopped or failed, with the reason in `note`; `stale`: the file has changed."""

    id: int
    by: str
    model: str
    status: str
    note: str
    cases: int
    done: int
    passed: int
    usd: float | None
    stale: bool
    began_at: dt.datetime
    seconds: float


@dataclass(frozen=True, slots=True)
class Evals:
    """The page; runs newest first, the results those of the newest one."""

    preset: str
    cases: list[Case]
    choices: list[Choice]
    runs: list[EvalItem]
    results: list[Result]


@dataclass(frozen=True, slots=True)
class EvalPage:
    """One run with all its results."""

    preset: str
    run: EvalItem
    results: list[Result]


class Start(Wanted):
    """What stands in for every model: "" for each case's own, demo, replay, auto, or a model of the settings."""

    model: Annotated[str, Field(max_length=200)] = ""


@dataclass(frozen=True, slots=True)
class _Ready:
    """A preset that can run, with its cases."""

    name: str
    file: str
    digest: str
    tree: Mapping
    cases: Sequence[CasePart]


async def read(call: Call[Nothing]) -> Evals:
    """The page's data."""
    house, name, now = call.house, call.path["name"], call.house.core.clock.now()
    ready = await asyncio.to_thread(_ready, house, name)
    if ready is None:
        raise missing()
    choices = await asyncio.to_thread(_choices, house, ready)
    runs = await house.core.db.read(lambda conn: eval_runs.runs(conn, name, now))
    return Evals(
        name,
        [_case(case) for case in ready.cases],
        choices if ready.cases else [],
        [_item(run, ready.digest) for run in runs],
        _results(runs[0]) if runs else [],
    )


async def show(call: Call[Nothing]) -> EvalPage:
    """One run."""
    house, name, number = call.house, call.path["name"], call.number()
    now = house.core.clock.now()
    run = await house.core.db.read(lambda conn: eval_runs.find(conn, name, number, now))
    if run is None:
        raise missing()
    ready = await asyncio.to_thread(_ready, house, name)
    return EvalPage(name, _item(run, ready.digest if ready else ""), _results(run))


async def start(call: Call[Start]) -> Done:
    """Run all cases of a preset; one run at a time."""
    house, name, model = call.house, call.path["name"], call.wanted.model
    core, now = house.core, house.core.clock.now()
    ready = await asyncio.to_thread(_ready, house, name)
    if ready is None:
        raise missing()
    if not ready.cases:
        raise Refused(409, "no_cases", "This preset cannot run, or has no cases under evals.")
    if model not in _models(house):
        raise Refused(409, "no_such_model", "There is no such model to run the cases with.")
    planned = await asyncio.to_thread(_planned, house, ready, model)
    limit = compile_team(ready.tree).supervisor.limits.time + SLACK_S + START_S
    what = Begin(call.who.id, name, ready.digest, model, len(planned))

    def work(conn: Connection) -> int:
        for lost in eval_runs.end_lost(conn, now):
            give_back_of(conn, lost)
        number = eval_runs.begin(conn, what, now, house.evals.due(limit))
        note = f"cases: {len(planned)}, model: {model or 'their own'}"
        audit.write(conn, call.who, "run_cases", now, target=f"preset {name}", note=note)
        return number

    try:
        number = await core.db.write(work)
    except Busy:
        raise Refused(
            409, "busy", "Cases are being run already: wait for them, or stop them."
        ) from None
    house.evals.start(Job(number, name, ready.file, model, planned, limit))
    return Done(call.say("The cases are being run: {count}.", count=len(planned)))


async def stop(call: Call[Nothing]) -> Done:
    """End a run; what was found so far is kept."""
    house, name, number = call.house, call.path["name"], call.number()
    now = house.core.clock.now()

    def work(conn: Connection) -> bool:
        if eval_runs.find(conn, name, number, now) is None:
            raise missing()
        ended = eval_runs.end(conn, number, "stopped", now) is not None
        if ended:
            audit.write(conn, call.who, "stop_cases", now, target=f"preset {name}")
        return ended

    if not await house.core.db.write(work):
        raise Refused(409, "not_running", "This run is over.")
    house.evals.cancel(number)
    return Done(call.say("The run is stopped."))


def _ready(house: House, name: str) -> _Ready | None:
    """A preset with its cases, none where it cannot run; None where no file has this name."""
    presets = house.presets.load()
    source = house.presets.source(presets, name)
    if source is None:
        return None
    tree, runs = presets.trees.get(name), name not in presets.broken | presets.abstract
    found = cases(tree) if tree is not None and runs else []
    return _Ready(name, presets.files[name], source.digest, tree or {}, found)  # type: ignore[arg-type]


def _models(house: House) -> list[str]:
    """What may stand in; the first is each case's own choice."""
    return list(dict.fromkeys(["", DEMO, REPLAY, AUTO, *house.core.models.choices()]))


def _choices(house: House, ready: _Ready) -> list[Choice]:
    return [_choice(house, ready, model) for model in _models(house)]


def _choice(house: House, ready: _Ready, model: str) -> Choice:
    needs = [planned.need for planned in _planned(house, ready, model)]
    known = [need.usd for need in needs if need.usd is not None]
    usd = sum(known) if len(known) == len(needs) else None
    return Choice(model, usd, sum(need.tokens for need in needs))


def _planned(house: House, ready: _Ready, model: str) -> list[Planned]:
    worst: dict[str, Need] = {}
    made = []
    for case in ready.cases:
        name = model or case.model or DEMO
        if name not in worst:
            worst[name] = _worst(house, ready.tree, name)
        made.append(Planned(case, worst[name]))
    return made


def _worst(house: House, tree: Mapping, model: str) -> Need:
    """The most that one case may use."""
    if model in FREE:
        return Need(DEMO, 0, 0.0)
    rows, _ = plan_rows(house.settled, tree, "" if model == AUTO else model)
    total: dict[str, Any] = rows[-1]
    return Need(model, total["input_tokens"] + total["output_tokens"], total["usd"])


def _case(case: CasePart) -> Case:
    return Case(case.name, said(case), case.model or DEMO, len(case.inject or ()))


def _item(run: EvalRun, digest: str) -> EvalItem:
    return EvalItem(
        run.id,
        run.owner,
        run.model,
        run.status,
        run.note,
        run.cases,
        run.done,
        run.passed,
        run.usd,
        run.digest != digest,
        run.began_at,
        round((run.at - run.began_at).total_seconds(), 1),
    )


def _results(run: EvalRun) -> list[Result]:
    return [Result(**one) for one in run.results]
