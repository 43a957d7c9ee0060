"""The loop guard: which words ask for a tool that an answer must rest on (LPG-1 … LPG-7).

Data and pure functions of rows. A rule maps phrases to a tool with its arguments; it acts only where the agent has the
tool. Phrases are looked for in the person's own words alone, never in recalled memory, quotes, files or words of the
runtime (LPG-3, LPG-5, INJ-6). Two wider ways to expect something are off unless a preset asks for them (C-18): words
such as 体检 after talk of holdings, and a bare yes to an offer. Rows belong to one session, so nothing is carried into
another (LPG-2).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent_core.compaction.facts import own_words
from agent_core.tools.spec import ToolFailure, ToolSpec
from agent_core.types import Row, RowKind, ToolResult, ToolUse

State = Literal["met", "failed", "missed"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Words that ask for `tool` with exactly these `args` (LPG-4). Phrases are lower case and found as substrings."""

    kind: str
    tool: str
    args: Mapping[str, Any]
    phrases: tuple[str, ...]


# The more telling kind first: what asks for a diagnosis often holds the words of a view as well.
DIAGNOSE = Rule(
    "diagnose",
    "portfolio",
    {"mode": "diagnose"},
    (
        *("我持仓怎么样", "我的持仓怎么样", "持仓健康吗", "帮我审一下持仓", "帮我诊断持仓"),
        *("how is my portfolio", "how are my holdings", "how are my positions"),
        *("review my portfolio", "review my holdings", "diagnose my portfolio"),
        *("is my portfolio healthy", "check my portfolio"),
    ),
)
VIEW = Rule(
    "view",
    "portfolio",
    {"mode": "view"},
    (
        *("我有什么持仓", "我有哪些持仓", "我买了啥", "我买了什么", "持仓情况"),
        *("show my holdings", "show my positions", "show my portfolio", "list my holdings"),
        *(
            "what are my holdings",
            "what are my positions",
            "what do i hold",
            "what stocks do i own",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Require:
    """What a preset expects of its supervisor. `contextual` and `affirmative` lead to the rule of kind `follow_up`."""

    rules: tuple[Rule, ...] = (DIAGNOSE, VIEW)
    contextual: bool = False
    affirmative: bool = False
    follow_up: str = "diagnose"
    markers: tuple[str, ...] = ("持仓", "成本价", "代码 | 名称 | 持股", "holdings", "cost price")
    follow_ups: tuple[str, ...] = (
        "体检",
        "健康吗",
        "分析这些",
        "这几只",
        "analyse these",
        "analyze these",
    )
    hints: tuple[str, ...] = ("体检", "诊断", "健康", "审一下", "diagnose", "review", "check-up")
    yes: frozenset[str] = field(
        default_factory=lambda: frozenset(
            {"要", "好", "好的", "可以", "行", "yes", "ok", "okay", "sure", "go ahead", "please do"}
        )
    )


MESSAGES_BACK = 4  # LPG-1: in which markers and hints are looked for, the present one left out

# Questions that want an explanation and no look at anything (LPG-5), and words that ask not to look.
_EXPLAIN = re.compile(
    r"什么是|是什么意思|什么意思|含义|为什么|为啥|为何|如何|怎么(?!样)|怎样|解释"
    r"|\b(?:what is|what's|what does|what do you mean|why|explain|how (?:do|does|did|can|could|should|to|would))\b"
    r"|\b(?:calculated|computed|defined|measured)\b"
)
_NOT = re.compile(
    r"(?:别|不要|不用|不必|无需|先不)[^，。,.!！?？]{0,6}$|\b(?:do not|don't|never|no need to) $"
)
_ENDS = " \t\r\n。．.!！~～"


def expected(rows: Sequence[Row], turn_id: int, require: Require) -> Rule | None:
    """The rule that the newest words of this turn fall under, or None.

    `rows` are those that a model may see: neither undone nor hidden.
    """
    said = [row for row in rows if row.turn_id == turn_id and row.kind is RowKind.USER]
    for row in reversed(said):
        words = _normal(own_words(row))
        if words and (rule := _rule(words, row, rows, require)) is not None:
            return rule
    return None


def _normal(words: str) -> str:
    """LPG-2."""
    return words.lower().strip().replace("’", "'")


def _rule(words: str, row: Row, rows: Sequence[Row], require: Require) -> Rule | None:
    if not _EXPLAIN.search(words):
        for rule in require.rules:
            if any(_asked(words, phrase) for phrase in rule.phrases):
                return rule
    follow_up = next((r for r in require.rules if r.kind == require.follow_up), None)
    if follow_up is None or not (require.contextual or require.affirmative):
        return None
    followed = require.contextual and not _EXPLAIN.search(words)
    followed = followed and any(_asked(words, word) for word in require.follow_ups)
    agreed = require.affirmative and words.strip(_ENDS) in require.yes
    if not (followed or agreed):
        return None  # as of nearly all messages, so that what was said before need not be gathered
    before = _before(rows, row.seq)
    marked = any(_normal(m) in before for m in require.markers)
    hinted = any(hint in before for hint in require.hints)
    return follow_up if marked and (followed or hinted) else None


def _asked(words: str, phrase: str) -> bool:
    """Whether the phrase occurs, and at one place at least without a "do not" before it."""
    at = words.find(phrase)
    while at >= 0:
        if not _NOT.search(words[:at]):
            return True
        at = words.find(phrase, at + 1)
    return False


def _before(rows: Sequence[Row], seq: int) -> str:
    """What was said and found in the messages before a row, each tool result being one."""
    kinds = (RowKind.USER, RowKind.ASSISTANT, RowKind.RESULT)
    earlier = [row for row in rows if row.seq < seq and row.kind in kinds]
    return _normal("\n".join(_text(row) for row in earlier[-MESSAGES_BACK:]))


def _text(row: Row) -> str:
    match row.kind:
        case RowKind.USER:
            return own_words(row)
        case RowKind.RESULT:
            return "\n".join(b.content for b in row.message.blocks if isinstance(b, ToolResult))
        case _:
            return row.message.text


def state(rows: Sequence[Row], turn_id: int, rule: Rule, spec: ToolSpec) -> State:
    """Whether this turn has the call that a rule wants: answered, answered with an error (LPG-7), or not made.

    Only a call with the rule's own arguments counts: to view is not to diagnose (LPG-4). Arguments that are left out
    have the values that the tool gives them.
    """
    mine = [row for row in rows if row.turn_id == turn_id]
    results = {
        block.call_id: block
        for row in mine
        if row.kind is RowKind.RESULT
        for block in row.message.blocks
        if isinstance(block, ToolResult)
    }
    found: State = "missed"
    for row in mine:
        for call in row.message.calls if row.kind is RowKind.ASSISTANT else ():
            if call.name != rule.tool or call.id not in results or not _fits(call, rule, spec):
                continue
            if not results[call.id].is_error:
                return "met"
            found = "failed"
    return found


def _fits(call: ToolUse, rule: Rule, spec: ToolSpec) -> bool:
    if call.args is None:
        return False
    try:
        checked = spec.check(call.args)
    except ToolFailure:
        return False
    return all(getattr(checked, name, None) == value for name, value in rule.args.items())
