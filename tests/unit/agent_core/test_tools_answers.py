"""What tools answer with is what their specs say (TGV-1, MCP-2): another program can rely on the shape of an answer."""

import json
from typing import Any

import jsonschema
import pytest

from agent_core.finance.calendars import SimpleCalendars
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.tools.calendar import calendar_tools
from agent_core.tools.chart import chart_tools
from agent_core.tools.market import market_tools
from agent_core.tools.spec import ToolSpec
from gateway.mcp.tiers import TIERS
from gateway.toolbox import toolbox
from tests.unit.agent_core.made_prices import run
from tests.unit.agent_core.test_tools_figures import CALLS, tools

BUNDLED = Sources([BundledSource()])
TOOLS = [
    *tools(BUNDLED),
    *market_tools(BUNDLED),
    *chart_tools(BUNDLED),
    *calendar_tools(SimpleCalendars()),
]
MORE: list[tuple[str, dict[str, Any]]] = [
    ("search_stock_by_name", {"query": "google"}),
    ("get_market_history", {"symbol": "GOOG", "start": "2012"}),
    ("get_market_history", {"symbol": "GOOG", "start": "2004-08", "end": "2004-08"}),
    ("get_market_history", {"symbol": "GOOG", "start": "2012", "currency": "EUR"}),
    ("get_market_overview", {}),
    ("chart", {"symbol": "IBM", "start": "2012"}),
    ("chart", {"symbol": "IBM", "compare": ["MSFT"]}),
    ("market_calendar", {"market": "US", "date": "2012-12-25"}),
    ("risk_metrics", {"symbol": "IBM", "start": "2013-02"}),
    ("analyze_stock", {"symbol": "GOOG", "start": "2004-08", "end": "2004-08"}),
    ("wyckoff_diagnose", {"symbol": "GOOG", "end": "2004-09"}),
    ("market_regime", {"symbols": ["GOOG"], "end": "2004-09"}),
    ("correlation", {"symbols": ["GOOG", "IBM"], "start": "2013-02"}),
    ("position_size", {"account": 1000, "entry": 10, "stop": 9}),
]


@pytest.mark.parametrize(("name", "args"), CALLS + MORE)
async def test_an_answer_has_the_shape_that_its_spec_states(
    name: str, args: dict[str, Any]
) -> None:
    """Short windows too, where much cannot be told."""
    found = json.loads((await run(TOOLS, name, **args)).content)
    [spec] = [one for one in TOOLS if one.name == name]
    assert spec.output_schema is not None
    jsonschema.validate(found, spec.output_schema)
    head = {"source", "as_of", "window", "currency", "credibility"}
    assert head <= set(found) & set(spec.output_schema["required"])  # type: ignore[call-overload]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found | {"source": None}, spec.output_schema)


IN_WORDS = {"ask_user", "compact", "load_context", "load_skill", "remember", "restore_archive"}


def test_every_tool_says_what_it_answers_with() -> None:
    """TGV-1, MCP-2. What speaks in words is what only a model reads, and query_history, which states fields beside."""
    ours = {spec.name: spec for spec in toolbox()}
    for spec in ours.values():
        assert spec.output_schema is not None, spec.name
        assert spec.output_schema["type"] == "object"
        jsonschema.Draft202012Validator.check_schema(spec.output_schema)
    plain = {name for name, spec in ours.items() if _plain(spec)}
    assert plain == IN_WORDS
    assert {name for name, spec in ours.items() if spec.in_words} == IN_WORDS | {"query_history"}
    offered = frozenset().union(*TIERS.values())
    assert not offered & IN_WORDS, "another program gets fields"


def _plain(spec: ToolSpec) -> bool:
    return set((spec.output_schema or {}).get("properties", {})) == {"text"}  # type: ignore[call-overload]
