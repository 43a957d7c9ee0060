"""What the gateway says of orders and the kill switch, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "help_halt": ("stop all orders at once (operators)", "立即停止所有下单（管理员）"),
    "use_halt": (
        "`/halt [REASON]` stops all orders and cancels open ones; `/halt off` resumes; `/halt status` says how it is.",
        "`/halt [原因]` 停止所有下单并撤销未成交订单；`/halt off` 恢复；`/halt status` 查看状态。",
    ),
    "halt_operators": ("Only an operator can do this.", "只有管理员可以操作。"),
    "halted": (
        "⛔ Trading is halted. Cancelled: {cancelled}. Taken back at the broker now: {left}. /halt off resumes.",
        "⛔ 交易已停止。已撤销：{cancelled}。正在向券商撤单：{left}。/halt off 恢复。",
    ),
    "halt_is_on": (
        "⛔ Trading is halted by {by} since {at} UTC. {reason}",
        "⛔ 交易已于 {at} UTC 由{by}停止。{reason}",
    ),
    "status_halted": ("- ⛔ Trading is halted: no order is placed", "- ⛔ 交易已停止：不会下单"),
    "halt_is_off": ("Trading is not halted.", "交易未停止。"),
    "trading_resumed": (
        "Trading resumes. What was cancelled stays cancelled.",
        "交易已恢复，已撤销的订单不会恢复。",
    ),
    "halt_file": (
        "The file HALT is still in data_dir: remove it to resume.",
        "data_dir 中仍有文件 HALT，删除后才会恢复。",
    ),
    "forget_orders": ("orders: {n}", "{n} 个订单"),
    "forget_trades": ("trades: {n}", "{n} 条交易记录"),
    "forget_cash": ("amounts of cash: {n}", "{n} 项现金"),
    "forget_order_audit": ("audit entries of orders: {n}", "{n} 条订单审计记录"),
    "dividend_paid": (
        "Dividend of {symbol} on {day}: {quantity} shares at {price} = {amount} {currency} (paper).",
        "{symbol} 于 {day} 派息：{quantity} 股 × {price} = {amount} {currency}（模拟账户）。",
    ),
    "split_done": (
        "Split of {symbol} on {day}, {ratio} for 1: {before} → {after} shares, cost {cost} {currency} each (paper).",
        "{symbol} 于 {day} 拆股（1 拆 {ratio}）：{before} → {after} 股，每股成本 {cost} {currency}（模拟账户）。",
    ),
    "order_split": (
        "📈 The split of {symbol} on {day} changed an open order, which is worth the same. {line}, {level}.",
        "📈 {symbol} 于 {day} 拆股，未成交订单随之调整，价值不变。{line}，{level}。",
    ),
    "order_done": ("📈 {line}.", "📈 {line}。"),
}
