"""What the gateway says to people, in English and Chinese."""

from gateway.people.identity import Language
from gateway.texts import alerts as texts_alerts
from gateway.texts import archive as texts_archive
from gateway.texts import budget as texts_budget
from gateway.texts import context as texts_context
from gateway.texts import memory as texts_memory
from gateway.texts import session as texts_session
from gateway.texts import skills as texts_skills
from gateway.texts import tasks as texts_tasks
from gateway.texts import trading as texts_trading
from gateway.texts import usage as texts_usage

_TEXTS: dict[str, tuple[str, str]] = {
    "pairing": (
        "Hello. This bot is private. Your pairing code is `{code}` (valid for {hours} hours).\n"
        "Ask its operator to run: `swarmgate users approve {code}`",
        "您好，这个机器人需要配对。您的配对码是 `{code}`（{hours} 小时内有效）。\n"
        "请管理员运行：`swarmgate users approve {code}`",
    ),
    "approved": ("You are in. What would you like to know?", "已通过配对，请问想了解什么？"),
    "rate": (
        "That was more than {limit} messages in a minute. This one was not taken up; please wait a little.",
        "一分钟内超过 {limit} 条消息，这一条未被处理，请稍候再发。",
    ),
    "too_long": (
        "This message has {chars} characters; the limit is {limit}. Please send it in parts or as a file.",
        "这条消息有 {chars} 个字符，上限为 {limit}，请分段发送。",
    ),
    "start": (
        "Hello! Ask me about prices and trends, in English or Chinese, for example:\n\n"
        "- How did GOOG do in 2012, and what does its trend look like?\n"
        "- 分析一下 AAPL 的走势\n\n/help lists the commands.",
        "您好！可以用中文或英文问我行情和走势，例如：\n\n"
        "- 分析一下 AAPL 的走势\n"
        "- How did GOOG do in 2012, and what does its trend look like?\n\n/help 查看命令。",
    ),
    "help_head": ("Commands:", "命令："),
    "help_new": ("start a new conversation", "开始新对话"),
    "help_stop": ("stop the running answer", "停止正在进行的回答"),
    "help_status": ("what is going on", "查看当前状态"),
    "help_model": ("show or choose the model", "查看或选择模型"),
    "help_preset": ("show or choose the preset", "查看或选择预设"),
    "help_approve": ("approve what waits for you", "批准等待您决定的事项"),
    "help_deny": ("deny what waits for you", "拒绝等待您决定的事项"),
    "use_approve": (
        "`/approve 7`, or, to run it with other values:\n\n```\n/approve 7\nname=value\n```",
        "`/approve 7`；要以其他参数执行：\n\n```\n/approve 7\n参数=值\n```",
    ),
    "use_deny": ("`/deny 7`", "`/deny 7`"),
    "help_help": ("this list", "显示命令列表"),
    "help_start": ("a first hello", "打个招呼"),
    "unknown_command": (
        "I do not know /{name}. /help lists the commands.",
        "没有命令 /{name}，/help 查看命令列表。",
    ),
    "new": ("A new conversation begins.", "新对话开始。"),
    "nothing_runs": ("Nothing is running.", "没有正在进行的任务。"),
    "stopping": ("Stopping.", "正在停止。"),
    "status": (
        "- Preset: {preset}\n- Model: {model}\n- Running here: {here}\n- Waiting here: {waiting}\n"
        "- Running in all: {busy}\n- Uptime: {uptime}",
        "- 预设：{preset}\n- 模型：{model}\n- 本对话进行中：{here}\n- 本对话等待中：{waiting}\n"
        "- 总进行中：{busy}\n- 运行时间：{uptime}",
    ),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    "model_now": (
        "Model: {model}\nChoose with /model NAME: {choices}",
        "模型：{model}\n用 /model 名称 选择：{choices}",
    ),
    "model_set": ("From the next message on: {model}.", "从下一条消息起使用：{model}。"),
    "model_unknown": (
        "There is no model {name}. Choices: {choices}",
        "没有模型 {name}，可选：{choices}",
    ),
    "model_not_allowed": (
        "Your role may not choose {name}. Choices: {choices}",
        "您的角色不能选择 {name}，可选：{choices}",
    ),
    "preset_now": (
        "Preset: {preset}\nChoose with /preset NAME:\n\n{choices}",
        "预设：{preset}\n用 /preset 名称 选择：\n\n{choices}",
    ),
    "preset_set": ("From the next message on: {preset}.", "从下一条消息起使用：{preset}。"),
    "preset_unknown": (
        "There is no preset {name}. Choices:\n\n{choices}",
        "没有预设 {name}，可选：\n\n{choices}",
    ),
    "preset_broken": ("Broken: {problem}", "有错误：{problem}"),
    "model_missing": (
        "The model {name} is not available any more; choose another with /model.",
        "模型 {name} 已不可用，请用 /model 另选。",
    ),
    "preset_missing": (
        "The preset {name} is not available any more; choose another with /preset.",
        "预设 {name} 已不可用，请用 /preset 另选。",
    ),
    "preset_changed": (
        "The preset {name} has changed since I began, and cannot go on as it was. Please ask again.",
        "预设 {name} 在处理期间已更改，无法按原来的内容继续，请重新提问。",
    ),
    "file_failed": (
        "I could not fetch {name}. Please send it again.",
        "无法取得文件 {name}，请重新发送。",
    ),
    "file_large": (
        "{name} was not taken: files may have {limit} MB at most.",
        "文件 {name} 未被接收：单个文件最大 {limit} MB。",
    ),
    "files_many": (
        "Only the first {limit} files were taken; please send the others in a message of their own.",
        "只接收了前 {limit} 个文件，其余请另发一条消息。",
    ),
    "picture_blind": (
        "The model {model} cannot see pictures. Describe it in words, or choose another with /model.",
        "模型 {model} 看不到图片。请用文字描述，或用 /model 另选模型。",
    ),
    "picture_broken": (
        "{name} cannot be opened as a picture. Please send it as PNG or JPEG.",
        "无法打开图片 {name}，请以 PNG 或 JPEG 格式发送。",
    ),
    "voice_deaf": (
        "I cannot listen to voice messages here. Please write instead.",
        "这里无法收听语音消息，请改用文字。",
    ),
    "voice_failed": (
        "I could not understand your voice message. Please send it again, or write instead.",
        "语音消息未能识别，请重新发送或改用文字。",
    ),
    "voice_unpaid": (
        "The budget does not cover your voice message. Please write instead; /budget shows more.",
        "预算不足，无法识别语音消息，请改用文字；/budget 查看详情。",
    ),
    "voice_empty": (
        "I hear no words in your voice message.",
        "语音消息中没有听到内容。",
    ),
    "done_so_far": ("Done so far:", "已完成："),
    "question_follows": ("A question follows.", "请看下面的问题。"),
    "stop_button": ("Stop", "停止"),
    "stopped_toast": ("Stopping…", "正在停止…"),
    "not_yours": ("Only the person who asked can do this.", "只有提问者可以操作。"),
    "thinking": ("Thinking…", "思考中…"),
    "delivery_failed": (
        "A part of this answer could not be shown here.",
        "回答的一部分无法在此显示。",
    ),
}


_TEXTS |= texts_session.TEXTS | texts_archive.TEXTS | texts_usage.TEXTS | texts_context.TEXTS
_TEXTS |= texts_memory.TEXTS | texts_budget.TEXTS | texts_tasks.TEXTS
_TEXTS |= texts_alerts.TEXTS
_TEXTS |= texts_trading.TEXTS | texts_skills.TEXTS


def has(code: str) -> bool:
    """Whether there is a text of this code."""
    return code in _TEXTS


def say(code: str, language: Language, /, **values: object) -> str:
    """The text of a code in a language, with its values filled in."""
    return _TEXTS[code][language == "zh"].format(**values)
