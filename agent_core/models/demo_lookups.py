"""Arguments of what is looked up, kept or started, from a person's words: pages, files, memory, tasks, skills."""

import re

from agent_core.models.demo_ask import Args, Ask

URL = re.compile(r"https?://[^\s<>\"'，。；）)]+", re.IGNORECASE)
_NOTE = re.compile(
    r"^\s*(?:please\s+)?(?:remember|note)(?:\s+that)?\b[:,]?\s*(.+)|^\s*(?:请|帮我)?(?:记住|记下)[:：，,]?\s*(.+)",
    re.IGNORECASE | re.DOTALL,
)
_RULE = re.compile(
    r"\b(?:never|always|must|don'?t|do\s+not|at\s+most)\b|从不|绝不|不要|不买|总是|必须|最多",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:plan|intend|will|going\s+to|want\s+to)\b|打算|计划|准备|将要|想要", re.IGNORECASE
)
_TASK = re.compile(r"\b(?:task)\s+#?([a-z0-9]{4,40})\b|任务\s*#?([a-z0-9]{4,40})", re.IGNORECASE)
_CANCELS = re.compile(r"\b(?:cancel|stop|end|abort)\b|取消|停止|结束", re.IGNORECASE)
_SKILL = re.compile(
    r"\b(?:use|load|run|apply)\s+(?:the\s+)?([a-z][a-z0-9_-]*)\s+skill\b|\bskill\s+([a-z][a-z0-9_-]*)|"
    r"(?:用|使用|加载|运行)\s*([a-z][a-z0-9_-]*)\s*(?:这个)?技能",
    re.IGNORECASE,
)
_ON = re.compile(r"\b(?:on|for|with)\b|[，,:：]|分析|处理", re.IGNORECASE)
_PATH = re.compile(r"([\w-]+(?:/[\w.-]+)*\.[a-z][a-z0-9]{0,4})\b", re.IGNORECASE)
_WRITE = re.compile(
    r"[\"“「'](.+?)[\"”」'].*?([\w-]+(?:/[\w.-]+)*\.[a-z][a-z0-9]{0,4})", re.IGNORECASE | re.DOTALL
)
_COMMAND = re.compile(r"(?:command|命令)\s*[:：]?\s*`?([^`\n]+?)`?\s*$", re.IGNORECASE)
_REF = re.compile(r"\b(r\d+(?:-r\d+)?|b[0-9a-f]{8,40})\b", re.IGNORECASE)
_LISTS = re.compile(r"\b(?:list|which|what|show|my)\b|列出|哪些|查看|我的", re.IGNORECASE)
_ALERT = re.compile(
    r"((?:is\s+)?\b(?:above|below|over|under|up|down|rsi|sma\d*|ema\d*|rises?|falls?|drops?)\b.*|"
    r"(?:当日)?(?:高于|低于|跌破|突破|涨到|跌到|涨|跌|超过).*)",
    re.IGNORECASE,
)
_DROP_ALERT = re.compile(
    r"\b(?:remove|delete|cancel)\b\D{0,20}(\d+)|(?:删除|取消)\D{0,8}(\d+)", re.IGNORECASE
)
_REMIND = re.compile(
    r"\bremind\s+me\s+(in\s+\d+\s*\w+|tomorrow(?:\s+(?:at\s+)?\d{1,2}:\d{2})?|\d{4}-\d\d-\d\d(?:\s+\d{1,2}:\d{2})?)"
    r"(?:\s+(?:to|that|of|about))?\s+(.+)|"
    r"(明天(?:\s*\d{1,2}[:：]\d{2})?|\d+\s*(?:分钟|小时|天)[之以]?后|\d{4}-\d\d-\d\d(?:\s+\d{1,2}:\d{2})?)"
    r"[，,\s]*提醒我\s*(.+)",
    re.IGNORECASE | re.DOTALL,
)


def _first(match: re.Match[str] | None) -> str:
    return next(filter(None, match.groups()), "").strip() if match else ""


def page(ask: Ask) -> Args | None:
    """web_fetch: the address."""
    found = URL.search(ask.text)
    return {"url": found[0].rstrip(".,!?")} if found else None


