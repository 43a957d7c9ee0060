"""What the gateway says of tokens and money, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "help_usage": ("what your questions have used and cost", "查看用量与费用"),
    "use_usage": (
        "`/usage` · `/usage 30`\nThe number is of days, today included (1 to 366).",
        "`/usage` · `/usage 30`\n数字为天数，含今天（1 到 366）。",
    ),
    "usage_days": ("You, last {days} days ({zone}):", "您最近 {days} 天（{zone}）："),
    "usage_day": ("You, today ({zone}):", "您今天（{zone}）："),
    "usage_here": ("This conversation:", "当前对话："),
    "usage_none": ("nothing yet", "暂无用量"),
    "usage_calls": ("Model calls: {calls}", "模型调用：{calls} 次"),
    "usage_read": (
        "Tokens read: {tokens}, {share} % of them from the cache",
        "读取 token：{tokens}，其中 {share}% 来自缓存",
    ),
    "usage_written": ("Tokens written: {tokens}", "生成 token：{tokens}"),
    "usage_cost": ("Cost: {usd}", "费用：{usd}"),
    "usage_unknown": (
        "unknown (the model has no known price)",
        "未知（模型价格未知）",
    ),
    "usage_partly": (
        "{usd}, and what calls without a known price cost ({count})",
        "{usd}，另有 {count} 次调用价格未知",
    ),
    "usage_saved": ("Saved by caching: {usd}", "缓存节省：{usd}"),
    "usage_lost": (
        "Caching has cost {usd} more than it saved so far",
        "目前缓存多花费 {usd}",
    ),
    "usage_model": (
        "`{model}`: calls {calls}, read {read}, written {written}, {usd}",
        "`{model}`：{calls} 次，读取 {read}，生成 {written}，{usd}",
    ),
    "usage_private": (
        "What you have used in all: ask me in a private chat.",
        "您的总用量请在私聊中查看。",
    ),
}
