"""The main job: a question in Telegram, real tools on real prices, sub-agents, one grounded answer with a chart."""

import datetime as dt
import json
import re
from typing import Any

import pytest

from agent_core.tools.spec import ToolContext
from gateway.clock import SystemClock
from gateway.toolbox import toolbox
from tests.scenario.stage import Stage
from tests.twins.llm_script import Turn, call, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

GOOG = "How did GOOG do in 2012, and what does its trend look like?"
AAPL = "分析一下 AAPL 的走势"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


async def figures(symbol: str, period: str | None) -> dict[str, Any]:
    """What analyze_stock really says: a model would read it, a script must know it before."""
    spec = toolbox().get("analyze_stock")
    assert spec is not None
    context = ToolContext("telegram:1", "s", 1, "c", "en", SystemClock())
    dates = {"start": period, "end": period} if period else {}
    output = await spec.call(context, {"symbol": symbol, **dates})
    found: dict[str, Any] = json.loads(output.content)
    return found


def grounded(stage: Stage, symbol: str, words: str, answer: str) -> None:
    """Every number of the answer stands in a result of a real tool (no sub-agent's report) or in the question."""
    results = [r for r in stage.results(symbol) if "next_action" not in r]
    material = " ".join([words, *results])
    given = set(NUMBER.findall(material))
    missing = [n for n in NUMBER.findall(answer) if n not in given]
    assert missing == []


def one_answer_with_chart(stage: Stage, chat: int, answer: str, name: str) -> None:
    text, photo = stage.telegram.replies(chat)
    assert text.text == answer
    assert text.texts == [answer]  # never shown otherwise, and never edited
    assert text.buttons == []
    assert photo.kind == "photo"
    assert name in photo.text
    file = stage.telegram.state.files[str(photo.file_id)]
    assert file.data.startswith(b"\x89PNG")
    assert stage.telegram.draft(chat) is None


async def test_the_desk_answers_through_its_agents(shared: Stage):
    found = await figures("GOOG", "2012")
    answer = (
        f"GOOG went from {found['first_close']} to {found['last_close']} in 2012, "
        f"{found['change_pct']} percent; RSI 14 reads {found['indicators']['rsi14']}."
    )
    dates = {"symbol": "GOOG", "start": "2012", "end": "2012"}
    model = shared.model
    model.reply_to(
        re.escape(GOOG),
        [
            Turn(
                [
                    say("I let it be looked up."),
                    call("delegate_to_research", {"task": "R-1: GOOG, 2012"}),
                ]
            ),
            Turn([call("delegate_to_analysis", {"task": "A-1: trend of GOOG in 2012"})]),
            Turn([call("chart", dates)]),
            Turn(
                [call("delegate_to_trading", {"task": "T-1: what would a plan on GOOG rest on?"})]
            ),
            Turn([say(answer)], gap=0.2),
        ],
    )
    model.reply_to(
        "^R-1",
        [Turn([call("analyze_stock", dates), call("get_market_history", dates)]), f"R-2: {answer}"],
    )
    model.reply_to("^A-1", [Turn([call("analyze_stock", dates)]), "A-2: up"])
    model.reply_to("^T-1", [Turn([call("analyze_stock", dates)]), "T-2: no plan"])

    before = len(model.answers)
    shared.telegram.say(1, "/preset trading-desk")
    await shared.telegram.wait_replies(1, 1)
    shared.telegram.delete(1, shared.telegram.replies(1)[0].id)
    shared.telegram.say(1, GOOG)
    await shared.answered([1], 2)

    order = [a.said.split(":")[0] for a in model.answers[before:]]
    assert order == [GOOG, "R-1", "R-1", GOOG, "A-1", "A-1", GOOG, GOOG, "T-1", "T-1", GOOG]
    one_answer_with_chart(shared, 1, answer, "GOOG")
    grounded(shared, "GOOG", GOOG, answer)
    log = shared.telegram.state.chat(1).draft_log
    assert any("Market researcher" in text for text in log), "progress names the agent"
    usage = shared.gateway.rows(
        "select session_id, usd, input_tokens, output_tokens from usage where owner='telegram:1'"
    )
    children = [row for row in usage if "/" in row.session_id]
    assert (len(usage), len(children)) == (11, 6)
    assert all(row.usd > 0 and row.input_tokens + row.output_tokens > 0 for row in usage)
    (turn,) = shared.gateway.rows("select * from turn where principal = 'telegram:1'")
    assert (turn.status, turn.preset) == ("done", "trading-desk")


@pytest.mark.parametrize(
    ("chat", "question", "symbol", "period"), [(2, GOOG, "GOOG", "2012"), (3, AAPL, "AAPL", None)]
)
async def test_one_agent_answers_with_its_own_tools(
    shared: Stage, chat: int, question: str, symbol: str, period: str | None
):
    found = await figures(symbol, period)
    dates = {"start": period, "end": period} if period else {}
    answer = f"{symbol}: {found['last_close']}, {found['change_pct']}%"
    if question == AAPL:
        answer = f"{symbol} 收盘价 {found['last_close']}，区间涨跌 {found['change_pct']}%。"
    arguments = {"symbol": symbol, **dates}
    shared.model.reply_to(
        re.escape(question),
        [Turn([call("analyze_stock", arguments), call("chart", arguments)]), answer],
    )
    shared.telegram.say(chat, "/preset solo")
    await shared.telegram.wait_replies(chat, 1)
    shared.telegram.delete(chat, shared.telegram.replies(chat)[0].id)
    shared.telegram.say(chat, question)
    await shared.answered([chat], 2)
    one_answer_with_chart(shared, chat, answer, symbol)
    grounded(shared, symbol, question, answer)
    assert shared.gateway.count("usage", f"owner = 'telegram:{chat}'") == 2


async def test_the_desk_answers_a_chinese_question_in_chinese(shared: Stage):
    found = await figures("AAPL", None)
    answer = f"AAPL 收盘价 {found['last_close']}，RSI 为 {found['indicators']['rsi14']}。"
    shared.model.reply_to(
        re.escape(AAPL),
        [
            Turn(
                [say("先请分析员看。"), call("delegate_to_analysis", {"task": "任务一：AAPL 走势"})]
            ),
            Turn([call("chart", {"symbol": "苹果"})]),
            Turn([say(answer)], gap=0.2),
        ],
    )
    shared.model.reply_to(
        "^任务一", [Turn([call("analyze_stock", {"symbol": "苹果"})], delay=1), "上升"]
    )
    shared.telegram.say(4, "/preset trading-desk")
    await shared.telegram.wait_replies(4, 1)
    shared.telegram.delete(4, shared.telegram.replies(4)[0].id)
    shared.telegram.say(4, AAPL)
    await shared.answered([4], 2)
    one_answer_with_chart(shared, 4, answer, "AAPL")
    grounded(shared, "AAPL", AAPL, answer)
    system = shared.requests(AAPL)[-1]
    assert "language: zh" in json.dumps(system, ensure_ascii=False)
    year = dt.date.fromisoformat(found["as_of"]).year
    assert str(year) in shared.telegram.replies(4)[1].text
