"""Traces by OpenTelemetry's conventions for generative AI: a span for each turn, model call, tool and delegation.

From the same events as the figures. Spans hold names, ids, counts and costs, never words: neither prompts nor answers
nor arguments nor error texts, since a collector is one more place from which they could leak. The endpoint, headers and
sampling come from OpenTelemetry's own variables (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER …).

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-agent-spans/
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from agent_core.events import (
    AgentFinished,
    AgentStarted,
    Event,
    ModelStarted,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    Used,
)
from agent_core.runtime.restrict import DELEGATE
from agent_core.types import TurnStatus
from gateway.metrics.observer import Fact, TurnSeen

NAME = "swarmgate"
FINE = {TurnStatus.DONE, TurnStatus.STOPPED, TurnStatus.WAITING}


class Traces:
    """See Observer."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def fact(self, fact: Fact) -> None:
        """See Observer: what happens beside turns has no span."""

    def turn(self, seen: TurnSeen) -> "TracedTurn":
        """See Observer."""
        return TracedTurn(self._tracer, seen)


class TracedTurn:
    """See TurnWatch. Calls of one agent's parallel copies bear one name: each ends the newest that is open."""

    def __init__(self, tracer: Tracer, seen: TurnSeen) -> None:
        self._tracer = tracer
        self._ids = {"gen_ai.conversation.id": seen.session_id}
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": seen.preset or "supervisor",
            "swarmgate.turn.id": seen.turn_id,
            "swarmgate.channel": seen.channel,
            "swarmgate.resumed": seen.waited is None,
        }
        if seen.waited is not None:
            attributes["swarmgate.queue.seconds"] = round(seen.waited, 3)
        name = f"invoke_agent {seen.preset}".strip()
        self._root = tracer.start_span(
            name, Context(), SpanKind.SERVER, {**self._ids, **attributes}
        )
        self._agents: dict[str, list[tuple[str, Span]]] = defaultdict(list)
        self._calls: dict[str | None, list[Span]] = defaultdict(list)
        self._tools: dict[str, Span] = {}

    def event(self, event: Event) -> None:
        """See TurnWatch."""
        match event:
            case ModelStarted():
                self._calls[event.agent].append(self._call(event))
            case Used():
                if spans := self._calls[event.agent]:
                    _finish(spans.pop(), usage_of(event))
            case ToolStarted() if not event.name.startswith(DELEGATE):
                self._tools[event.call_id] = self._tool(event)
            case ToolFinished():
                if span := self._tools.pop(event.call_id, None):
                    _finish(span, {}, "" if event.ok else "tool_error")
            case AgentStarted() | AgentFinished():
                self._delegation(event)
            case TurnEnded():
                self._ended(event)

    def over(self) -> None:
        """See TurnWatch: what is still open was cut off."""
        open_spans = [span for spans in self._calls.values() for span in spans]
        open_spans += self._tools.values()
        open_spans += [span for spans in self._agents.values() for _, span in reversed(spans)]
        for span in open_spans:
            _finish(span, {}, "cut_off")
        self._root.end()

    def _call(self, event: ModelStarted) -> Span:
        provider, _, model = event.model.partition("/")
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model or provider,
            "swarmgate.round": event.round,
        }
        return self._span(f"chat {model or provider}", event.agent, attributes, SpanKind.CLIENT)

    def _tool(self, event: ToolStarted) -> Span:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.name,
            "gen_ai.tool.call.id": event.call_id,
        }
        return self._span(f"execute_tool {event.name}", event.agent, attributes)

    def _delegation(self, event: AgentStarted | AgentFinished) -> None:
        spans = self._agents[event.agent]
        if isinstance(event, AgentStarted):
            attributes = {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": event.agent,
                "gen_ai.tool.call.id": event.call_id,
            }
            made = self._span(f"invoke_agent {event.agent}", None, attributes)
            spans.append((event.call_id, made))
            return
        for entry in [entry for entry in spans if entry[0] == event.call_id]:
            spans.remove(entry)
            said = {"swarmgate.status": event.status, "swarmgate.next_action": event.next_action}
            _finish(entry[1], said, "" if event.status == "completed" else event.status)

    def _ended(self, event: TurnEnded) -> None:
        self._root.set_attribute("swarmgate.status", event.status.value)
        if event.error_id:
            self._root.set_attribute("swarmgate.error.id", event.error_id)
        if event.status not in FINE:
            self._root.set_attribute("error.type", event.status.value)
            self._root.set_status(Status(StatusCode.ERROR))

    def _span(
        self,
        name: str,
        agent: str | None,
        attributes: Mapping[str, Any],
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        """A span below the newest delegation to this agent, or below the turn."""
        above = self._agents[agent][-1][1] if agent and self._agents[agent] else self._root
        within = trace.set_span_in_context(above, Context())
        return self._tracer.start_span(name, within, kind, {**self._ids, **attributes})


def usage_of(event: Used) -> dict[str, Any]:
    """What a call used. `input_tokens` counts cached ones too, as the conventions have it."""
    usage = event.usage
    found: dict[str, Any] = {
        "gen_ai.response.model": event.model.partition("/")[2] or event.model,
        "gen_ai.usage.input_tokens": usage.total_input,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
    }
    return found if usage.usd is None else found | {"swarmgate.usage.usd": usage.usd}


def _finish(span: Span, attributes: Mapping[str, Any], error: str = "") -> None:
    span.set_attributes(dict(attributes))
    if error:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))
    span.end()


def traces_to(processor: SpanProcessor) -> tuple[Traces, Callable[[], None]]:
    """Traces that go to a processor, and what closes them."""
    resource = Resource.create({} if _named() else {"service.name": NAME})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(processor)
    return Traces(provider.get_tracer(NAME)), provider.shutdown


def exporting() -> tuple[Traces, Callable[[], None]]:
    """Traces by OTLP over HTTP, in batches, from a thread of the SDK's."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporter: SpanExporter = OTLPSpanExporter()
    return traces_to(BatchSpanProcessor(exporter))


def _named() -> bool:
    import os

    return "OTEL_SERVICE_NAME" in os.environ or "service.name" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
