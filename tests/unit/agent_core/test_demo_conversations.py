import pytest

from tests.unit.agent_core.demo_desk import DESK, RESEARCH, SOLO, Talk, ToolBrokenError, history

GOOG_2012 = "How did GOOG do in 2012, and what does its trend look like?"
YEAR = {"start": "2012-01-01", "end": "2012-12-31"}


def failed(status: str, action: str, error: str = "", **more: object) -> dict[str, object]:
    return {
        "status": status,
        "result": "",
        "error": error or None,
        "policy": {"next_action": action, "fallback_tools": [], **more},
    }


async def test_supervisor_delegates_side_by_side_then_charts_then_answers() -> None:
    talk = Talk(DESK)
    answer = await talk.say(GOOG_2012)
    assert talk.rounds == [["delegate_to_research", "delegate_to_analysis"], ["chart"]]
    assert talk.called[-1].args == {"symbol": "GOOG", **YEAR}
    assert "rose: **6.310 %**" in answer
    assert "trend sideways" in answer
    assert answer.count("demo planner") == 1
    assert answer.count("not investment advice") == 1
    assert "source bundled · window 2012-01-01 … 2012-12-31 · as of 2012-12-31" in answer


async def test_supervisor_writes_tasks_in_the_persons_language() -> None:
    talk = Talk(DESK)
    answer = await talk.say("分析一下 AAPL 的走势")
    tasks = [call.args["task"] for call in talk.called if call.args and "task" in call.args]
    assert tasks == [
        "查询 AAPL 的历史行情。只要数字，不要图表。",
        "说明 AAPL 的趋势、支撑、压力与风险。只要数字，不要图表。",
    ]
    assert "趋势横盘" in answer
    assert "演示 demo · 来源 bundled" in answer
    assert "不构成投资建议" in answer


async def test_history_alone_goes_to_research_alone() -> None:
    talk = Talk(DESK)
    await talk.say("2012年谷歌表现怎么样")
    assert talk.rounds == [["delegate_to_research"], ["chart"]]


async def test_comparison_is_one_task_and_a_table() -> None:
    talk = Talk(DESK)
    answer = await talk.say("compare AAPL and MSFT in 2010")
    assert talk.rounds == [["delegate_to_research"], ["chart", "chart"]]
    assert "| AAPL | 411.23 | 707.38 |" in answer
    assert "did best" in answer


async def test_solo_calls_everything_in_one_batch() -> None:
    talk = Talk(SOLO)
    answer = await talk.say(GOOG_2012)
    assert talk.rounds == [["get_market_history", "analyze_stock", "chart"]]
    assert all(call.args == {"symbol": "GOOG", **YEAR} for call in talk.called)
    assert "Highest: 774.380 (2012-10-05)" in answer
    assert "Chart: GOOG, 2012-01-01 … 2012-12-31." in answer


async def test_sub_agent_calls_the_tool_of_its_task_and_reports() -> None:
    talk = Talk(RESEARCH)
    answer = await talk.say("Price history of GOOG from 2012-01-01 to 2012-12-31. Numbers only.")
    assert talk.rounds == [["get_market_history"]]
    assert "demo planner" in answer


async def test_sub_agent_reads_its_task_and_not_the_context_below_it() -> None:
    talk = Talk(RESEARCH)
    await talk.say(
        "How did it do in 2012? No chart.\n\nContext:\nThe person asked about MSFT's trend."
    )
    assert [(c.name, c.args) for c in talk.called] == [
        ("get_market_history", {"symbol": "MSFT", **YEAR})
    ]


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("Microsoft last year", {"symbol": "MSFT", **YEAR}),
        (
            "微软最近三个月的表现",
            {"symbol": "MSFT", "start": "2012-12-01", "end": "2013-03-01"},
        ),
    ],
)
@pytest.mark.parametrize("offered", [SOLO, DESK])
async def test_relative_period_counts_back_from_the_last_day_of_the_data(
    text: str, args: dict[str, str], offered: tuple[str, ...]
) -> None:
    talk = Talk(offered)
    answer = await talk.say(text, context="now: 2026-11-30 09:00 UTC")
    assert talk.rounds[0] == ["get_market_overview"]
    assert talk.called[-1].args == args
    assert "2013-03-01" in answer


async def test_relative_period_counts_back_from_today_without_an_overview() -> None:
    talk = Talk(("get_market_history",))
    await talk.say("Microsoft last year", context="now: 2013-01-15 09:00 UTC")
    assert talk.called[0].args == {"symbol": "MSFT", **YEAR}


async def test_relative_period_is_left_to_the_tool_when_no_day_is_known() -> None:
    def broken(_: object) -> str:
        raise ToolBrokenError("the source is down; try again later")

    talk = Talk(SOLO, tools={"get_market_overview": broken})
    await talk.say("Microsoft last year")
    assert talk.rounds[1] == ["get_market_history", "analyze_stock", "chart"]
    assert all(call.args == {"symbol": "MSFT"} for call in talk.called[1:])


