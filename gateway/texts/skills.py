"""What the gateway says of skills and templates, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "help_skills": ("list skills and templates; keep your own", "列出技能和模板，管理自己的技能"),
    "use_skills": (
        "- `/skills` lists them; each is a command, such as `/checkup AAPL`.\n- `/skills show NAME`\n"
        "- `/skills add NAME` with your instructions below it; `{{user_input}}` stands for what you write behind the "
        "command.\n- `/skills remove NAME`",
        "- `/skills` 列出全部；每个都是命令，例如 `/checkup AAPL`\n- `/skills show 名称`\n"
        "- `/skills add 名称`，换行写下步骤；`{{user_input}}` 代表命令后面的内容\n- `/skills remove 名称`",
    ),
    "skills_head": ("Skills; each is a command:", "技能（每个都是命令）："),
    "skills_own": ("Your own:", "您自己的："),
    "skills_templates": ("Templates:", "模板："),
    "skills_entry": ("- /{name} — {text}", "- /{name} — {text}"),
    "skills_entry_bare": ("- `{name}` — {text}", "- `{name}` — {text}"),
    "skills_more": (
        "`/help skills` tells how to keep your own.",
        "`/help skills` 查看如何添加自己的技能。",
    ),
    "skills_unknown": (
        "There is no skill {name}; /skills lists them.",
        "没有技能 {name}，/skills 查看列表。",
    ),
    "skills_private": (
        "Your own skills are kept and removed in a private chat with me.",
        "请在与我的私聊中添加或删除自己的技能。",
    ),
    "skills_added": (
        "Kept as `{name}`: send `/{command}` to use it. A conversation that is going on lists it after /new.",
        "已保存为 `{name}`，发送 `/{command}` 即可使用。进行中的对话在 /new 之后才会列出它。",
    ),
    "skills_replaces": (
        "It replaces the skill of the same name, for you alone.",
        "它仅对您替换同名技能。",
    ),
    "skills_bad": (
        "Not kept: the lines between the two `---` cannot be read ({problem}). They may be left out.",
        "未保存：两行 `---` 之间的内容无法读取（{problem}）。这部分可以省略。",
    ),
    "skills_name": (
        "{name} is no name: use a-z, 0-9, _ and -, at most 64, a letter first.",
        "{name} 不能作为名称：请用 a-z、0-9、_ 和 -，最多 64 个字符，以字母开头。",
    ),
    "skills_long": (
        "Not kept: it has {chars} characters, the limit is {limit}.",
        "未保存：共 {chars} 个字符，上限为 {limit}。",
    ),
    "skills_command": (
        "{name} is a command of the gateway; choose another name.",
        "{name} 是系统命令，请换一个名称。",
    ),
    "skills_many": (
        "You have {limit} skills already; `/skills remove NAME` ends one.",
        "您已有 {limit} 个技能，可用 `/skills remove 名称` 删除。",
    ),
    "skills_removed": ("The skill {name} is removed.", "技能 {name} 已删除。"),
    "skills_not_own": ("You have no skill {name} of your own.", "您没有自己的技能 {name}。"),
}
