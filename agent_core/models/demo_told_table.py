"""What the demo planner says of each tool's result. A new tool is one entry; see `demo_told` for how it is read."""

from agent_core.models.demo_told import Each, Line, Quote, Table, Telling

_BOOK = "Symbol | Quantity | Cost | Price | Value | Gain | Weight"
_BOOK_ZH = "代码 | 数量 | 成本 | 价格 | 市值 | 盈亏 | 占比"
_BOOK_AT = ("symbol", "quantity", "cost", "price", "value", "unrealised", "weight_pct")


def _book(part: str, en: str, zh: str) -> tuple[Line | Table | Each, ...]:
    return (
        Line(
            f"**{en}: {{0}} {{1}}**",
            f"**{zh}：{{0}} {{1}}**",
            (f"{part}.total", f"{part}.currency"),
        ),
        Each(
            f"{part}.cash",
            Line("Cash: {0} {1} ({2})", "现金：{0} {1}（{2}）", ("amount", "currency", "account")),
        ),
        Table(f"{part}.positions", Line(_BOOK, _BOOK_ZH, _BOOK_AT)),
    )


_ORDER = Line(
    "Open order {0}: {1} {2} {3}",
    "未成交订单 {0}：{1} {2} {3}",
    ("order_id", "side", "quantity", "symbol"),
)
_TRADE = Line(
    "Traded: {0} {1} {2} at {3} {4} ({5})",
    "成交：{0} {1} {2}，{3} {4}（{5}）",
    ("kind", "quantity", "symbol", "price", "currency", "date"),
)
_ONE_ORDER = (
    Line(
        "**Order {0}: {1} {2} {3}, {4} ({5})**",
        "**订单 {0}：{1} {3} {2}，{4}（{5}）**",
        ("order_id", "side", "quantity", "symbol", "status", "mode"),
    ),
    Line("Filled at {0} on {1}", "成交价 {0}（{1}）", ("fill_price", "filled_on")),
    Line("Limit: {0}", "限价：{0}", ("limit_price",)),
    Line("Stop: {0}", "止损：{0}", ("stop",)),
    Line("Fee: {0}", "费用：{0}", ("fee",)),
)
_TASK = Line("{0}: `{1}`, {2}", "{0}：`{1}`，{2}", ("task_id", "tool", "status"))