async def test_follow_ups_keep_the_symbol() -> None:
    talk = Talk(SOLO)
    await talk.say("How did GOOG do in 2012?")
    await talk.say("and in 2011?")
    assert talk.called[0].args == {"symbol": "GOOG", "start": "2011-01-01", "end": "2011-12-31"}
    await talk.say("那苹果呢？")
    assert talk.called[0].args == {"symbol": "AAPL", "start": "2011-01-01", "end": "2011-12-31"}


async def test_overview_names_every_symbol() -> None:
    talk = Talk(DESK)
    answer = await talk.say("市场概览")
    assert talk.rounds == [["get_market_overview"]]
    assert "| GOOG | 665.41 | -2.48 % | -5.10 % | – | 29.53 % |" in answer


async def test_chart_alone() -> None:
    talk = Talk(DESK)
    answer = await talk.say("show me a chart of IBM in 2012")
    assert talk.rounds == [["chart"]]
    assert "Chart: IBM, 2012-01-01 … 2012-12-31." in answer


async def test_no_chart_where_none_is_wanted() -> None:
    talk = Talk(SOLO)
    await talk.say("How did GOOG do in 2012? No chart.")
    assert talk.rounds == [["get_market_history"]]


async def test_search_by_name() -> None:
    talk = Talk(SOLO)
    answer = await talk.say("what is the ticker of Apple?")
    assert talk.rounds == [["search_stock_by_name"]]
    assert "**AAPL**: Apple / 苹果 (US, prices available)" in answer


async def test_unknown_name_is_searched_and_followed_when_it_is_clear() -> None:
    talk = Talk(SOLO)
    await talk.say("How did Macintosh do in 2012?")
    assert talk.rounds == [["search_stock_by_name"], ["get_market_history", "chart"]]
    assert talk.called[1].args == {"symbol": "AAPL", **YEAR}


async def test_unknown_name_is_admitted() -> None:
    talk = Talk(SOLO)
    answer = await talk.say("How did Nokia do in 2012?")
    assert talk.rounds == [["search_stock_by_name"]]
    assert "no share with prices under the name “Nokia”" in answer


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello", "demo planner"),
        ("你能做什么", "演示规划器"),
        ("what is the weather?", "beyond the **demo planner**"),
        ("讲个笑话", "超出了**演示规划器"),
        ("show me a chart", "Which share do you mean?"),
        ("thanks", "You are welcome."),
    ],
)
@pytest.mark.parametrize("offered", [SOLO, DESK, ()])
async def test_talk_needs_no_tools(text: str, words: str, offered: tuple[str, ...]) -> None:
    talk = Talk(offered)
    answer = await talk.say(text)
    assert not talk.rounds
    assert words in answer
    assert "demo" in answer


async def test_without_tools_it_says_so() -> None:
    assert "No tool" in await Talk(()).say("How did GOOG do in 2012?")


async def test_advice_is_declined_and_facts_are_given() -> None:
    talk = Talk(SOLO)
    answer = await talk.say("should I buy IBM?")
    assert "no advice to buy or sell" in answer
    assert "trend sideways" in answer


async def test_timed_out_sub_agent_is_replaced_by_its_fallback_tools_only() -> None:
    end = failed(
        "timeout",
        "fallback_to_direct_tools",
        "limits.time 240s reached",
        fallback_tools=["get_market_overview"],
    )
    talk = Talk(DESK, ends={"research": end})
    answer = await talk.say(GOOG_2012)
    assert talk.rounds[1:] == [["get_market_overview"]], "no chart: it is no fallback tool"
    assert talk.called[-1].args == {"symbols": ["GOOG"]}
    assert "research timed out (limits.time 240s reached); direct tools were used" in answer
    assert "trend sideways" in answer


async def test_failed_analysis_falls_back_to_analyze_stock() -> None:
    tools = ["analyze_stock", "chart", "get_market_overview"]
    end = failed("error", "fallback_to_direct_tools", "round_limit", fallback_tools=tools)
    talk = Talk(DESK, ends={"analysis": end})
    answer = await talk.say("GOOG 2012年的走势")
    assert talk.rounds == [["delegate_to_analysis"], ["analyze_stock", "chart"]]
    assert "analysis 失败（round_limit），改用直接工具。" in answer
    assert "趋势横盘" in answer


async def test_stop_and_report_calls_nothing_more() -> None:
    end = failed("cancelled", "stop_and_report", "stopped by the person")
    talk = Talk(DESK, ends={"research": end})
    answer = await talk.say("How did GOOG do in 2012?")
    assert talk.rounds == [["delegate_to_research"]]
    assert "research was stopped (stopped by the person); I stop here." in answer


async def test_partial_result_is_used_and_called_partial() -> None:
    end = failed("over_budget", "use_partial", "limits.usd reached")
    talk = Talk(DESK, ends={"research": {**end, "result": "GOOG closed at 707.38."}})
    answer = await talk.say("How did GOOG do in 2012?")
    assert "research ran out of budget (limits.usd reached)" in answer
    assert "the rest is missing" in answer
    assert "GOOG closed at 707.38." in answer


