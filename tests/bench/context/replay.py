"""A transcript replayed through the product's own view, ladder, compactor and breakpoints, call by call.

Time is simulated: a person's pauses are log-normal about their median, a model call and its tools take some seconds.
"""

import asyncio
import datetime as dt
import math
from dataclasses import dataclass, field, replace
from random import Random

from agent_core.assembly.builder import Frame, Prefix, request
from agent_core.compaction import compactor
from agent_core.compaction.economics import FIVE_MINUTES, HOUR, Situation
from agent_core.compaction.strategies import Policy
from agent_core.compaction.summary import Job, Made, summarise
from agent_core.compaction.view import View
from agent_core.models import tokens
from agent_core.ports import Breakpoint, ModelRequest, Ttl
from agent_core.types import Checkpoint, Message, Row, RowKind, Text, Usage, user
from tests.bench.context import facts as planted
from tests.bench.context.billing import BillingModel, price
from tests.bench.context.summariser import extract
from tests.bench.context.transcripts import Session, Step

WINDOW = 64_000
SPREAD = 1.0  # of the logarithm of a pause
CALL_SECONDS = 6.0  # one model call and its tools
BEGIN = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)


@dataclass
class Clock:
    """Seconds since the session began."""

    seconds: float = 0.0

    def __call__(self) -> float:
        """The present."""
        return self.seconds


@dataclass(slots=True)
class Result:
    """One replay: what it cost in tokens of plain input, and what the model still saw at the end."""

    cost: float = 0.0
    input: int = 0
    cached: int = 0
    calls: int = 0
    summaries: int = 0
    summary_cost: float = 0.0
    largest: int = 0
    kept: list[bool] = field(default_factory=list)
    recalled: list[bool] = field(default_factory=list)
    bills: list[Usage] = field(default_factory=list)
    requests: list[tuple[float, ModelRequest]] = field(default_factory=list)
    checkpoints: tuple[Checkpoint, ...] = ()

    @property
    def facts(self) -> float:
        """Share of the planted facts that are in the last request."""
        return sum(self.kept) / max(1, len(self.kept))

    @property
    def reachable(self) -> float:
        """Share of those that are there, or in the archive's first ten."""
        both = [a or b for a, b in zip(self.kept, self.recalled, strict=True)]
        return sum(both) / max(1, len(both))

    @property
    def hit(self) -> float:
        """Share of the input that the cache had."""
        return self.cached / max(1, self.input)


class Replay:
    """One session under one policy; None never compacts."""

    def __init__(
        self,
        session: Session,
        policy: Policy | None,
        *,
        gap: float,
        window: int = WINDOW,
        ttl: Ttl | None = None,
        seed: int = 7,
        keep_requests: bool = False,
    ) -> None:
        self.facts = planted.made(seed)
        self.session = planted.plant(session, self.facts)
        self.policy, self.window = policy, window
        self.ttl: Ttl | None = ttl
        self.gap, self.draw = gap, Random(seed)
        self.clock = Clock()
        self.last_call = -math.inf
        self.next: Message | None = None
        self.model = BillingModel(self._answer, self.clock, keep=keep_requests)
        self.rows: list[Row] = []
        self.view = View.of(())
        prefix = Prefix(session.system, session.tools)
        self.fixed = prefix.tokens
        self.frame = Frame(prefix, self.model.info, 4_096)
        self.turn = 0
        self.result = Result()

    async def run(self) -> Result:
        """Replay it all."""
        for turn in self.session.turns:
            self.turn += 1
            self.clock.seconds += self.draw.lognormvariate(math.log(self.gap), SPREAD)
            self._append(RowKind.USER, user(turn.text))
            for step in turn.steps:
                await self._step(step)
                self.clock.seconds += CALL_SECONDS
        return self._finished()

    async def _step(self, step: Step) -> None:
        if self.policy is not None:
            await self._compact(self.policy)
        made = self.request_for(self.view)
        self.next = step.answer
        usage = await self._call(made)
        meta = {
            "usage": [
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens,
            ],
            "estimate": self.fixed + self.view.tokens,
        }
        self.result.calls += 1
        self.result.largest = max(self.result.largest, usage.total_input)
        self._append(RowKind.ASSISTANT, step.answer, self.model.info.name, meta)
        for result in step.results:
            self._append(RowKind.RESULT, Message("user", (result,)), result.call_id)

    async def _compact(self, policy: Policy) -> None:
        ttl = FIVE_MINUTES if self.ttl == "5m" else HOUR
        situation = Situation(
            self.window,
            self.fixed,
            self.model.info.cache,
            ttl,
            self.clock.seconds - self.last_call,
            tokens.calibration(self.rows, self.model.info.name),
        )
        outcome = await compactor.compact(
            self.view, situation, policy, self._summarise, self.request_for
        )
        self.view = outcome.view
        self.result.summaries += outcome.summary_made

    async def _summarise(self, job: Job) -> Made:
        self.next = None
        before = len(self.model.bills)
        made = await summarise(job, self.model)
        self.result.summary_cost += sum(price(u) for u in self.model.bills[before:])
        self.last_call = self.clock.seconds
        return made

    async def _call(self, request: ModelRequest) -> Usage:
        async for _ in self.model.stream(request):
            pass
        self.last_call = self.clock.seconds
        return self.model.bills[-1]

    def _answer(self, request: ModelRequest) -> Message:
        """The transcript's own answer, or a summary where that is what was asked."""
        return (
            self.next if self.next is not None else Message("assistant", (Text(extract(request)),))
        )

    def request_for(self, view: View) -> ModelRequest:
        """As the runtime builds it; where one life of all marks was asked for, with that."""
        made = request(view, self.frame, self.turn)
        ttl = self.ttl
        if ttl is None:
            return made
        marks = tuple(Breakpoint(m.at, ttl) for m in made.breakpoints)
        return replace(made, breakpoints=marks, prefix_ttl=ttl)

    def _append(
        self, kind: RowKind, message: Message, ref: str = "", meta: dict[str, object] | None = None
    ) -> None:
        row = Row(len(self.rows) + 1, self.turn, kind, message, ref, BEGIN, meta or {})
        self.rows.append(row)
        self.view = self.view.extended((row,))

    def _finished(self) -> Result:
        result, bills = self.result, self.model.bills
        result.bills, result.requests = bills, self.model.requests
        result.cost = sum(price(u) for u in bills)
        result.input = sum(u.total_input for u in bills)
        result.cached = sum(u.cache_read_tokens for u in bills)
        result.kept = planted.in_context(self.facts, self.view.messages)
        result.recalled = planted.in_archive(self.facts, [r.message for r in self.rows])
        result.checkpoints = self.view.checkpoints
        return result


def replay(session: Session, policy: Policy | None, *, gap: float, **options: object) -> Result:
    """One replay in a loop of its own."""
    return asyncio.run(Replay(session, policy, gap=gap, **options).run())  # type: ignore[arg-type]


def shortened(session: Session, turns: int) -> Session:
    """Its first turns."""
    return replace(session, turns=session.turns[:turns])
