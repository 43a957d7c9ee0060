"""What the gateway says of what an answer rests on: its context and its preset, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "preset_edit_broken": (
        "An edited preset is not used, the last good one goes on: `{place}` [{code}] {message}; {cure}",
        "修改后的预设未启用，继续使用上一个有效版本：`{place}` [{code}] {message}；{cure}",
    ),
    "preset_edit_broken_more": (
        "{count} more: `swarmgate presets validate` shows them.",
        "另有 {count} 处，可用 `swarmgate presets validate` 查看。",
    ),
    "help_why": ("what the model saw for its last answer", "查看上次回答时模型看到的内容"),
    "help_compact": ("condense the older part of this conversation", "压缩较早的对话内容"),
    "use_why": (
        "`/why`\nShows the parts of the last request with their sizes.",
        "`/why`\n列出上次请求的各个部分及其大小。",
    ),
    "use_compact": (
        "`/compact` · `/compact TOPIC`\nThe summary keeps most of what is about the topic. Nothing is lost: /archive.",
        "`/compact` · `/compact 主题`\n摘要会着重保留与主题有关的内容；原文不会丢失，见 /archive。",
    ),
    "why_nothing": (
        "No model has answered in this conversation yet.",
        "当前对话中模型还没有回答过。",
    ),
    "why_head": (
        "Last answer: `{model}`, {calls} model call(s); the last one saw {messages} messages, about {tokens} of"
        " {window} tokens ({fill}). Policy: {policy}.",
        "上次回答：`{model}`，调用模型 {calls} 次；最后一次看到 {messages} 条消息，约 {tokens} / {window} token"
        "（{fill}）。策略：{policy}。",
    ),
    "why_columns": ("part|characters|about tokens", "部分|字符数|约 token"),
    "why_cut": (
        "✂: older parts are shown in short; /archive has the original.",
        "✂：较早的内容以简短形式呈现，原文见 /archive。",
    ),
    "why_compacted": (
        "Compacted in this turn: about {before} → {after} tokens.",
        "本轮进行了压缩：约 {before} → {after} token。",
    ),
    "why_system": ("system text", "系统提示"),
    "why_tools": ("tools", "工具说明"),
    "why_history": ("history", "历史消息"),
    "why_situation": ("situation", "当前情境"),
    "why_recall": ("recalled memory", "召回的记忆"),
    "why_message": ("your message", "您的消息"),
    "why_work_of_this_turn": ("work of this turn", "本轮过程"),
    "why_summary": ("summary", "摘要"),
    "why_facts": ("key facts", "关键事实"),
    "why_anchors": ("excerpts", "保留片段"),
    "why_earlier_words": ("your earlier words", "您之前的原话"),
}
