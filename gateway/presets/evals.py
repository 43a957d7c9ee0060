"""Runs the cases of a preset: each through the real core, on a database of its own that is thrown away.

What is real: assembly, tools, policies, budgets, questions and their decisions, the transcript. What stands in: the
model where the case says demo or replay, what its faults break, and the person, who decides as the case says.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from agent_core.models.replay import Cassette, RecordingModel, ReplayModel
from agent_core.ports import Model
from agent_core.runtime.team import Team
from agent_core.types import TurnStatus
from channels.terminal.channel import TerminalChannel
from gateway.app import Core, build
from gateway.engine.begun import Begun
from gateway.model_house import AUTO, CASSETTES, DEMO, REPLAY, ModelHouse, UnknownModel
from gateway.presets.eval_faults import Faults
from gateway.presets.eval_seen import seen, turn_status
from gateway.problems import OperatorError, Problem
from gateway.questions.local_decisions import listing
from gateway.questions.outcome import carry_out
from gateway.redact import Redactor
from gateway.settings.settings import Settings
from swarm_presets.evals import Seen, shortfalls
from swarm_presets.schema_flow import CasePart

PERSON = "alice"
DECISIONS = 20  # questions that one case may ask
YESES = 2  # of one person, where one is not enough
QUORUM = 10  # people at most, as the schema has it
GRACE_S = 5.0
SLACK_S = 60.0  # beyond the supervisor's own limit: for start, questions and the last rows


@dataclass(frozen=True, slots=True)
class Verdict:
    """A case that was run. `shortfalls` is empty where it passed; `seen` is None where it could not be run."""

    preset: str
    case: str
    model: str
    shortfalls: tuple[str, ...]
    seen: Seen | None = None

    @property
    def passed(self) -> bool:
        """Whether everything held."""
        return not self.shortfalls

    def to_json(self) -> dict[str, Any]:
        """As it is printed and kept; what was seen is null where nothing was."""
        seen = self.seen
        return {
            "case": self.case,
            "passed": self.passed,
            "model": self.model,
            "status": seen.status if seen else None,
            "usd": seen.usd if seen else None,
            "tokens": seen.tokens if seen else None,
            "seconds": round(seen.seconds, 2) if seen else None,
            "shortfalls": list(self.shortfalls),
            "answer": seen.text if seen else None,
        }


def said(case: CasePart) -> str:
    """What the person writes: the words of the case, and each input as people may write it, `name = value`."""
    lines = [case.say] if case.say else []
    for name, value in (case.inputs or {}).items():
        given = ", ".join(map(str, value)) if isinstance(value, list) else value
        shown = str(given).lower() if isinstance(given, bool) else given
        lines.append(f"{name} = {shown}")
    return "\n".join(lines)


def cassette_of(settings: Settings, preset: str, file: str) -> Cassette:
    """What was recorded for a preset, beside its `file` and in the settings' folder. Raises OperatorError."""
    name = f"{preset}.json"
    files = (Path(file).parent / CASSETTES / name, settings.presets_dir / CASSETTES / name)
    try:
        return Cassette.read(*files, clean=Redactor(settings.secrets()).text)
    except ValueError as e:
        raise OperatorError([Problem(str(e))]) from e


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs cases of one preset.

    `model` stands in for every model of every case; "" leaves it to the case, and "auto" to the preset's own aliases.
    `cassette` answers for `replay`, and takes what is recorded where `record` is set.
    """

    settings: Settings
    preset: str
    cassette: Cassette
    model: str = ""
    record: bool = False

    async def run(self, case: CasePart) -> Verdict:
        """Run one case to its verdict. What breaks it is a shortfall; only cancellation passes through."""
        model = self.model or case.model or DEMO
        try:
            found = await self._run(case, model)
        except OperatorError as e:
            return Verdict(self.preset, case.name, model, tuple(map(str, e.problems)))
        return Verdict(self.preset, case.name, model, tuple(shortfalls(case.expect, found)), found)

    async def _run(self, case: CasePart, model: str) -> Seen:
        if not said(case):
            cure = "write `say` or `inputs`"
            raise OperatorError([Problem(f"case {case.name!r} says nothing", cure)])
        with tempfile.TemporaryDirectory(prefix="swarmgate-eval-") as folder:
            own: dict[str, Any] = {
                "data_dir": Path(folder),
                "database": None,
                "preset": self.preset,
                "trading": self.settings.trading.rehearsed(),
                "mcp": self.settings.mcp.idle(),
            }
            core = await build(self.settings.model_copy(update=own))
            try:
                return await self._staged(core, case, model)
            finally:
                await core.models.close()
                await core.db.close()

    async def _staged(self, core: Core, case: CasePart, model: str) -> Seen:
        team = core.turns.teams.find(self.preset)
        if team is None:
            raise OperatorError([Problem(f"there is no preset {self.preset!r} that can run")])
        faults = Faults(case.inject or ())
        house = await self._house(core, model)
        turns = core.turns
        turns.models = house
        turns.services = replace(
            turns.services,
            registry=faults.registry(turns.services.registry),
            model=house.get,
            stage=faults.stage,
        )
        return await _Stage(core, team, faults).play(case)

    async def _house(self, core: Core, model: str) -> ModelHouse:
        """Where the run's models come from."""
        record = (lambda inner: RecordingModel(inner, self.cassette)) if self.record else None
        if model == DEMO:
            from agent_core.models.demo import DemoModel

            return _Understudies(core, DemoModel(chunk_delay=0), record)
        if model == REPLAY:
            return _Understudies(core, ReplayModel(self.cassette), record)
        await core.models.settle()
        if model == AUTO:
            return _Understudies(core, None, record, self.cassette)
        try:
            await core.models.prepare([model])
        except UnknownModel:
            cure = "use demo, replay, auto or PROVIDER/MODEL of the settings"
            raise OperatorError([Problem(f"there is no model {model!r}", cure)]) from None
        return _Understudies(core, core.models.get(model), record)


