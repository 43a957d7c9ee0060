"""Counts what happens, in memory and since the start of the process; families.py says what each figure means."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from agent_core.events import (
    AgentFinished,
    Compacted,
    ContextOverflow,
    Event,
    ModelStarted,
    Retrying,
    Steered,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    TurnEnded,
    Used,
)
from agent_core.runtime.restrict import DELEGATE
from agent_core.types import Usage
from gateway.metrics import families as f
from gateway.metrics.counts import Histograms, Sums
from gateway.metrics.families import Family
from gateway.metrics.observer import Accepted, Decided, Delivered, Fact, PaidBeside, TurnSeen


class Meter:
    """See Observer. `clock` gives seconds, monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.stages = Histograms(f.BOUNDS)
        self._sums: dict[Family, Sums] = defaultdict(Sums)

    def sums(self) -> Iterator[tuple[Family, Sums]]:
        """Every counter that has counted something."""
        yield from self._sums.items()

    def add(self, family: Family, *labels: str, by: float = 1.0) -> None:
        """Add to a counter."""
        self._sums[family].add(*labels, by=by)

    def fact(self, fact: Fact) -> None:
        """See Observer."""
        match fact:
            case Accepted(channel, outcome, seconds):
                self.add(f.MESSAGES, channel, outcome)
                self.stages.observe(seconds, "accept")
            case Delivered(channel, outcome, seconds):
                self.add(f.DELIVERIES, channel, outcome)
                if outcome == "sent":
                    self.stages.observe(seconds, "deliver")
            case Decided(kind, verdict):
                self.add(f.DECISIONS, kind, verdict)
            case PaidBeside(model, usage):
                self.paid(model, usage)

    def turn(self, seen: TurnSeen) -> "MeteredTurn":
        """See Observer."""
        if seen.waited is not None:
            self.stages.observe(max(0.0, seen.waited), "queue")
        return MeteredTurn(self, seen.channel)

    def paid(self, model: str, usage: Usage) -> None:
        """Count what one call used."""
        kinds = (
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cache_read", usage.cache_read_tokens),
            ("cache_write", usage.cache_write_tokens),
        )
        for kind, tokens in kinds:
            if tokens:
                self.add(f.TOKENS, model, kind, by=tokens)
        if usage.usd is None:
            self.add(f.UNPRICED, model)
            return
        self.add(f.USD, model, by=usage.usd)
        if usage.usd_uncached is not None and usage.usd_uncached > usage.usd:
            self.add(f.CACHE_SAVED, model, by=usage.usd_uncached - usage.usd)

    def cache_shares(self) -> dict[str, float]:
        """For each model, the share of its input that came from the cache."""
        read: dict[str, float] = defaultdict(float)
        whole: dict[str, float] = defaultdict(float)
        for (model, kind), tokens in self._sums[f.TOKENS].values.items():
            if kind != "output":
                whole[model] += tokens
            if kind == "cache_read":
                read[model] += tokens
        return {model: read[model] / tokens for model, tokens in whole.items()}


class MeteredTurn:
    """See TurnWatch. Calls of one agent's parallel copies bear one name: their times are right in sum."""

    def __init__(self, meter: Meter, channel: str) -> None:
        self._meter = meter
        self._channel = channel
        self._began = meter.clock()
        self._calls: dict[str | None, list[tuple[str, float]]] = defaultdict(list)
        self._silent: set[str | None] = set()  # agents whose model has said nothing yet
        self._takes: dict[type, Callable[[Any], None]] = {
            ModelStarted: self._started,
            TextDelta: self._said,
            ThinkingDelta: self._said,
            Used: self._used,
            Retrying: self._retried,
            ToolFinished: self._tool,
            AgentFinished: self._delegated,
            Compacted: self._compacted,
            ContextOverflow: self._overflowed,
            Steered: self._steered,
            TurnEnded: self._ended,
        }

    def event(self, event: Event) -> None:
        """See TurnWatch."""
        take = self._takes.get(type(event))
        if take is not None:
            take(event)

    def over(self) -> None:
        """See TurnWatch. A call without an answer has failed, or was cut off."""
        for calls in self._calls.values():
            for model, _ in calls:
                self._meter.add(f.MODEL_CALLS, model, "failed")
        self._calls.clear()
        self._takes.clear()  # nothing holds on to a run that is over

    def _started(self, event: ModelStarted) -> None:
        self._calls[event.agent].append((event.model, self._meter.clock()))
        self._silent.add(event.agent)

    def _said(self, event: TextDelta | ThinkingDelta) -> None:
        if event.agent in self._silent:
            self._silent.discard(event.agent)
            if calls := self._calls[event.agent]:
                self._meter.stages.observe(self._meter.clock() - calls[-1][1], "first_token")

    def _used(self, event: Used) -> None:
        self._silent.discard(event.agent)
        self._meter.add(f.MODEL_CALLS, event.model, "ok")
        self._meter.paid(event.model, event.usage)
        if calls := self._calls[event.agent]:
            self._meter.stages.observe(self._meter.clock() - calls.pop()[1], "model")

    def _retried(self, event: Retrying) -> None:
        self._meter.add(f.MODEL_RETRIES, event.model)

    def _tool(self, event: ToolFinished) -> None:
        if event.name.startswith(DELEGATE):
            return  # counted as a delegation
        self._meter.add(f.TOOL_CALLS, event.name, "ok" if event.ok else "error")
        self._meter.stages.observe(event.seconds, "tool")

    def _delegated(self, event: AgentFinished) -> None:
        self._meter.add(f.DELEGATIONS, event.status)
        self._meter.stages.observe(event.seconds, "delegation")

    def _compacted(self, event: Compacted) -> None:
        kind = "summary" if event.summary else "cleared"
        self._meter.add(f.COMPACTIONS, kind, "failed" if event.problem else "ok")
        if event.usage is not None:
            self._meter.paid(event.model, event.usage)

    def _overflowed(self, event: ContextOverflow) -> None:
        self._meter.add(f.OVERFLOWS)

    def _steered(self, event: Steered) -> None:
        self._meter.add(f.STEERED)

    def _ended(self, event: TurnEnded) -> None:
        self._meter.add(f.TURNS, event.status.value, self._channel)
        self._meter.stages.observe(self._meter.clock() - self._began, "turn")
