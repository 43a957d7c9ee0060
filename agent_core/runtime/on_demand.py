"""Tools that a session is shown once it needs them: before that, one small tool names them.

The schemas of tools that few chats use are most of what a greeting costs. The list of a session changes once at most,
since a change costs what the provider has cached: it opens with words of the person that speak of such work, with the
first call of any tool, or with the first compaction, which breaks the cache anyway. That is a function of rows and
checkpoints, so that a turn that goes on after a kill is shown the same. What is not shown may be called all the same.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from agent_core.runtime.team import Agent
from agent_core.tools.registry import LOAD_TOOLS
from agent_core.tools.spec import ToolContext, ToolOutput, ToolSpec, tool
from agent_core.types import Checkpoint, Row, RowKind

SKILL = "skill"  # in the meta of a row that calls a skill by its command (skills.py)
LONG = 400  # characters of a message that is work, whatever it says
COMPACTIONS = frozenset({"clear", "fold", "clip", "drop", "summary"})

# Words that speak of markets, money, charts, pages or earlier parts; too many rather than too few: a needless opening
# costs some tokens, a missing one a round.
_WORDS = re.compile(
    r"(?i:\b(?:chart|graph|plot|draw|back-?test|strateg|portfolio|hold|position|account|cash|money|stock|share|fund|"
    r"etf|bond|index|indices|option|future|forex|currenc|crypto|bitcoin|coin|gold|silver|oil|market|sector|industry|"
    r"price|quote|ticker|symbol|trad|buy|bought|sell|sold|invest|return|yield|dividend|earning|profit|loss|gain|fell|"
    r"rose|fall|rise|perform|compar|volatil|risk|hedg|bull|bear|trend|level|average|rsi|macd|s&p|nasdaq|dow|http|www|"
    r"link|web|page|site|news|article|report|pdf|fetch|read|own|worth|overview|archive|earlier|compact|condense|summar|restore))"
    r"|(?<![\w#])\$?[A-Z]{2,5}\b|(?<!\w)\d{5,6}\b|\b(?:19|20)\d\d\b"
    r"|[图线股债币价涨跌买卖仓网]|走势|行情|大盘|概况|资产|基金|指数|期货|期权|汇率|黄金|原油|市场|板块|组合|账户|现金|投资|交易|策略|回测"
    r"|收益|盈|亏|回撤|波动|风险|趋势|链接|新闻|公告|财报|文章|报告|压缩|存档|归档|总结"
)
_REST = re.compile(r"[.:;](?=\s|$)|,? such as | \(")  # where what a tool is for has been said


def held_back(agent: Agent, tools: Mapping[str, ToolSpec]) -> tuple[str, ...]:
    """The tools of the agent that wait, by name."""
    return tuple(sorted(set(agent.on_demand) & tools.keys()))


def load_tools(waiting: Iterable[ToolSpec]) -> ToolSpec:
    """The tool that stands for those that wait: any call opens the list, and this one does nothing else."""
    return _load_tools(tuple((spec.name, spec.description) for spec in waiting))


@lru_cache(maxsize=256)  # each turn asks, and a schema costs a good part of a short one
def _load_tools(waiting: tuple[tuple[str, str], ...]) -> ToolSpec:
    names = ", ".join(name for name, _ in waiting)

    async def load(ctx: ToolContext) -> ToolOutput:
        del ctx
        return ToolOutput(f"You have these tools now: {names}. Go on with them.", names)

    spec = tool(title={"en": "More tools", "zh": "更多工具"}, timeout=10)(load)
    lines = "; ".join(f"{name}: {_what(description)}" for name, description in waiting)
    description = f"Get these tools for the next step, when one of them is needed. {lines}."
    return replace(spec, name=LOAD_TOOLS, description=description)


def shown(tools: Mapping[str, ToolSpec], waiting: Sequence[str]) -> tuple[ToolSpec, ...]:
    """The tools that the model is shown, in their order."""
    hidden = set(waiting) or {LOAD_TOOLS}
    return tuple(spec for name, spec in tools.items() if name not in hidden)


def is_open(rows: Sequence[Row], checkpoints: Sequence[Checkpoint]) -> bool:
    """Whether the session has its whole list."""
    if any(made.kind in COMPACTIONS for made in checkpoints):
        return True
    return any(_opens(row) for row in reversed(rows))


def _opens(row: Row) -> bool:
    if row.kind is RowKind.ASSISTANT:
        return bool(row.message.calls)
    if row.kind is not RowKind.USER:
        return False
    words = row.message.text
    return SKILL in row.meta or len(words) > LONG or _speaks_of_work(words)


@lru_cache(maxsize=2_048)  # each turn of a session that is not open reads its messages again
def _speaks_of_work(words: str) -> bool:
    return _WORDS.search(words) is not None


def _what(description: str) -> str:
    """What a tool says of itself at first."""
    return _REST.split(description)[0]
