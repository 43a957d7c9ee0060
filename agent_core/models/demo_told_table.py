"""What the demo planner says of each tool's result. A new tool is one entry; see `demo_told` for how it is read."""

from agent_core.models.demo_told import Each, Empty, Line, Quote, Table, Telling
from agent_core.models.demo_told_figures import FIGURES

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

TELLINGS: dict[str, Telling] = FIGURES | {
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
            Empty("tasks", Line("There are no background tasks.", "没有后台任务。")),
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
            Empty("alerts", Line("There are no alerts.", "没有提醒。")),
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
