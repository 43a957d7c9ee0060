"""What the gateway says of memory, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "help_memory": (
        "what I remember of you: list, search, edit, forget",
        "查看、搜索、修改或删除我对您的记忆",
    ),
    "use_memory": (
        "- `/memory` lists what I remember; `/memory search WORDS` finds it.\n"
        "- `/memory show 12` tells where it comes from; `/memory edit 12 TEXT` says it in other words.\n"
        "- `/memory forget 12` deletes it; `/memory export` sends all of it as a file.",
        "- `/memory` 列出记忆，`/memory search 关键词` 搜索\n"
        "- `/memory show 12` 查看来源，`/memory edit 12 新内容` 修改\n"
        "- `/memory forget 12` 删除，`/memory export` 导出为文件\n"
        "也可以写：搜索、查看、修改、删除、导出。",
    ),
    "help_forget": ("delete everything that I keep of you", "删除我保存的关于您的一切"),
    "use_forget": (
        "`/forget` asks first, `/forget everything` does not. One memory alone: `/memory forget 12`.",
        "`/forget` 会先确认，`/forget everything` 立即删除。只删一条：`/memory forget 12`。",
    ),
    "memory_off": (
        "Memory is switched off in this installation (`memory.enabled`).",
        "本系统已关闭记忆功能（`memory.enabled`）。",
    ),
    "memory_empty": ("I remember nothing of you yet.", "我还没有关于您的记忆。"),
    "memory_empty_here": (
        "I remember nothing of you from this group.",
        "我没有来自本群的关于您的记忆。",
    ),
    "memory_head": ("What I remember of you:", "我对您的记忆："),
    "memory_head_here": (
        "What I remember of you from this group:",
        "我从本群得到的关于您的记忆：",
    ),
    "memory_found": ("What I remember about it:", "相关记忆："),
    "memory_not_found": ("I remember nothing like that.", "没有相关的记忆。"),
    "memory_entry": (
        "- {id} · {kind} · {at}{marks}: {text}",
        "- {id} · {kind} · {at}{marks}：{text}",
    ),
    "memory_more": (
        "- and {count} more: `/memory search WORDS`, or `/memory export`",
        "- 另有 {count} 条：用 `/memory search 关键词` 搜索，或 `/memory export` 导出",
    ),
    "memory_unknown": (
        "There is no memory {id} here; `/memory` lists them.",
        "这里没有编号为 {id} 的记忆，`/memory` 查看列表。",
    ),
    "memory_shown": (
        "**Memory {id}** · {kind} · {state}\n\n{text}\n\n{facts}",
        "**记忆 {id}** · {kind} · {state}\n\n{text}\n\n{facts}",
    ),
    "memory_source_chat": (
        "- From a conversation: {title} (`{session}`, {at})",
        "- 来自对话：{title}（`{session}`，{at}）",
    ),
    "memory_source_gone": (
        "- From a conversation that is no longer kept (`{session}`)",
        "- 来自已不再保存的对话（`{session}`）",
    ),
    "memory_source_layer": (
        "- Distilled from memories {ids}",
        "- 由记忆 {ids} 提炼而成",
    ),
    "memory_source": ("- Source: {source}", "- 来源：{source}"),
    "memory_level": (
        "- Credibility: {credibility}; length: {level}",
        "- 可信度：{credibility}；篇幅：{level}",
    ),
    "memory_dates": ("- Noted {at}, used {count} times", "- 记录于 {at}，使用 {count} 次"),
    "memory_symbols": ("- Symbols: {codes}", "- 标的：{codes}"),
    "memory_until": ("- Holds until {at}", "- 有效至 {at}"),
    "memory_version": (
        "- Earlier text ({level}, {at}): {text}",
        "- 早先的内容（{level}，{at}）：{text}",
    ),
    "memory_place": ("- Holds only in the group `{scope}`", "- 仅在群组 `{scope}` 内有效"),
    "memory_edited": (
        "Memory {id} now says: {text}\nWhat it said before is kept with it; `/memory forget {id}` deletes both.",
        "记忆 {id} 已改为：{text}\n原内容随之保留，`/memory forget {id}` 可一并删除。",
    ),
    "memory_edit_long": (
        "A memory has at most {limit} characters; this one has {chars}. Say it shorter.",
        "一条记忆最多 {limit} 个字符，这里有 {chars} 个，请写短一些。",
    ),
    "memory_forgotten": ("Memory {id} is deleted.", "记忆 {id} 已删除。"),
    "memory_exported": (
        "Memories in the file: {count}. `swarmgate memory import` reads it.",
        "{count} 条记忆见文件，可用 `swarmgate memory import` 导入。",
    ),
    "memory_live": ("in use", "使用中"),
    "memory_archived": ("archived", "已归档"),
    "memory_superseded": ("replaced by a newer one", "已被更新的记忆取代"),
    "memory_length_raw": ("whole", "全文"),
    "memory_length_daily": ("its main sentences", "主要句子"),
    "memory_length_digest": ("a digest", "摘要"),
    "memory_belief_objective_fact": ("objective fact", "客观事实"),
    "memory_belief_logic_tool": ("logic tool", "逻辑工具"),
    "memory_belief_emotional_view": ("emotional view", "情绪观点"),
    "memory_belief_mixed": ("mixed", "混合"),
    "memory_kind_preference": ("preference", "偏好"),
    "memory_kind_decision": ("decision", "决策"),
    "memory_kind_playbook": ("playbook", "剧本"),
    "memory_kind_persona": ("persona", "画像"),
    "memory_kind_view": ("view", "观点"),
    "memory_kind_plan": ("plan", "计划"),
    "memory_kind_rule": ("rule", "纪律"),
    "forget_ask": (
        "Delete everything that I keep of you? Memories, conversations, files, traces, portfolio notes and reminders "
        "of {who} go for good. Your access and your linked accounts stay. The question holds for {minutes} minutes.",
        "要删除我保存的关于您的一切吗？{who} 的记忆、对话、文件、运行记录、持仓笔记和提醒将永久删除，"
        "访问权限与关联账号保留。{minutes} 分钟内有效。",
    ),
    "forget_ask_here": (
        "Delete what I remember of you from this group (memories: {count})? The question holds for {minutes} minutes. "
        "To delete everything, write /forget to me in private.",
        "要删除我从本群得到的关于您的记忆吗（{count} 条）？{minutes} 分钟内有效。要删除一切，请私聊发送 /forget。",
    ),
    "forget_yes": ("Delete everything", "全部删除"),
    "forget_yes_here": ("Delete these", "删除这些"),
    "forget_no": ("Keep", "保留"),
    "forget_kept": ("Nothing was deleted.", "没有删除任何内容。"),
    "forget_at_broker": (
        "Nothing was deleted: your orders {ids} are open at a broker, where they would go on with nobody knowing of "
        "them. Cancel them first, then write /forget again.",
        "没有删除任何内容：您的订单 {ids} 仍在券商处未完成，删除后将无人跟踪。请先撤单，再发送 /forget。",
    ),
    "forget_late": (
        "This question is no longer open; write /forget again.",
        "这个问题已失效，请重新发送 /forget。",
    ),
    "forget_not_yours": (
        "Only the person who asked can decide this.",
        "只有提出请求的人可以决定。",
    ),
    "forget_done": (
        "Deleted – {removed}.\nCounted again, left: {left}.",
        "已删除：{removed}。\n再次清点，剩余：{left}。",
    ),
    "forget_toast": ("Deleted; the report is in the chat.", "已删除，清点结果见对话。"),
    "forget_done_none": ("There was nothing to delete.", "没有可删除的内容。"),
    "forget_memories": ("memories: {n}", "{n} 条记忆"),
    "forget_memory_versions": ("earlier texts of memories: {n}", "{n} 份记忆旧文"),
    "forget_memory_jobs": ("pending lessons: {n}", "{n} 项待学习内容"),
    "forget_index": ("entries of the search index: {n}", "{n} 条检索索引"),
    "forget_holdings": ("holdings: {n}", "{n} 项持仓"),
    "forget_events": ("events: {n}", "{n} 条事件"),
    "forget_profiles": ("symbol profiles: {n}", "{n} 份标的档案"),
    "forget_alerts": ("alerts: {n}", "{n} 个提醒条件"),
    "forget_report_notes": ("report conclusions: {n}", "{n} 条报告结论"),
    "forget_traces": ("trace events: {n}", "{n} 条运行记录"),
    "forget_files": ("files: {n}", "{n} 个文件"),
    "forget_workspace": ("files in the workspace: {n}", "工作区中的 {n} 个文件"),
    "forget_sessions": ("conversations: {n}", "{n} 个对话"),
    "forget_messages": ("messages: {n}", "{n} 条消息"),
    "forget_checkpoints": ("checkpoints: {n}", "{n} 个检查点"),
    "forget_turns": ("turns: {n}", "{n} 次应答"),
    "forget_received": ("received texts: {n}", "{n} 条收到的原文"),
    "forget_replies": ("replies: {n}", "{n} 条回复"),
    "forget_questions": ("questions: {n}", "{n} 个问题"),
    "forget_reminders": ("reminders: {n}", "{n} 个定时提醒"),
    "forget_tasks": ("background tasks: {n}", "{n} 个后台任务"),
}