async def test_policy_can_send_the_task_to_another_agent() -> None:
    end = failed("denied", "delegate_to", delegate_to="trading")
    spare = {"result": "From trading: 707.38."}
    talk = Talk(DESK, ends={"research": end, "trading": spare})
    answer = await talk.say("How did GOOG do in 2012? No chart.")
    assert talk.rounds == [["delegate_to_research"], ["delegate_to_trading"]]
    assert "From trading: 707.38." in answer


async def test_cut_result_of_a_sub_agent_is_called_a_summary() -> None:
    talk = Talk(DESK, ends={"research": {"result_truncated": True}})
    assert "it is a summary" in await talk.say("How did GOOG do in 2012?")


async def test_free_text_of_another_model_is_taken_over() -> None:
    talk = Talk(DESK, ends={"research": {"result": "## Findings\nGOOG ended 2012 at 707.38."}})
    answer = await talk.say("How did GOOG do in 2012? No chart.")
    assert "GOOG ended 2012 at 707.38." in answer
    assert "demo planner" in answer


async def test_tool_error_is_told_with_its_cure_and_not_repeated() -> None:
    def unknown(_: object) -> str:
        raise ToolBrokenError("no symbol is named 'XYZQ'; there are prices of AAPL, GOOG")

    talk = Talk(SOLO, tools={"get_market_history": unknown, "chart": unknown})
    answer = await talk.say("price of XYZQ in 2012")
    assert len(talk.rounds) == 1
    assert answer.count("there are prices of AAPL, GOOG") == 1
    assert "not investment advice" not in answer


async def test_failed_chart_does_not_spoil_the_answer() -> None:
    def broken(_: object) -> str:
        raise ToolBrokenError("chart timed out")

    talk = Talk(SOLO, tools={"chart": broken})
    answer = await talk.say("How did GOOG do in 2012?")
    assert "6.310 %" in answer
    assert "timed out" not in answer
    assert "timed out" in await talk.say("show me a chart of GOOG in 2012")


@pytest.mark.parametrize(
    "note",
    [
        "The limit of tool rounds is reached. Answer now from what is known; say what is missing.",
        "This is the last round: answer without tools.",
        "不要再调用工具，直接回答。",
    ],
)
async def test_wrap_up_note_is_obeyed(note: str) -> None:
    talk = Talk(DESK, notes={1: note})
    answer = await talk.say(GOOG_2012)
    assert talk.rounds == [["delegate_to_research", "delegate_to_analysis"]]
    assert "without further tools" in answer
    assert "6.310 %" in answer


async def test_refusal_of_all_tools_is_obeyed() -> None:
    def refused(_: object) -> str:
        raise ToolBrokenError("The limit of tool rounds is reached. Answer now from what is known.")

    talk = Talk(SOLO, tools={"get_market_overview": refused})
    answer = await talk.say("Microsoft last year")
    assert talk.rounds == [["get_market_overview"]]
    assert "without further tools" in answer


async def test_other_notes_and_background_are_no_request() -> None:
    talk = Talk(SOLO, notes={0: "Earlier turns were left out. MSFT was mentioned in 2010."})
    await talk.say("How did GOOG do in 2012?", context="now: 2026-11-30\nholdings: MSFT in 2010")
    assert talk.called[0].args == {"symbol": "GOOG", **YEAR}


async def test_result_cut_by_its_size_is_used_as_far_as_it_is_whole() -> None:
    def long(args: object) -> str:
        whole = history(args)  # type: ignore[arg-type]
        return whole[: whole.index('"bars"') + 30] + "\n[9000 more characters are stored as ab12]"

    answer = await Talk(SOLO, tools={"get_market_history": long}).say("How did GOOG do in 2012?")
    assert "rose: **6.310 %**" in answer


async def test_unreadable_result_is_admitted() -> None:
    talk = Talk(SOLO, tools={"get_market_history": lambda _: "x" * 50})
    answer = await talk.say("How did GOOG do in 2012? No chart.")
    assert "`get_market_history` was too long" in answer


@pytest.mark.parametrize(
    "content", ["", "{", '{"a"', "[1]", "null", '{"first_close": 6', "{}", '"x"']
)
@pytest.mark.parametrize("name", ["get_market_history", "analyze_stock", "get_market_overview"])
async def test_broken_results_never_break_the_planner(content: str, name: str) -> None:
    text = "market overview" if name == "get_market_overview" else GOOG_2012
    assert "demo" in await Talk(SOLO, tools={name: lambda _: content}).say(text)


@pytest.mark.parametrize(
    "end",
    [
        {"policy": None},
        {"policy": []},
        {"status": None, "result": None, "policy": {"next_action": "delegate_to"}},
        {"status": "empty", "result": "", "policy": {"next_action": "fallback_to_direct_tools"}},
        {"status": "odd", "result": 7},
        {"status": "denied", "policy": {"next_action": "ask_user", "instruction": "Ask."}},
    ],
)
async def test_odd_result_objects_never_break_the_planner(end: dict[str, object]) -> None:
    assert "demo" in await Talk(DESK, ends={"research": end}).say(GOOG_2012)
