"""Chinese of the pages of people, deliveries, schedules, usage, search, settings and access."""

TEXTS: dict[str, str] = {
    # people
    "It says which models they may choose and for which approvals their yes counts.": (
        "角色决定可选用的模型，以及其同意对哪些审批有效。"
    ),
    "Operators are made in the settings.": "管理员只能在设置中指定。",
    "There is no role to give: name some in the settings, under access.roles.": (
        "没有可授予的角色：请在设置的 access.roles 中定义。"
    ),
    "Change the role of {id}?": "更改 {id} 的角色？",
    "Give": "授予",
    "Approve a pairing code": "批准配对码",
    "Code that the person was shown": "对方看到的配对码",
    "Let {id} in?": "允许 {id} 进入？",
    "Nobody has written yet.": "还没有人来过。",
    "set in the settings: access": "在设置的 access 中指定",
    "by what they write": "随所写的语言",
    "Linked accounts": "关联账号",
    "memory and budget are those of {id}": "记忆与预算归 {id}",
    "Known since (UTC)": "首次出现（UTC）",
    "Last 30 days": "最近 30 天",
    "Budgets": "预算",
    "Grant once more": "追加一份",
    "Grant this budget once more until it begins anew?": "在重置之前追加一份此预算？",
    "user_day": "每人每日",
    "user_month": "每人每月",
    "Shut {id} out?": "封禁 {id}？",
    "Shut out": "封禁",
    "Let in again": "恢复访问",
    "Take out of the link": "解除关联",
    "Take {id} out of its link?": "解除 {id} 的关联？",
    "Memory": "记忆",
    "Number": "编号",
    "Forget": "忘记",
    "Delete memory {n} for good?": "永久删除记忆 {n}？",
    "Nothing is remembered.": "没有记忆。",
    "live": "有效",
    "superseded": "已更新",
    "archived": "已归档",
    "Forget everything": "全部忘记",
    "Deletes what is kept of this person and of linked accounts: sessions, memory, books, files. It cannot be undone; "
    "backups are not reached.": (
        "删除此人及关联账号的全部内容：会话、记忆、账本、文件。无法恢复；不涉及备份。"
    ),
    "Delete everything that is kept of {id}?": "删除 {id} 的全部内容？",
    "Write {id} to confirm": "输入 {id} 以确认",
    # deliveries and schedules
    "Refused for good": "被拒绝的",
    "All that are not delivered": "所有未送达的",
    "Reply {id}": "回复 {id}",
    "Parts shown": "已显示部分",
    "Send again": "重新发送",
    "Send all {count} again": "全部重新发送（{count} 条）",
    "Send {count} replies again?": "重新发送 {count} 条回复？",
    "Age": "时间",
    "the last hour": "最近一小时",
    "the last day": "最近一天",
    "the last week": "最近一周",
    "longer than a week": "超过一周",
    "No reply is found.": "没有找到回复。",
    "Everything was delivered.": "全部已送达。",
    "Next (UTC)": "下次（UTC）",
    "reminder": "提醒",
    "once": "一次",
    "Take off": "取消",
    "Take this reminder off?": "取消此提醒？",
    "Nothing is scheduled. Runs at set times stand in the settings (schedules) and in presets (schedule).": (
        "没有定时项。定时运行写在设置（schedules）和预设（schedule）中。"
    ),
    # usage
    "Days": "天数",
    "Share": "占比",
    "Saved": "节省",
    "No call yet.": "还没有调用。",
    "Input from caches": "输入来自缓存",
    "By day": "按日",
    "By model": "按模型",
    "By person": "按用户",
    "By preset": "按预设",
    "By channel": "按渠道",
    "Cost by day": "每日费用",
    "Tokens by day": "每日词元",
    # search
    "Not older than": "时间范围",
    "any": "不限",
    "last hour": "最近一小时",
    "last day": "最近一天",
    "last week": "最近一周",
    "Event": "事件",
    "Log level from": "日志级别起",
    "Newest log lines of this process": "本进程最新的日志",
    "Traceback": "调用栈",
    "No line is found.": "没有找到日志。",
    "No event is found; traces are kept as long as retention.traces says.": (
        "没有找到事件；追踪按 retention.traces 的期限保留。"
    ),
    "info": "信息",
    "warning": "警告",
    "critical": "严重",
    # settings and access
    "As they are in effect, from {file}, the environment and defaults. Secrets are masked. A change needs a start.": (
        "当前生效的设置，来自 {file}、环境变量和默认值。密钥已隐藏。修改后需重启。"
    ),
    "no file": "无文件",
    "Key": "键",
    "Set": "已设置",
    "set": "已设置",
    "Logged in": "已登录",
    "Browser": "浏览器",
    "Until (UTC)": "到期（UTC）",
    "this one": "本次",
    "End": "结束",
    "End this log-in of {who}?": "结束 {who} 的登录？",
    "Another token in the settings ends every log-in that was made with the old one.": (
        "在设置中更换令牌会结束用旧令牌的所有登录。"
    ),
    "What was done in the console": "控制台操作记录",
    "To what": "对象",
    "Nothing was done yet.": "还没有操作。",
}