TELLINGS: dict[str, Telling] = {
    "run_backtest": Telling(
        (
            Line(
                "**Backtest {0} on {1}: {2} %**, holding: {3} %, {4} … {5}.",
                "**回测 {0}，{1}：{2} %**，一直持有：{3} %，{4} … {5}。",
                (
                    "strategy",
                    "symbols.*.symbol",
                    "result.return_pct",
                    "result.benchmark_return_pct",
                    "result.window.start",
                    "result.window.end",
                ),
            ),
            Line(
                "A year: {0} %, volatility {1} %",
                "年化：{0} %，波动率 {1} %",
                ("result.annual_return_pct", "result.volatility_pct_annual"),
            ),
            Line(
                "Sharpe {0}, Sortino {1}",
                "夏普 {0}，索提诺 {1}",
                ("result.sharpe", "result.sortino"),
            ),
            Line(
                "Largest drawdown: {0} % ({1} … {2})",
                "最大回撤：{0} %（{1} … {2}）",
                ("result.max_drawdown_pct", "result.drawdown_peak", "result.drawdown_trough"),
            ),
            Line(
                "Closed trades: {0}, won: {1} %, average {2} %",
                "已平仓交易：{0} 笔，胜率 {1} %，平均 {2} %",
                ("result.trades", "result.win_rate_pct", "result.average_trade_pct"),
            ),
            Line("Time invested: {0} %", "持仓时间：{0} %", ("result.exposure_pct",)),
            Line(
                "Final equity: {0}, fees: {1}",
                "期末权益：{0}，费用：{1}",
                ("result.final_equity", "result.fees"),
            ),
        )
    ),
    "screen_stocks": Telling(
        (
            Line(
                "**{0} of {1} match**, ranked by {2}.",
                "**{1} 只中有 {0} 只符合**，按 {2} 排序。",
                ("matched", "screened", "sorted_by"),
            ),
            Table("rows"),
        )
    ),
    "indicators": Telling(
        (
            Line(
                "**{0}**, close {1} on {2}:",
                "**{0}**，收盘 {1}（{2}）：",
                ("symbol", "last_close", "as_of"),
            ),
            Each("indicators", Line("{0}: {1}", "{0}：{1}", ("name", "last.*"))),
        )
    ),
    "risk_metrics": Telling(
        (
            Line(
                "**{0}**, risk over {1} daily returns:",
                "**{0}**，{1} 个日收益率的风险：",
                ("symbol", "returns"),
            ),
            Line(
                "Volatility: {0} % a year, downside {1} %",
                "年化波动率：{0} %，下行 {1} %",
                ("volatility_pct_annual", "downside_deviation_pct_annual"),
            ),
            Line(
                "One-day VaR at 95 %: {0} % (expected shortfall {1} %)",
                "单日 VaR（95 %）：{0} %（预期损失 {1} %）",
                ("one_day_loss_pct.95.historical_var", "one_day_loss_pct.95.historical_es"),
            ),
            Line(
                "One-day VaR at 99 %: {0} % (expected shortfall {1} %)",
                "单日 VaR（99 %）：{0} %（预期损失 {1} %）",
                ("one_day_loss_pct.99.historical_var", "one_day_loss_pct.99.historical_es"),
            ),
            Line(
                "Largest drawdown: {0} % ({1} … {2})",
                "最大回撤：{0} %（{1} … {2}）",
                ("drawdown.max_pct", "drawdown.peak_date", "drawdown.trough_date"),
            ),
            Line("Beta against {0}: {1}", "对 {0} 的贝塔：{1}", ("benchmark", "beta")),
            Line("Correlation with it: {0}", "与其相关系数：{0}", ("correlation_with_benchmark",)),
        )
    ),
    "correlation": Telling(
        (
            Line(
                "**Correlation of daily returns: {0}**", "**日收益率相关系数：{0}**", ("symbols.*",)
            ),
            Line(
                "Most alike: {0}, {1}",
                "最相关：{0}，{1}",
                ("most_correlated.pair.*", "most_correlated.value"),
            ),
            Line(
                "Least alike: {0}, {1}",
                "最不相关：{0}，{1}",
                ("least_correlated.pair.*", "least_correlated.value"),
            ),
            Line("Common days: {0}", "共同交易日：{0}", ("common_returns.fewest",)),
        )
    ),
    "position_size": Telling(
        (
            Line(
                "**{0} units, {1}**: entry {2}, stop {3}.",
                "**{0} 股，{1}**：入场 {2}，止损 {3}。",
                ("units", "side", "entry", "stop"),
            ),
            Line(
                "Value of the position: {0} ({1} % of the account)",
                "仓位市值：{0}（账户的 {1} %）",
                ("position_value", "position_pct_of_account"),
            ),
            Line(
                "Loss at the stop: {0} ({1} %)",
                "止损亏损：{0}（{1} %）",
                ("loss_at_stop", "loss_pct_of_account"),
            ),
            Line("Bounded by: {0}", "限制因素：{0}", ("limited_by",)),
        )
    ),
    "market_regime": Telling(
        (
            Line(
                "**{0}: trend {1}**, {2} % in its last days.",
                "**{0}：趋势{1}**，近期 {2} %。",
                ("market", "trend.direction", "change_60_days_pct"),
            ),
            Line(
                "Volatility {0}: {1} % a year",
                "波动{0}：年化 {1} %",
                ("volatility.regime", "volatility.pct_annual_20_days"),
            ),
            Line("{0}", "{0}", ("trend.reason",)),
        )
    ),
    "wyckoff_diagnose": Telling(
        (
            Line(
                "**{0}: phase {1}** (method of Wyckoff, a heuristic).",
                "**{0}：{1}阶段**（威科夫方法，启发式）。",
                ("symbol", "phase"),
            ),
            Line("Rule: {0}", "依据：{0}", ("rule",)),
            Line("{0}", "{0}", ("phase_caveat",)),
        )
    ),
    "market_calendar": Telling(
        (
            Line(
                "**{0}, {1}: trading day: {2}**",
                "**{0}，{1}：是否交易日：{2}**",
                ("market", "date", "is_trading_day"),
            ),
            Line(
                "Opens {0}, closes {1}", "开盘 {0}，收盘 {1}", ("session.opens", "session.closes")
            ),
            Line("Next sessions: {0}", "之后的交易日：{0}", ("next_sessions.*.date",)),
        ),
        figures=False,
    ),
    "portfolio": Telling(
        (
            *_book("own", "Own portfolio", "自有组合"),
            *_book("paper", "Paper account (play money)", "模拟账户（模拟资金）"),
            Each("open_orders", _ORDER),
            Each("last_trades", _TRADE),
            Line(
                "**Largest position: {0}, {1} %**",
                "**最大持仓：{0}，{1} %**",
                ("largest.symbol", "largest.weight_pct"),
            ),
            Line(
                "The three largest: {0} %, cash: {1} %",
                "前三大合计：{0} %，现金：{1} %",
                ("top3_pct", "cash_pct"),
            ),
            Line(
                "Volatility: {0} % a year, largest drawdown: {1} %",
                "年化波动率：{0} %，最大回撤：{1} %",
                ("volatility_pct_annual", "max_drawdown_pct"),
            ),
            Line("Beta against {0}: {1}", "对 {0} 的贝塔：{1}", ("benchmark", "beta")),
            Line(
                "Most alike: {0} ({1})",
                "最相似：{0}（{1}）",
                ("most_alike.symbols.*", "most_alike.correlation"),
            ),
            Each("remarks", Line("{0}", "{0}", ("",))),
        )
    ),
    "update_portfolio": Telling(
        (
            Line("**The portfolio was changed:**", "**组合已修改：**", ()),
            Each("done", Line("{0}", "{0}", ("",))),
        ),
        figures=False,
    ),
    "place_order": Telling(_ONE_ORDER),
    "cancel_order": Telling(_ONE_ORDER),
    "check_background_tasks": Telling(
        (
            Line("**Background tasks:**", "**后台任务：**", ("tasks",)),
            Each("tasks", _TASK),
            _TASK,
            Line("{0}", "{0}", ("summary",)),
        ),
        figures=False,
    ),
    "get_stock_profiles": Telling(
        (
            Each(
                "items",
                Line(
                    "**{0}**: {1} / {2}, {3}, {4}",
                    "**{0}**：{2} / {1}，{3}，{4}",
                    ("symbol", "name", "name_zh", "market", "currency"),
                ),
            ),
            Table(
                "items",
                Line(
                    "Symbol | Last close | 1y | Highest 1y | Lowest 1y | Volatility",
                    "代码 | 最新收盘 | 1y | 一年最高 | 一年最低 | 波动率",
                    (
                        "symbol",
                        "prices.last_close",
                        "prices.return_1y_pct",
                        "prices.high_1y",
                        "prices.low_1y",
                        "prices.volatility_pct_annual",
                    ),
                ),
            ),
        )
    ),
    "fundamentals": Telling(
        (
            Line(
                "**{0} ({1})**, reported figures in {2}:",
                "**{0}（{1}）**，财报数据，单位 {2}：",
                ("name", "symbol", "currency"),
            ),
            Table("statements"),
        )
    ),
    "filings": Telling(
        (
            Line("**{0} ({1})**, filings:", "**{0}（{1}）**，公告文件：", ("name", "symbol")),
            Each("filings", Line("{0}, {1}: {2}", "{0}，{1}：{2}", ("filed", "form", "url"))),
        ),
        figures=False,
    ),
    "alert": Telling(
        (
            Line("**Alert {0}** is set: {1}", "**提醒 {0}** 已设置：{1}", ("number", "alert")),
            Line("{0}", "{0}", ("remark",)),
            Line("Alert {0} was removed.", "提醒 {0} 已删除。", ("removed",)),
            Line("**Alerts:**", "**提醒：**", ("alerts",)),
            Each("alerts", Line("{0}: {1} ({2})", "{0}：{1}（{2}）", ("number", "alert", "state"))),
        ),
        figures=False,
    ),
    "remind": Telling((Line("{0}", "{0}", ("answer",)),), figures=False),
    "web_fetch": Telling((Line("From {0}:", "来自 {0}：", ("url",)), Quote("text")), figures=False),
    "web_search": Telling((Quote("results"),), figures=False),
    "read_document": Telling(
        (Line("From {0}:", "来自 {0}：", ("name",)), Quote("text")), figures=False
    ),
    "read_file": Telling(
        (Line("{0}:", "{0}：", ("path",)), Quote("text"), Quote("entries")), figures=False
    ),
    "write_file": Telling(
        (Line("**{0}** was written.", "**{0}** 已写入。", ("path",)),), figures=False
    ),
    "exec_command": Telling(
        (Line("Exit code {0}.", "退出码 {0}。", ("exit_code",)), Quote("output")), figures=False
    ),
    "query_history": Telling((Quote(""),), figures=False),
    "load_context": Telling((Quote(""),), figures=False),
    "restore_archive": Telling((Quote(""),), figures=False),
    "remember": Telling((Quote(""),), figures=False),
    "compact": Telling((Quote(""),), figures=False),
}

ANY = Telling((Quote(""),), figures=False)  # of a tool that stands in no table
