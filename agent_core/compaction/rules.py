"""By which words a person's message is seen to lay something down: keywords, rules, amounts; and what it is about.

Keywords are a fixed table (KFS-1). They catch rules that are announced, and miss those that are not: 我不能吃辣 has
none of them (KFS-3). The rule patterns close that gap for English and Chinese (KFS-4). Neither understands a fact; a
question is never one, except for the table, which does not look.
"""

import re
from collections.abc import Iterator

from agent_core import symbols, text

KEYWORDS = ("过敏", "预算", "重要", "对了", "一定要", "不要")  # KFS-1

_KEYWORD = re.compile("|".join(KEYWORDS))

# A measure word (一只股票), other people (别人) and kinds (类别) are no rules; neither are questions (能不能).
_RULE_ZH = re.compile(
    r"(?<!能)(?<!会)不(?:能|得|可|可以|许|准|允许|吃|喝|碰|买|做|考虑|接受|想要|喜欢)(?!不)|(?<![能可会要])不要(?!不)"
    r"|(?<![特区分级类性个派告辨识差鉴])别(?![的人处家墅致名称扭管看提])"
    r"|(?<![一二两三四五六七八九十几这那每哪单多数0-9])只(?:能|要|买|做|看|用|接受|考虑|想|关注|持|投|吃|喝|在|有|许|准|炒|玩)"
    r"|最多|最少|至少|至多|不超过|不低于|不少于|上限|下限|必须|务必|禁止|严禁|不得|绝不|绝对不|从不|永远不|总是|一律|忌口"
    r"|过敏|记住|偏好|更?喜欢|讨厌"
)
# What somebody lacks or feels is no rule: "I don't have my number", "I can't remember".
_LACKS = (
    r"(?!\s+(?:actually |really |currently )?(?:have|know|remember|recall|see|think|find|mind|understand|believe|get"
    r"|want to|access|locate|seem|tell|wait|thank)\b)"
)
_RULE_EN = re.compile(
    rf"\b(?:(?:can(?:no|['’])?t|cannot|can not|do(?:es)?(?: not|n['’]t)|won['’]t|should(?: not|n['’]t)){_LACKS}"
    r"|never|must(?:n['’]t| not)?|only|at (?:most|least)|no (?:more|less|fewer) than|(?:up|limited) to|maximum|minimum"
    r"|always|avoid|refuse|forbidden|allerg(?:ic|y|ies)|vegan|vegetarian|prefer(?:s|ence|red)?|hate|remember that"
    r"|keep in mind|important that|is important|my budget|budget (?:is|of)|make sure|not allowed"
    r"|under no circumstances|without exception|no matter what)\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"[$¥€£￥]\s?\d[\d,]*(?:\.\d+)?\s?(?:[kKmM]\b|万|亿|千)?"
    r"|(?<![A-Za-z0-9_.])\d[\d,]*(?:\.\d+)?\s?"
    r"(?:%|percent\b|(?:[万亿千百]\s?)?(?:美元|港元|港币|人民币|块|元|股|手|张|份|点|个点)|万|亿"
    r"|[kKmM]?\s?(?:usd|eur|rmb|cny|hkd|dollars?|yuan|shares?|lots?|contracts?|bps)\b)",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"[?？]\s*$|(?:吗|呢|么|多少|几[个股元天]|是什么|怎么[样办]?)[。!！\s]*$"
    r"|^\s*(?:what|why|how|when|where|who|which|is|are|does|did|do|can|could|would|should|will)\b[^.!。！]*[?？]",
    re.IGNORECASE,
)

# What a later value of the same thing replaces (KFS-5). The wider word stands behind the narrower one.
_SUBJECTS = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("budget", r"预算|\bbudget\b"),
        ("stop", r"止损|\bstop[- ]?loss(?:es)?\b|\bstops?\b(?= (?:is|at|of|to)\b)"),
        ("target", r"止盈|目标价|\btake[- ]profit\b|\b(?:price )?target\b"),
        ("position", r"仓位|\bposition(?: size| limit)?s?\b"),
        ("leverage", r"杠杆|\bleverage\b"),
        ("deadline", r"截止|\bdeadline\b"),
        ("drawdown", r"回撤|\bdrawdown\b"),
        ("capital", r"本金|总资金|\bcapital\b"),
    )
)
# Values of one subject that hold side by side: a day's and the whole budget.
_QUALIFIERS = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("day", r"每天|每日|日均|一天|\bdaily\b|\b(?:per|a|each|every) day\b"),
        ("week", r"每周|\bweekly\b|\b(?:per|a|each) week\b"),
        ("month", r"每月|每个月|月度|\bmonthly\b|\b(?:per|a|each) month\b"),
        ("person", r"每人|人均|\bper person\b"),
        ("trade", r"单笔|每笔|\b(?:per|each|single) trade\b"),
        ("each", r"单只|每只|单一|\b(?:per|each|single) (?:stock|share|name|symbol)\b"),
        ("total", r"总(?!是)|一共|全部|\b(?:total|overall|in all)\b"),
        ("hotel", r"酒店|住宿|\b(?:hotel|lodging)\b"),
        ("food", r"吃饭|餐饮|餐费|\b(?:food|meals?)\b"),
        ("travel", r"交通|机票|车票|\b(?:travel|flights?|transport)\b"),
    )
)
_KEY_CHARS = 200  # a longer text is no statement about one value
_VALUE = re.compile(
    r"\d|[一二两三四五六七八九十百千万半]|没有|不限|\bno\b|\bunlimited\b|\bnone\b", re.IGNORECASE
)


def keywords(said: str) -> Iterator[tuple[int, int]]:
    """Where a word of the table stands (KFS-1)."""
    return (m.span() for m in _KEYWORD.finditer(said))


def rules(said: str) -> Iterator[tuple[int, int]]:
    """Where a statement forbids, demands, limits or sets something, or says what the person likes (KFS-4)."""
    for at, sentence in _statements(said):
        for pattern in (_RULE_ZH, _RULE_EN):
            yield from ((at + m.start(), at + m.end()) for m in pattern.finditer(sentence))
        if _VALUE.search(sentence):
            for _, pattern in _SUBJECTS:
                yield from ((at + m.start(), at + m.end()) for m in pattern.finditer(sentence))


def amounts(said: str) -> Iterator[tuple[int, int]]:
    """Where a statement names an amount with its unit (KFS-4)."""
    for at, sentence in _statements(said):
        yield from ((at + m.start(), at + m.end()) for m in _AMOUNT.finditer(sentence))


def key_of(said: str) -> str:
    """What a piece of a message sets, such as "budget:day" or "stop@NVDA"; "" where it sets no value.

    A question and a mere mention set nothing. Several subjects at once: the first counts for none of them, so that a
    later value of one does not take away the other.
    """
    if len(said) > _KEY_CHARS or _QUESTION.search(said):
        return ""
    named = [(name, m) for name, pattern in _SUBJECTS if (m := pattern.search(said))]
    if len(named) != 1 or not _VALUE.search(said):
        return ""
    subject = named[0][0]
    qualifier = next((name for name, pattern in _QUALIFIERS if pattern.search(said)), "")
    codes = sorted({m.symbol.id for m in symbols.find(said)})
    return (
        subject + (f":{qualifier}" if qualifier else "") + ("@" + "+".join(codes) if codes else "")
    )


def _statements(said: str) -> Iterator[tuple[int, str]]:
    at = 0
    for sentence in text.sentences(said):
        if not _QUESTION.search(sentence):
            yield at, sentence
        at += len(sentence)