def searched(ask: Ask) -> Args | None:
    """web_search: the words without those that ask for the search."""
    noise = (
        r"\b(?:please|search|look|find|the|web|internet|online|on|in|for|about|news|latest|what|is|are|me|any)\b|"
        r"[请帮我上网搜索一下网上查找的有什么关于最新消息新闻？?。]"
    )
    left = " ".join(re.sub(noise, " ", ask.text, flags=re.IGNORECASE).split())
    news = " news" if re.search(r"\bnews\b|新闻|消息", ask.text, re.IGNORECASE) else ""
    return {"query": f"{left}{news}"[:400]} if len(left) > 1 else None


def past(ask: Ask) -> Args:
    """query_history: the person's words."""
    return {"query": ask.text[:1_000]}


def note(ask: Ask) -> Args | None:
    """remember: the person's own words and their kind."""
    text = _first(_NOTE.search(ask.text))[:500]
    if len(text) < 2:
        return None
    kind = "rule" if _RULE.search(text) else "plan" if _PLAN.search(text) else "view"
    return {"text": text, "kind": kind}


def tasks(ask: Ask) -> Args:
    """check_background_tasks: all, or one by its id."""
    found = _first(_TASK.search(ask.text))
    if not re.search(r"\d", found):
        return {"action": "list"}
    return {"action": "cancel" if _CANCELS.search(ask.text) else "result", "task_id": found}


def document(_: Ask) -> Args:
    """read_document: the newest file that was sent."""
    return {}


def file(ask: Ask) -> Args:
    """read_file: the path that is named, else the workspace itself."""
    found = _PATH.search(ask.text)
    return {"path": found[1] if found else "."}


def written(ask: Ask) -> Args | None:
    """write_file: what stands in quotes, into the file that is named behind it."""
    found = _WRITE.search(ask.text)
    return {"path": found[2], "content": found[1]} if found else None


def command(ask: Ask) -> Args | None:
    """exec_command: what stands behind the word "command"."""
    found = _first(_COMMAND.search(ask.text))
    return {"command": found} if found else None


def skill(ask: Ask) -> Args | None:
    """load_skill: its name, and what it is to be used on."""
    found = _SKILL.search(ask.text)
    if not found:
        return None
    behind = ask.text[found.end() :]
    return {"name": _first(found).lower(), "user_input": _ON.sub(" ", behind).strip(" .。")[:1_500]}


def kept(ask: Ask) -> Args | None:
    """restore_archive: the reference."""
    found = _REF.search(ask.text)
    return {"ref": found[1].lower()} if found else None


def topic(ask: Ask) -> Args | None:
    """load_context: what is to be explained."""
    noise = r"\b(?:please|explain|what|is|are|the|tell|me|about)\b|[请帮我]|解释|一下|什么是|是什么|意思|[？?。]"
    left = " ".join(re.sub(noise, " ", ask.text, flags=re.IGNORECASE).split())
    return {"topic_or_symbol": left[:200]} if left else None


def alarm(ask: Ask) -> Args | None:
    """alert: a share and a condition; or the list, or a number to remove."""
    if dropped := _first(_DROP_ALERT.search(ask.rest)):
        return {"action": "remove", "number": int(dropped)}
    condition = _first(_ALERT.search(ask.rest))
    if ask.symbols and condition:
        plain = re.sub(r"^is\s+|的?(?:时候?)?(?:提醒|通知|告诉)我?.*$|[。.!！]+$", "", condition)
        repeats = re.search(r"\b(?:each|every)\s+time\b|每次", ask.rest, re.IGNORECASE)
        made = {"action": "add", "symbol": ask.symbols[0], "condition": plain.strip()}
        return made | ({"repeat": True} if repeats else {})
    return {"action": "list"} if _LISTS.search(ask.rest) else None


def reminder(ask: Ask) -> Args | None:
    """remind: when and of what; or the list."""
    found = _REMIND.search(ask.text)
    if found:
        when, text = filter(None, found.groups())
        return {"action": "add", "when": when.strip(), "text": text.strip()}
    return {"action": "list"} if _LISTS.search(ask.text) else None


def condensed(_: Ask) -> Args:
    """compact: no topic."""
    return {}
