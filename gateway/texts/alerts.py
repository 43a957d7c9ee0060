"""What the gateway says of alerts and scheduled runs, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "help_alert": ("be told when a price or an indicator gets there", "价格或指标到位时提醒"),
    "use_alert": (
        "- `/alert GOOG above 400`\n- `/alert AAPL down 5%` (from the last price), `/alert AAPL down 5% today`\n"
        "- `/alert IBM rsi below 30`, `/alert IBM above sma200`\n- add `repeat` to be told each time\n"
        "- `/alert list`\n- `/alert remove ID`",
        "- `/alert 谷歌 跌破 300`\n- `/alert 苹果 跌 5%`（相对最新价），`/alert 苹果 当日跌 5%`\n"
        "- `/alert IBM rsi 低于 30`，`/alert IBM 高于 sma200`\n- 加上 `重复` 则每次都提醒\n"
        "- `/alert list`\n- `/alert remove 编号`",
    ),
    "alert_set": (
        "I will tell you here once: {text}\nNow: {now}\n_No. {id}_",
        "条件成立时我会在此提醒一次：{text}\n现在：{now}\n_编号 {id}_",
    ),
    "alert_set_repeat": (
        "I will tell you here each time: {text}\nNow: {now}\n_No. {id}_",
        "每次条件成立时我都会在此提醒：{text}\n现在：{now}\n_编号 {id}_",
    ),
    "alert_many": (
        "You have {limit} alerts already; `/alert remove ID` ends one.",
        "您已有 {limit} 条提醒，可用 `/alert remove 编号` 删除。",
    ),
    "alert_no_prices": (
        "Prices cannot be asked for just now; please try again later.",
        "现在无法获取价格，请稍后再试。",
    ),
    "alert_none": ("You have no alerts here.", "您在这里没有价格提醒。"),
    "alert_repeats": ("each time", "每次"),
    "alert_holds": ("so already; waits until it is not", "已成立，等待回落后再次成立"),
    "alert_unknown": (
        "You have no alert {id} here; `/alert list` shows yours.",
        "您在这里没有编号为 {id} 的提醒，`/alert list` 查看。",
    ),
    "alert_removed": ("Alert {id} is removed.", "提醒 {id} 已删除。"),
    "alert_fired": ("🔔 **{text}**\n{so}\n\n_{more}_", "🔔 **{text}**\n{so}\n\n_{more}_"),
    "alert_over": ("Alert {id} is done.", "提醒 {id} 已完成。"),
    "schedule_missed": (
        "A scheduled run ({source}, {cron}) was left out: it was due on {at}, while the gateway did not run.",
        "定时任务（{source}，{cron}）未执行：原定 {at}，当时网关没有运行。",
    ),
    "schedule_denied": (
        "A scheduled run ({source}, {cron}) was left out: {person} is not allowed to use the bot.",
        "定时任务（{source}，{cron}）未执行：{person} 无权使用本机器人。",
    ),
    "alert_blind": (
        "⚠️ Alert {id} cannot be watched: **{text}**\nThe newest price is of {day}. I go on when there are newer ones.",
        "⚠️ 提醒 {id} 暂时无法监测：**{text}**\n最新价格是 {day} 的，有更新的价格后会继续。",
    ),
    "alert_again": (
        "Alert {id} goes on; `/alert remove {id}` ends it.",
        "提醒 {id} 继续有效，`/alert remove {id}` 可删除。",
    ),
}
