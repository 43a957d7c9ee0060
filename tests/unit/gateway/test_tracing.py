"""Traces of whole turns as an exporter gets them: names, parents and usage by OpenTelemetry's conventions, no words."""

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from agent_core.errors import ModelOverloaded
from agent_core.models.scripted import Answer
from agent_core.types import Usage
from gateway.metrics.sight import sight_of
from gateway.metrics.tracing import traces_to
from gateway.storage.db import Database
from tests.harness import agent, call, delegate, team
from tests.house import House, on_sqlite

SECRET = "sk-proj-" + "A1b2" * 8


async def traced(db: Database, script: object, *words: str, **more: object) -> list[ReadableSpan]:
    """The spans that these messages lead to, in order of their begin."""
    exporter = InMemorySpanExporter()
    traces, close = traces_to(SimpleSpanProcessor(exporter))
    async with House(db, script, observers=[traces], **more) as house:  # type: ignore[arg-type]
        for text in words or ("hello",):
            await house.ask(text)
    close()
    return sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)


def tree(spans: list[ReadableSpan]) -> list[tuple[str, str]]:
    """(name, name of the parent) of each span."""
    names = {span.context.span_id: span.name for span in spans if span.context}
    return [(s.name, names[s.parent.span_id] if s.parent else "") for s in spans]


@on_sqlite
async def test_a_turn_its_calls_its_tools_and_its_delegations_are_one_tree(db: Database) -> None:
    script = [
        Answer("looking", calls=(call("echo"), delegate("scout")), usage=Usage(10, 5, 90, 0, 0.01)),
        Answer(calls=(call("echo", "c9"),)),
        "found it",
        "here it is",
    ]
    scout = agent("scout", tools=("echo",))
    the_team = team(agent(tools=("echo",)), scout)
    spans = await traced(db, script, the_team=the_team)
    assert sorted(tree(spans)) == [
        ("chat test", "invoke_agent scout"),
        ("chat test", "invoke_agent scout"),
        ("chat test", "invoke_agent test"),
        ("chat test", "invoke_agent test"),
        ("execute_tool echo", "invoke_agent scout"),
        ("execute_tool echo", "invoke_agent test"),
        ("invoke_agent scout", "invoke_agent test"),
        ("invoke_agent test", ""),
    ]
    root, first = spans[0], spans[1]
    assert root.attributes is not None
    assert root.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert root.attributes["swarmgate.status"] == "done"
    assert root.attributes["gen_ai.conversation.id"]
    assert first.attributes is not None
    assert first.attributes["gen_ai.provider.name"] == "scripted"
    assert first.attributes["gen_ai.request.model"] == "test"
    assert first.attributes["gen_ai.usage.input_tokens"] == 100
    assert first.attributes["gen_ai.usage.cache_read.input_tokens"] == 90
    assert first.attributes["swarmgate.usage.usd"] == 0.01
    assert len({span.context.trace_id for span in spans if span.context}) == 1


@on_sqlite
async def test_each_turn_is_a_trace_of_its_own(db: Database) -> None:
    spans = await traced(db, ["one", "two"], "hello", "again")
    roots = [span for span in spans if span.parent is None]
    assert len(roots) == 2
    assert len({span.context.trace_id for span in roots if span.context}) == 2


@on_sqlite
async def test_what_fails_is_marked_and_every_span_ends(db: Database) -> None:
    script = [Answer(error=ModelOverloaded("scripted/test", SECRET))]
    root, chat = await traced(db, script)
    assert root.status.status_code is StatusCode.ERROR
    assert root.attributes is not None
    assert root.attributes["swarmgate.error.id"]
    assert chat.status.status_code is StatusCode.ERROR


@on_sqlite
async def test_no_words_are_in_spans(db: Database) -> None:
    """SCR-4: a collector is a sink, too."""
    script = [
        Answer(f"I use {SECRET}", thinking=SECRET, calls=(call("echo", words=SECRET),)),
        f"the secret {SECRET}",
    ]
    spans = await traced(db, script, f"my secret word is persimmon {SECRET}")
    said = "".join(span.to_json() for span in spans)
    assert SECRET not in said
    assert "persimmon" not in said
    assert "hello" not in said


def test_traces_are_off_without_an_endpoint() -> None:
    assert len(sight_of({}).observers._observers) == 1
    disabled = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"}
    assert len(sight_of(disabled).observers._observers) == 1


def test_an_endpoint_switches_traces_on() -> None:
    sight = sight_of({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})
    try:
        assert len(sight.observers._observers) == 2
    finally:
        sight.close()
