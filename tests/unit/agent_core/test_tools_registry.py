"""What a tool is, and which may be registered (TGV-1)."""

import dataclasses
import logging

import pytest
from pydantic import BaseModel

from agent_core.tools.registry import ALIASES, Registry, foreign_tools
from agent_core.tools.spec import ToolContext, ToolOutput, tool
from gateway.toolbox import toolbox
from tests.harness import Toolbox


class Quote(BaseModel):
    """A price."""

    symbol: str
    close: float


@tool(title={"en": "Quote", "zh": "报价"}, output=Quote, deterministic=True, timeout=5)
async def quote(ctx: ToolContext, symbol: str) -> ToolOutput:
    """The price of a symbol.

    Args:
        symbol: Which one.
    """
    del ctx
    return ToolOutput(symbol)


def test_a_tool_has_one_spec_with_everything_that_governs_it() -> None:
    """TGV-1, MCP-2."""
    told = [
        *("name", "description", "parameters", "title", "concurrency_safe", "requires_approval"),
        *("background", "deterministic", "timeout", "credibility", "output_schema", "effect"),
    ]
    assert [name for name in told if not hasattr(quote, name)] == []
    assert quote.read_only
    assert quote.output_schema == {
        "type": "object",
        "description": "A price.",
        "properties": {"symbol": {"type": "string"}, "close": {"type": "number"}},
        "required": ["symbol", "close"],
    }
    assert quote.display("zh") == "报价"
    assert quote.display("fr") == "Quote"


def test_what_changes_something_is_not_read_only() -> None:
    """TGV-1: one property follows from the other, so they cannot disagree."""
    tools = Toolbox().registry()
    found = {spec.name: spec.read_only for spec in tools}
    assert found["echo"]
    assert not found["order"]
    assert not found["pay"]
    assert not found["ask_user"]


def test_every_tool_of_the_installation_may_run_twice_unless_it_changes_something() -> None:
    """TGV-10: only what reads is run again after a crash."""
    for spec in toolbox():
        assert spec.read_only or not spec.concurrency_safe
        assert set(spec.title) == {"en", "zh"}


@pytest.mark.parametrize(
    "name", ["", "a b", "查询", "x" * 65, "1st", "delegate_to_x", *ALIASES, "quote"]
)
def test_a_name_that_is_taken_or_that_a_provider_refuses_is_none(name: str) -> None:
    with pytest.raises(ValueError, match="tool"):
        Registry([quote, dataclasses.replace(quote, name=name)])


def test_an_alias_finds_its_tool() -> None:
    """C-33."""
    skill = dataclasses.replace(quote, name="load_skill")
    assert Registry([skill]).get("execute_skill") is skill
    assert Registry([skill]).names == {"load_skill"}


class Entry:
    """An entry point of another package."""

    value = "other:thing"

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def load(self) -> object:
        if isinstance(self.thing, Exception):
            raise self.thing
        return self.thing


def test_a_foreign_tool_that_is_broken_is_left_out_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found = [Entry(quote), Entry(ImportError("no")), Entry(object())]
    monkeypatch.setattr("agent_core.tools.registry.entry_points", lambda group: found)
    with caplog.at_level(logging.ERROR):
        assert foreign_tools() == [quote]
    assert [record.message for record in caplog.records] == ["tool_not_loaded"] * 2