class _Understudies(ModelHouse):
    """One model in place of all, or (None) the real ones; `replay` answers from the preset's own cassette."""

    def __init__(
        self,
        core: Core,
        single: Model | None,
        record: Callable[[Model], Model] | None,
        cassette: Cassette | None = None,
    ) -> None:
        super().__init__(core.models.settings, core.clock)
        self._real = core.models
        self._stand_in = single
        self._replay = None if cassette is None else ReplayModel(cassette)
        self._record = record or (lambda model: model)

    async def prepare(self, names: Iterable[str]) -> None:
        """Make ready what is not stood in for."""
        if self._stand_in is None:
            await self._real.prepare(name for name in names if name != REPLAY)

    def get(self, name: str) -> Model:
        """The model that answers for this name."""
        if name == REPLAY and self._replay is not None:
            return self._replay
        return self._record(self._stand_in or self._real.get(name))


@dataclass(slots=True)
class _Stage:
    """A core with its faults in place, and the person's side of it."""

    core: Core
    team: Team
    faults: Faults

    async def play(self, case: CasePart) -> Seen:
        """Say what the case says, decide what is asked, and look at what it came to."""
        paused: asyncio.Queue[int] = asyncio.Queue()

        def spoke(begun: Begun) -> None:
            paused.put_nowait(begun.turn_id)

        self.core.turns.spoke = spoke
        terminal = TerminalChannel()
        limit = self.team.supervisor.limits.time + SLACK_S
        async with AsyncExitStack() as stack:
            await self._open(stack, terminal)
            client = terminal.connect(PERSON, "eval", None)
            stack.callback(client.close)
            began = time.monotonic()
            try:
                async with asyncio.timeout(limit):
                    await client.say(said(case))
                    turn_id = await self._until_done(paused)
            except TimeoutError:
                raise OperatorError([Problem(f"no answer within {limit:g}s")]) from None
            seconds = time.monotonic() - began
            return await self.core.db.read(lambda conn: seen(conn, self.team, turn_id, seconds))

    async def _open(self, stack: AsyncExitStack, terminal: TerminalChannel) -> None:
        core = self.core
        await core.channels.start([terminal], core.intake.accept)
        stack.push_async_callback(core.channels.stop)
        await core.senders.start()
        stack.push_async_callback(core.senders.stop, 0.0)
        await core.expiry.start()
        stack.push_async_callback(core.expiry.stop)
        await core.engine.start()
        stack.push_async_callback(core.engine.stop, GRACE_S)
        stack.push_async_callback(core.budgets.waiters.stop)

    async def _until_done(self, paused: asyncio.Queue[int]) -> int:
        for _ in range(DECISIONS):
            turn_id = await paused.get()
            status = await self.core.db.read(partial(turn_status, turn_id=turn_id))
            if status != TurnStatus.WAITING:
                return turn_id
            await self._decide()
        raise OperatorError([Problem(f"the case asks more than {DECISIONS} questions")])

    async def _decide(self) -> None:
        """Decide whatever is open as the case says. Raises OperatorError for what it says nothing about."""
        now = self.core.clock.now()
        for number, question in enumerate(
            await self.core.db.read(lambda conn: listing(conn, now)), 1
        ):
            tool = str(question["tool"])
            decision = self.faults.decision(tool)
            if decision is None:
                cure = f"add {{tool: {tool}, approve: accept}} (or deny, expire) under `inject`"
                raise OperatorError([Problem(f"nobody answers the question of {tool}", cure)])
            if decision == "expire":
                await self._expire(int(str(question["id"])))
                continue
            verdict = "approved" if decision == "accept" else "denied"
            await self._say(int(str(question["id"])), verdict, f"{PERSON}{number}")

    async def _say(self, number: int, verdict: str, name: str) -> None:
        """Decide a question, with as many people as its rules want, each as often as it takes (TGV-8)."""
        for voter in [n for n in range(QUORUM) for _ in range(YESES)]:
            done, _ = await self.core.desk.decide(number, verdict, f"{name}.{voter}")
            if done:
                return

    async def _expire(self, number: int) -> None:
        core = self.core
        expire = partial(core.decisions.expire, question_id=number, now=core.clock.now())
        carry_out(await core.db.write(expire), core.senders, core.engine)
