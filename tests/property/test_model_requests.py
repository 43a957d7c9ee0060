"""Whatever a transcript holds, each provider's request is one that the provider takes (TPR-4, ASM-15, STM-3)."""

import json
from typing import Any

from google.genai.types import Content, GenerateContentConfig
from hypothesis import given
from hypothesis import strategies as st

from agent_core.compaction.view import View
from agent_core.models import anthropic_wire, gemini_wire, openai_wire
from agent_core.ports import Breakpoint, ModelRequest
from agent_core.types import Row
from tests.property.transcripts import TRANSCRIPTS, checkpoints
from tests.twins import anthropic_rules, gemini_rules, openai
from tests.unit.agent_core.model_requests import CLAUDE, GEMINI, QUOTE, QWEN


@st.composite
def requests(draw: st.DrawFn) -> ModelRequest:
    """A request over a view of random rows and decisions, with marks anywhere."""
    rows: tuple[Row, ...] = draw(TRANSCRIPTS)
    view = View.of(rows, draw(checkpoints(rows)))
    places = st.integers(0, len(view.messages) + 1)
    marks = draw(st.lists(st.tuples(places, st.sampled_from(["5m", "1h"])), max_size=5))
    return ModelRequest(
        draw(st.sampled_from(["", "be brief \ud83d"])),
        tuple(view.messages),
        (QUOTE,) if draw(st.booleans()) else (),
        breakpoints=tuple(Breakpoint(at, ttl) for at, ttl in sorted(marks)),  # type: ignore[arg-type]
        effort=draw(st.sampled_from([None, "low", "high"])),
        images={"p1": b"png"} if draw(st.booleans()) else None,
    )


def as_sent(body: Any) -> Any:
    """The body as JSON in UTF-8, as it goes over the wire: a lone surrogate would fail here."""
    return json.loads(json.dumps(body, ensure_ascii=False).encode())


def talks(request: ModelRequest) -> bool:
    """Whether anything is left to send: a view without a word is not sent at all."""
    return bool(openai_wire.messages(request, QWEN, openai_wire.Manner())[bool(request.system) :])


@given(requests())
def test_anthropic_takes_it(request: ModelRequest) -> None:
    form = anthropic_wire.Form()
    body = as_sent(anthropic_wire.body(request, CLAUDE, form))
    assert body == as_sent(anthropic_wire.body(request, CLAUDE, form))
    if talks(request):  # the strategies' reasoning has a proof that no provider made
        found = anthropic_rules.problems(body)
        assert [p for p in found if "Invalid `signature`" not in p] == []


@given(requests())
def test_openai_takes_it(request: ModelRequest) -> None:
    body = as_sent(openai_wire.body(request, QWEN, openai_wire.Manner()))
    if talks(request):
        assert list(openai.problems(body)) == []


@given(requests())
def test_gemini_takes_it(request: ModelRequest) -> None:
    made = gemini_wire.contents(request, GEMINI)
    rows = [
        Content.model_validate(row).model_dump(by_alias=True, exclude_none=True, mode="json")
        for row in made
    ]
    settings = GenerateContentConfig.model_validate(
        gemini_wire.config(request, GEMINI, gemini_wire.Form())
    )
    body = as_sent({"contents": rows})
    assert settings.max_output_tokens
    if talks(request):
        assert gemini_rules.problems(body, GEMINI.name, set()) == []
