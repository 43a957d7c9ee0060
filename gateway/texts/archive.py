"""What the gateway says of the archive, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "help_archive": (
        "read back what was condensed in this conversation",
        "查阅本对话中被压缩的内容",
    ),
    "use_archive": (
        "- `/archive` lists what was cleared or condensed here.\n- `/archive r17` or `/archive r3-r40` shows it.\n"
        "- `/archive ID/r17` shows it of another of your conversations (see /sessions).",
        "- `/archive` 列出本对话中被清理或压缩的内容\n- `/archive r17` 或 `/archive r3-r40` 查看原文\n"
        "- `/archive ID/r17` 查看您其他对话中的原文（ID 见 /sessions）",
    ),
    "archive_empty": (
        "Nothing was condensed in this conversation: the model sees all of it.",
        "本对话没有被压缩的内容，模型能看到全部。",
    ),
    "archive_head": (
        "Condensed in this conversation (`/archive REF` shows it):",
        "本对话中被压缩的内容（`/archive REF` 查看原文）：",
    ),
    "archive_entry": ("- {refs} · {what} · {at}", "- {refs} · {what} · {at}"),
    "archive_more": ("- and {count} earlier ones", "- 另有 {count} 条更早的记录"),
    "archive_clear": ("tool results cleared", "已清理的工具结果"),
    "archive_fold": ("long texts folded", "已折叠的长文本"),
    "archive_clip": ("texts cut short", "已截短的文本"),
    "archive_drop": ("left out: too long for the model", "因超出模型窗口而略去"),
    "archive_summary": ("older messages condensed", "较早的消息已压缩为摘要"),
    "archive_not_found": (
        "There is nothing under {ref} here; `/archive` lists what there is.",
        "这里没有 {ref}，`/archive` 查看列表。",
    ),
    "archive_shown": ("{ref}, {chars} characters:", "{ref}，共 {chars} 个字符："),
    "archive_file": (
        "{ref} has {chars} characters; it is in the file.",
        "{ref} 共 {chars} 个字符，见文件。",
    ),
}
