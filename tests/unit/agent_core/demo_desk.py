"""Drives the demo planner through whole conversations with canned tool results, and checks each request on the way."""

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_core.models.demo import DemoModel
from agent_core.ports import FinishedChunk, ModelRequest, TextChunk, ToolSchema
from agent_core.types import (
    ArtifactRef,
    Context,
    Message,
    Text,
    ToolResult,
    ToolUse,
    user,
)

RESEARCH = (
    "analyze_stock",
    "get_market_history",
    "get_market_overview",
    "search_stock_by_name",
)
ANALYSIS = ("analyze_stock", "chart", "get_market_history", "get_market_overview")
SOLO = (*ANALYSIS, "search_stock_by_name")
DESK = (
    "analyze_stock",
    "chart",
    "get_market_overview",
    "search_stock_by_name",
    "delegate_to_research",
    "delegate_to_analysis",
    "delegate_to_trading",
)
MAX_ROUNDS = 8
CANNED = {"GOOG": "665.41", "AAPL": "411.23", "MSFT": "26.77", "IBM": "186.3"}


def head(symbol: str, args: Mapping[str, Any]) -> str:
    start, end = args.get("start", "2012-03-01"), args.get("end", "2013-03-01")
    return (
        f'"symbol":"{symbol}","name":"{symbol} Inc","name_zh":"{symbol} 公司","source":"bundled",'
        f'"as_of":"{end}","window":{{"start":"{start}","end":"{end}"}},"currency":"USD",'
        f'"credibility":"objective fact"'
    )


def history(args: Mapping[str, Any], change: str = "6.310") -> str:
    symbol = args["symbol"]
    return (
        f'{{{head(symbol, args)},"interval":"week","first_close":{CANNED[symbol]},"last_close":707.38,'
        f'"change_pct":{change},"high":{{"value":774.380,"date":"2012-10-05"}},'
        f'"low":{{"value":556.52,"date":"2012-06-14"}},"average_volume":5203490,'
        f'"previous_close":{{"value":645.9,"date":"2011-12-30"}},"change_from_previous_close_pct":9.52,'
        f'"bars":[{{"date":"2012-01-06","open":652.94,"close":650.02}}]}}'
    )


def analysis(args: Mapping[str, Any]) -> str:
    return (
        f'{{{head(args["symbol"], args)},"last_close":707.38,"change_pct":6.31,'
        f'"trend":{{"direction":"sideways","strength":0.97,"reason":"close 707.38 is above SMA50 686.8"}},'
        f'"indicators":{{"sma20":703.3,"sma50":686.80,"sma200":null,"rsi14":55.22,"macd":6.19,"macd_signal":7.01,'
        f'"macd_histogram":-0.8121,"bollinger_upper":727.33,"bollinger_lower":679.26,"atr14":12.52}},'
        f'"drawdown":{{"max_pct":16.34,"peak_date":"2012-01-04","trough_date":"2012-06-14"}},'
        f'"volatility_pct_annual":23.02,"support":[700.72,669.7],"resistance":[],"phase_note":""}}'
    )


def overview(args: Mapping[str, Any]) -> str:
    items = [
        f'{{"symbol":"{s}","name":"{s} Inc","last_close":{CANNED[s]},"day_change_pct":-2.48,'
        f'"return_1m_pct":-5.10,"return_3m_pct":null,"return_1y_pct":29.53,"as_of":"2013-03-01"}}'
        for s in args.get("symbols") or CANNED
    ]
    return (
        f'{{"source":"bundled","as_of":"2013-03-01","window":{{"start":"2012-03-01","end":"2013-03-01"}},'
        f'"currency":"USD","items":[{",".join(items)}]}}'
    )


def search(args: Mapping[str, Any]) -> str:
    found = []
    if args["query"].lower() in {"apple", "苹果", "macintosh maker", "macintosh"}:
        found = [
            {"symbol": "AAPL", "name": "Apple", "name_zh": "苹果", "market": "US", "has_data": True}
        ]
    return json.dumps({"matches": found, "source": "symbol table"}, ensure_ascii=False)


def chart(args: Mapping[str, Any]) -> str:
    return f'{{{head(args["symbol"], args)},"kind":"price","note":"the chart is shown"}}'


class ToolBrokenError(Exception):
    """A canned tool fails with this line."""


Tool = Callable[[Mapping[str, Any]], str]
TOOLS: dict[str, Tool] = {
    "get_market_history": history,
    "analyze_stock": analysis,
    "get_market_overview": overview,
    "search_stock_by_name": search,
    "chart": chart,
}


