"""What the gateway says of sessions, languages, reminders, links and groups, in English and Chinese."""

TEXTS: dict[str, tuple[str, str]] = {
    "help_sessions": ("list the conversations of this chat", "列出本聊天的对话"),
    "help_resume": ("go back to an earlier conversation", "回到之前的对话"),
    "help_fork": ("go on in a copy of this conversation", "在副本中继续当前对话"),
    "help_undo": ("take the last question and answer back", "撤回上一轮问答"),
    "help_retry": ("ask the last question again", "重新回答上一个问题"),
    "help_thinking": ("show or hide the model's reasoning", "显示或隐藏推理过程"),
    "help_language": ("choose the language: en, zh or auto", "选择语言：en、zh 或 auto"),
    "help_remind": ("be reminded here at a time", "到时间在此提醒"),
    "help_link": ("link your accounts on two platforms", "关联两个平台上的账号"),
    "more_help": ("`/help NAME` tells more of one.", "`/help 名称` 查看某个命令的用法。"),
    "use_resume": (
        "`/resume ID`\nIDs stand in /sessions; the beginning of one is enough.",
        "`/resume ID`\nID 见 /sessions，输入开头几位即可。",
    ),
    "use_retry": (
        "`/retry`\nTakes the last turn back and asks the same again.",
        "`/retry`\n撤回上一轮，并用原话重新提问。",
    ),
    "use_undo": (
        "`/undo`\nThe model no longer sees the last turn. Twice takes back two.",
        "`/undo`\n模型不再看到上一轮问答；再次使用可继续撤回。",
    ),
    "use_thinking": ("`/thinking on` · `/thinking off`", "`/thinking on` · `/thinking off`"),
    "use_language": (
        "`/language en` · `/language zh` · `/language auto`",
        "`/language en` · `/language zh` · `/language auto`",
    ),
    "use_model": (
        "`/model` · `/model NAME` · `/model auto`",
        "`/model` · `/model 名称` · `/model auto`",
    ),
    "use_preset": ("`/preset` · `/preset NAME`", "`/preset` · `/preset 名称`"),
    "use_remind": (
        "- `/remind in 10m tea`\n- `/remind 2026-12-01 09:00 call the bank`\n- `/remind tomorrow 9:30 stand-up`\n"
        "- `/remind list`\n- `/remind cancel ID`",
        "- `/remind 10分钟后 喝水`\n- `/remind 明天 9:30 开会`\n- `/remind 2026-12-01 09:00 给银行打电话`\n"
        "- `/remind list`\n- `/remind cancel ID`",
    ),
    "use_link": (
        "- `/link` gives a code.\n- Send `/link CODE` to this bot from your account on another platform.\n"
        "- Then confirm here.\n- `/link remove` ends it.",
        "- `/link` 获取关联码\n- 在另一平台向本机器人发送 `/link 关联码`\n- 然后在这里确认\n- `/link remove` 解除关联",
    ),
    "untitled": ("(without words)", "（无文字）"),
    "sessions_head": (
        "Conversations here (/resume ID goes back to one):",
        "本聊天的对话（/resume ID 可返回）：",
    ),
    "sessions_entry": ("- `{id}` {title} · {at}{here}", "- `{id}` {title} · {at}{here}"),
    "sessions_here": (" · **now**", " · **当前**"),
    "sessions_more": ("- and {count} older ones", "- 另有 {count} 个更早的对话"),
    "resumed": ("Back in `{id}`: {title}", "已回到 `{id}`：{title}"),
    "resume_unknown": (
        "There is no single conversation {id} here; /sessions lists them.",
        "本聊天中没有唯一匹配 {id} 的对话，/sessions 查看列表。",
    ),
    "forked": (
        "You go on in a copy, `{id}`; the conversation so far stays as `{old}`.",
        "已在副本 `{id}` 中继续，原对话保留为 `{old}`。",
    ),
    "fork_empty": ("There is nothing to copy yet.", "还没有可复制的内容。"),
    "undone": ("Taken back: {words}", "已撤回：{words}"),
    "nothing_to_undo": (
        "There is no finished turn to take back.",
        "没有可撤回的已完成问答。",
    ),
    "nothing_to_retry": (
        "There is no finished turn to ask again.",
        "没有可重新提问的已完成问答。",
    ),
    "thinking_on": ("Reasoning is shown from the next message on.", "从下一条消息起显示推理过程。"),
    "thinking_off": ("Reasoning is not shown any more.", "不再显示推理过程。"),
    "reasoning": ("Reasoning", "推理过程"),
    "language_set": ("I speak English with you from now on.", "从现在起我用中文和您交流。"),
    "language_auto": (
        "I speak the language you write in, from now on.",
        "从现在起我使用您所用的语言。",
    ),
    "how_to": ("How to use it:\n\n{use}", "用法：\n\n{use}"),
    "remind_set": (
        "I will remind you here on {at} ({zone}): {text}\n_No. {id}_",
        "我会在 {at}（{zone}）提醒您：{text}\n_编号 {id}_",
    ),
    "remind_past": ("{at} ({zone}) has passed already.", "{at}（{zone}）已经过去。"),
    "remind_far": (
        "{at} is too far away; the limit is {years} years.",
        "{at} 太远了，最多 {years} 年。",
    ),
    "remind_many": (
        "You have {limit} reminders already; `/remind cancel ID` ends one.",
        "您已有 {limit} 个提醒，可用 `/remind cancel ID` 取消。",
    ),
    "remind_long": (
        "The text has {chars} characters; the limit is {limit}.",
        "提醒内容有 {chars} 个字符，上限为 {limit}。",
    ),
    "remind_none": ("You have no reminders here.", "您在这里没有提醒。"),
    "remind_entry": ("- {id} · {at} · {text}", "- {id} · {at} · {text}"),
    "remind_cancelled": ("Reminder {id} is cancelled.", "提醒 {id} 已取消。"),
    "remind_unknown": (
        "You have no reminder {id}; `/remind list` shows yours.",
        "您没有编号为 {id} 的提醒，`/remind list` 查看。",
    ),
    "reminder": ("⏰ {text}", "⏰ {text}"),
    "reminder_late": ("⏰ {text}\n\n_This was due at {at}._", "⏰ {text}\n\n_原定时间 {at}。_"),
    "reminder_missed": (
        "⏰ Missed while I was away: {text}\n\n_This was due on {at}._",
        "⏰ 我离线时错过的提醒：{text}\n\n_原定时间 {at}。_",
    ),
    "link_private": (
        "Linking works in a private chat with me only: the code is for your eyes.",
        "请在与我的私聊中使用：关联码只应您本人看到。",
    ),
    "link_code": (
        "From your account on the other platform, send me this within {minutes} minutes:\n\n`/link {code}`\n\n"
        "I will then ask you here to confirm.",
        "请在 {minutes} 分钟内，用您在另一平台的账号向我发送：\n\n`/link {code}`\n\n之后我会在这里请您确认。",
    ),
    "link_now": ("Linked with: {others}", "已关联：{others}"),
    "link_unknown": (
        "This code is unknown, used or expired. `/link` on the other account gives a new one.",
        "关联码不存在、已使用或已过期。请在另一账号用 `/link` 重新获取。",
    ),
    "link_self": (
        "You asked for this code yourself. Send it from your other account.",
        "这是您自己的关联码，请用另一个账号发送。",
    ),
    "link_already": (
        "This account is linked already; `/link remove` ends that first.",
        "此账号已关联，请先用 `/link remove` 解除。",
    ),
    "link_asked": (
        "Now confirm it as {person}: I have sent a question there. Both accounts will share memory, portfolio and "
        "budget. If that account is not your own: `/link remove`.",
        "请用 {person} 确认：我已向该账号发送确认消息。关联后两个账号共享记忆、投资组合和预算。"
        "如果该账号不是您本人的，请发送 `/link remove`。",
    ),
    "link_confirm": (
        "{name} ({person}) wants to be linked with you. Both accounts then share memory, portfolio and budget. "
        "Confirm only if that account is your own.",
        "{name}（{person}）请求与您关联。关联后两个账号共享记忆、投资组合和预算。仅当该账号属于您本人时才确认。",
    ),
    "link_yes": ("Link", "关联"),
    "link_no": ("No", "不关联"),
    "link_done": ("{one} and {other} are linked.", "{one} 与 {other} 已关联。"),
    "link_refused": ("Not linked.", "未关联。"),
    "link_removed": ("The link is removed: {others}", "已解除关联：{others}"),
    "link_none": ("There is no link to remove.", "没有可解除的关联。"),
    "not_open": ("This is no longer open.", "已失效。"),
    "rate_group": (
        "That was more than {limit} messages of this group in a minute. Some were not taken up; please wait a little.",
        "本群一分钟内超过 {limit} 条消息，部分消息未被处理，请稍候再发。",
    ),
    "lite_preset": (
        "In this group only a small set of tools is open; the preset cannot be chosen here.",
        "本群仅开放少量工具，不能选择预设。",
    ),
    "ago_days": ("{count} d ago", "{count} 天前"),
    "ago_hours": ("{count} h ago", "{count} 小时前"),
    "ago_minutes": ("{count} min ago", "{count} 分钟前"),
    "ago_now": ("just now", "刚刚"),
    "closed": (
        "This conversation is closed. Mention me in the channel to open another; a message here begins a new one.",
        "本对话已结束。在频道中提及我即可开始另一个对话；在此继续发消息则开始新对话。",
    ),
    "status_parked": (
        "- Replies that could not be delivered: {count}",
        "- 未能送达的回复：{count}",
    ),
}
