"""The whole way at a desk as a script for a model twin: research, backtest, plan, order, portfolio, in two tongues."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from tests.twins.llm_script import Attempts, Turn, call, say

Language = Literal["en", "zh"]
PRESET = """
version: 1
name: desk
title: Desk
description: A lead that researches, tests, plans and orders on paper, with one researcher.
supervisor:
  role: Head of the desk
  prompt: You lead.
  tools:
    - analyze_stock
    - chart
    - run_backtest
    - check_background_tasks
    - position_size
    - place_order
    - cancel_order
    - portfolio
    - update_portfolio
    - ask_user
    - web_fetch
    - read_file
    - write_file
  limits: {time: 5m, tool_timeout: 60s, tool_rounds: 10}
agents:
  research:
    role: Market researcher
    title: {zh: 市场研究员}
    description: Collects prices.
    prompt: You collect prices.
    tools: [analyze_stock, get_market_history, chart]
    limits: {time: 2m, tool_timeout: 60s, tool_rounds: 5}
"""
YEAR = {"symbol": "GOOG", "start": "2012", "end": "2012"}
CROSS: dict[str, Any] = {
    "symbols": ["GOOG"],
    "strategy": "sma_cross",
    "params": {"fast": 50, "slow": 200},
    "start": "2005",
    "end": "2012",
}
SIZE = {"symbol": "GOOG", "account": 100_000, "risk_pct": 1, "stop": 760}
ORDER = {"symbol": "GOOG", "side": "buy", "quantity": 2}


@dataclass(frozen=True, slots=True)
class Step:
    """What a person says, and what they read in the end; `later` comes by itself, once a task has ended."""

    asks: str
    answer: str
    later: str = ""


@dataclass(frozen=True, slots=True)
class Walk:
    """The steps in one language, and what its buttons and questions say."""

    research: Step
    backtest: Step
    order: Step
    portfolio: Step
    approve: str
    preview: str
    decided: str


WALKS: dict[Language, Walk] = {
    "en": Walk(
        Step(
            "How did GOOG do in 2012?",
            "GOOG rose in 2012; the chart shows the year. Source: bundled prices.",
        ),
        Step(
            "Backtest a 50/200 day average cross on GOOG from 2005 to 2012",
            "The backtest runs; I tell you when it has ended.",
            "The backtest has ended: the rule traded rarely. Past results say nothing about the future.",
        ),
        Step(
            "Plan a small purchase of GOOG and place it",
            "**Plan carried out**: 2 GOOG bought on paper.",
        ),
        Step("Show me my portfolio", "You hold 2 GOOG in play money."),
        "Approve",
        "Buy 2 GOOG",
        "Approved by",
    ),
    "zh": Walk(
        Step("谷歌2012年表现怎么样？", "谷歌2012年上涨，走势见图。来源：内置行情。"),
        Step(
            "回测谷歌 2005 到 2012 年的 50/200 日均线策略",
            "回测已开始，完成后我会告诉您。",
            "回测已完成：该策略很少交易。过往业绩不代表未来表现。",
        ),
        Step("为谷歌做一个小额买入计划并下单", "**计划已执行**：模拟买入 2 股 GOOG。"),
        Step("看看我的组合", "您持有 2 股 GOOG（模拟资金）。"),
        "批准",
        "买入 GOOG 2",
        "已由",
    ),
}


def script(walk: Walk, who: str = "") -> dict[str, list[Attempts]]:
    """What the model says to each of the person's sentences (see ScriptBook.reply_to), which end with `who`."""
    unused = "never said"  # in its place stands the message that brings the task's result
    turns: dict[Step, list[Attempts]] = {
        walk.research: [
            Turn([say("…"), call("delegate_to_research", {"task": f"R: {who}"})]),
            walk.research.answer,
        ],
        walk.backtest: [
            Turn([call("run_backtest", CROSS)]),
            walk.backtest.answer,
            unused,
            walk.backtest.later,
        ],
        walk.order: [
            Turn([call("position_size", SIZE)]),
            Turn([call("place_order", ORDER)], delay=2.5),  # so long that progress is shown before
            walk.order.answer,
        ],
        walk.portfolio: [Turn([call("portfolio", {})]), walk.portfolio.answer],
    }
    looked = Turn([call("analyze_stock", YEAR), call("chart", YEAR)])
    said = {f"^{re.escape(step.asks + who)}$": found for step, found in turns.items()}
    return said | {f"^R: {who}$": [looked, walk.research.answer]}


WARM: dict[str, list[Attempts]] = {
    "^warm up": [
        Turn([call("run_backtest", CROSS | {"symbols": ["AAPL"], "start": "2010"})]),
        "It runs.",
        "never said",
        "It is warm.",
    ]
}
