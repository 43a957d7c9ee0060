"""What the gateway says of budgets, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "help_budget": ("what may still be spent, and until when", "查看预算余额与重置时间"),
    "budget_none": ("There is no budget here: nothing is limited.", "这里没有设置预算，不受限制。"),
    "budget_head": ("Budgets ({zone}):", "预算（{zone}）："),
    "budget_line": ("{name}: {parts}{more}", "{name}：{parts}{more}"),
    "budget_part": ("{used} of {size}", "已用 {used} / {size}"),
    "budget_held": (", {held} set aside for running answers", "，运行中预留 {held}"),
    "budget_unpriced": (
        ", and calls without a known price: {count}",
        "，另有 {count} 次调用价格未知",
    ),
    "budget_raised": (", raised by an operator", "，管理员已追加"),
    "budget_resets": (", begins anew on {at}", "，{at} 重置"),
    "budget_of_presets": (" (presets)", "（预设）"),
    "budget_run": ("One answer: at most {sizes}", "单次回答：最多 {sizes}"),
    "budget_private": (
        "Your own budgets: ask me in a private chat.",
        "您的个人预算请在私聊中查看。",
    ),
    "budget_name_user_day": ("You, today", "您今天"),
    "budget_name_user_month": ("You, this month", "您本月"),
    "budget_name_channel_day": ("This chat, today", "本聊天今天"),
    "budget_name_day": ("Everybody, today", "全部用户今天"),
    "budget_name_month": ("Everybody, this month", "全部用户本月"),
    "budget_warning": (
        "{share} % of {pot} is used. It begins anew on {at}. /budget shows more.",
        "{pot}已用 {share}%，将于 {at} 重新计算，/budget 查看详情。",
    ),
    "budget_warning_ops": (
        "Budget {kind} of {key}: {share} % of {size} is used. It begins anew on {at}.",
        "预算 {kind}（{key}）：{size} 已用 {share}%，将于 {at} 重新计算。",
    ),
    "budget_warning_run": ("{share} % of {pot} is used.", "{pot}已用 {share}%。"),
    "budget_warning_ops_run": (
        "Budget {kind} of {key}: {share} % of {size} is used.",
        "预算 {kind}（{key}）：{size} 已用 {share}%。",
    ),
    "budget_waits": (
        "What is left of {pot} ({size}) does not cover the next step. I go on when it begins anew on {at}; "
        "/stop ends the wait.",
        "{pot}（{size}）余额不足以继续，将在 {at} 重新计算后继续；/stop 可取消等待。",
    ),
    "budget_asks": (
        "What is left of {pot} ({size}) does not cover the next step. I have asked an operator, and go on when the pot "
        "is raised or begins anew on {at}; /stop ends the wait.",
        "{pot}（{size}）余额不足以继续，已请求管理员追加；追加后或 {at} 重新计算后继续，/stop 可取消等待。",
    ),
    "budget_asks_run": (
        "What is left of {pot} ({size}) does not cover the next step. I have asked an operator, and go on when the pot "
        "is raised; /stop ends the wait.",
        "{pot}（{size}）余额不足以继续，已请求管理员追加；追加后继续，/stop 可取消等待。",
    ),
    "budget_ask_run": (
        "An answer waits: what is left of budget {kind} of {key} ({size}) does not cover its next step. Raise it once "
        "by its own size?",
        "有回答在等待：预算 {kind}（{key}，{size}）余额不足以继续。是否按原额度追加一次？",
    ),
    "budget_ask": (
        "An answer waits: what is left of budget {kind} of {key} ({size}) does not cover its next step. Raise it once "
        "by its own size until {at}?",
        "有回答在等待：预算 {kind}（{key}，{size}）余额不足以继续。是否按原额度追加一次（至 {at}）？",
    ),
    "budget_raise": ("Raise", "追加"),
    "budget_deny": ("Deny", "拒绝"),
    "budget_was_raised": ("✅ Raised by {name}.", "✅ 已由{name}追加。"),
    "budget_was_denied": ("❌ Denied by {name}.", "❌ 已由{name}拒绝。"),
    "budget_gone": ("This is decided already.", "此项已有决定。"),
    "budget_taken": ("Recorded.", "已记录。"),
    "budget_here": ("waits for room in a budget, see /budget", "等待预算，见 /budget"),
    "budget_everybody": ("everybody", "全部用户"),
}