@dataclass
class Talk:
    """One conversation. `tools` overrides canned tools; `ends` overrides the result objects of sub-agents."""

    offered: tuple[str, ...] = SOLO
    tools: dict[str, Tool] = field(default_factory=dict)
    ends: dict[str, dict[str, Any]] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    called: list[ToolUse] = field(default_factory=list)
    rounds: list[list[str]] = field(default_factory=list)
    notes: dict[int, str] = field(default_factory=dict)
    returned: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    model: DemoModel | None = None

    async def say(self, text: str, *, context: str = "") -> str:
        """One turn: the person's words in, the answer out."""
        if self.model is None:
            ids = itertools.count(1)
            self.model = DemoModel(chunk_delay=0, new_id=lambda: f"c{next(ids)}")
        self.called, self.rounds = [], []
        self.said.append(text)
        extra = (Context(context),) if context else ()
        self.messages.append(Message("user", (*extra, Text(text))))
        for number in range(MAX_ROUNDS):
            if number in self.notes:
                self.messages.append(user(f"<runtime-note>\n{self.notes[number]}\n</runtime-note>"))
            finished = await self.step()
            self.messages.append(finished.message)
            if finished.stop == "end":
                assert not finished.message.calls
                return finished.message.text
            assert finished.stop == "tool_use"
            self.rounds.append([call.name for call in finished.message.calls])
            results = [await self.run(call) for call in finished.message.calls]
            self.messages.append(Message("user", tuple(results)))
        raise AssertionError(f"no answer after {MAX_ROUNDS} rounds: {self.rounds}")

    async def step(self) -> FinishedChunk:
        check_pairs(self.messages)
        schemas = tuple(ToolSchema(n, "A tool.", {"type": "object"}) for n in self.offered)
        request = ModelRequest("You are the desk.", tuple(self.messages), schemas)
        assert self.model is not None
        chunks = [chunk async for chunk in self.model.stream(request)]
        finished = chunks[-1]
        assert isinstance(finished, FinishedChunk)
        assert all(isinstance(chunk, TextChunk) for chunk in chunks[:-1])
        streamed = "".join(c.text for c in chunks if isinstance(c, TextChunk))
        assert streamed == finished.message.text
        assert finished.usage.usd == 0.0
        return finished

    async def run(self, call: ToolUse) -> ToolResult:
        assert call.name in self.offered, "a tool that was not offered"
        assert call.args is not None
        self.called.append(call)
        if call.name.startswith("delegate_to_"):
            return self.keep(call, await self.delegate(call))
        try:
            content = (self.tools.get(call.name) or TOOLS[call.name])(call.args)
        except ToolBrokenError as broken:
            return self.keep(call, str(broken), is_error=True)
        files = (ArtifactRef("b1", "a.png", "image/png"),) if call.name == "chart" else ()
        return self.keep(call, content, files=files)

    def keep(
        self,
        call: ToolUse,
        content: str,
        is_error: bool = False,
        files: tuple[ArtifactRef, ...] = (),
    ) -> ToolResult:
        self.returned.append(content)
        return ToolResult(call.id, call.name, content, is_error, files)

    async def delegate(self, call: ToolUse) -> str:
        agent = call.name.removeprefix("delegate_to_")
        assert call.args is not None
        assert set(call.args) <= {"task", "context"}
        body: dict[str, Any] = {
            "agent": agent,
            "status": "completed",
            "error": None,
            "policy": {"next_action": "use_result", "fallback_tools": []},
        }
        if agent in self.ends:
            body |= self.ends[agent]
        if "result" not in body:
            child = Talk(offered=RESEARCH if agent == "research" else ANALYSIS, tools=self.tools)
            body["result"] = await child.say(call.args["task"])
            assert "chart" not in [c.name for c in child.called], "the supervisor draws the chart"
            self.returned += child.returned
        return json.dumps(body, ensure_ascii=False)


def check_pairs(messages: list[Message]) -> None:
    """Every call has its result in the message that follows, in call order, and no result stands alone."""
    for position, message in enumerate(messages):
        results = [b.call_id for b in message.blocks if isinstance(b, ToolResult)]
        before = messages[position - 1].calls if position else ()
        assert results == [call.id for call in before]
    ids = [call.id for m in messages for call in m.calls]
    assert len(ids) == len(set(ids))
