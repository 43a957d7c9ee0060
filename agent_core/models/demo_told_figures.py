"""What the demo planner says of results that are figures: backtests, screens, risk, reports. See `demo_told`."""

from agent_core.models.demo_told import Each, Line, Table, Telling

FIGURES: dict[str, Telling] = {
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
            Each("rules", Line("{0}: at least {1}", "{0}：不低于 {1}", ("measure", "min"))),
            Each("rules", Line("{0}: at most {1}", "{0}：不高于 {1}", ("measure", "max"))),
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
    "generate_ai_report": Telling(
        (
            Line("**{0}**", "**{0}**", ("title",)),
            Line("{0}", "{0}", ("conclusion",)),
            Line("{0}", "{0}", ("narrative",)),
            Each("missing", Line("Missing: {0}", "缺少：{0}", ("",))),
            Line("Sent along: {0}", "随附文件：{0}", ("artifacts.*",)),
        )
    ),
    "generate_strategy_decision": Telling(
        (
            Line(
                "**{0}: {1}** ({2}, {3}; confidence {4}). An aid by rules, never the sole ground.",
                "**{0}：{1}**（{3}；把握：{4}）。按规则得出的辅助意见，不能作为唯一依据。",
                ("symbol", "decision", "horizon", "style", "confidence"),
            ),
            Line(
                "Entry: {0} … {1}, stop {2}, target {3}",
                "入场：{0} … {1}，止损 {2}，目标 {3}",
                ("plan.entry_zone.0", "plan.entry_zone.1", "plan.stop", "plan.target"),
            ),
            Each(
                "grounds",
                Line("{0}: {1} ({2})", "{0}：{1}（{2}）", ("ground", "says", "credibility")),
            ),
            Line(
                "Backtest {0}: {1} %, holding: {2} %",
                "回测 {0}：{1} %，一直持有：{2} %",
                ("backtest.strategy", "backtest.return_pct", "backtest.holding_pct"),
            ),
            Line("What would prove it wrong: {0}", "证伪条件：{0}", ("invalidation",)),
            Line("Look again by {0}", "复查日期：{0}", ("review_by",)),
        )
    ),
}
