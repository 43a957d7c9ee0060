"""The READMEs' table of tools, made from their specs (MCP-2): `make docs` writes it, a test holds it to the code.

Tools of other packages have no place in it; those that delegate are made for each team, so words below it name them.
"""

import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from agent_core.tools.registry import foreign_tools
from agent_core.tools.spec import ToolSpec
from gateway.toolbox import toolbox
from tests.tool_words_zh import BELIEF, WHAT

README = Path(__file__).parents[1] / "README.md"
README_ZH = README.with_name("README.zh-CN.md")
BEGIN, END = "<!-- tools: made by `make docs` -->", "<!-- end of tools -->"
COLUMNS = (
    "tool", "name", "名称", "what it does", "side by side", "asks first", "background", "same once", "time-out",
    "credibility",
)  # fmt: skip
COLUMNS_ZH = (
    "工具", "名称", "作用", "并行", "先询问", "后台", "同参一次", "时限", "可信程度",
)  # fmt: skip
_SENTENCE = re.compile(r"(?<=[.:;])\s")
Cells = tuple[str, ...]


def table(tools: Iterable[ToolSpec]) -> str:
    """The English table, a row a tool, by name."""
    return _table(COLUMNS, tools, _english)


def table_zh(tools: Iterable[ToolSpec]) -> str:
    """The Chinese one. Raises KeyError for a tool that `tool_words_zh.py` does not tell of."""
    return _table(COLUMNS_ZH, tools, _chinese)


def shipped() -> list[ToolSpec]:
    """The tools of this package."""
    foreign = {spec.name for spec in foreign_tools()}
    return [spec for spec in toolbox() if spec.name not in foreign]


def written(readme: str, made: str) -> str:
    """The README with this table between its marks. Raises ValueError where they are missing."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the README has no {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def _table(columns: Cells, tools: Iterable[ToolSpec], cells_of: Callable[[ToolSpec], Cells]) -> str:
    rows = [cells_of(spec) for spec in sorted(tools, key=lambda spec: spec.name)]
    lines = (columns, ("---",) * len(columns), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _english(spec: ToolSpec) -> Cells:
    what = _SENTENCE.split(spec.description)[0].rstrip(".:;").replace("|", "\\|")
    names = (f"`{spec.name}`", spec.display("en"), spec.display("zh"), what)
    return (*names, *_marks(spec, "yes", "at times"), _seconds(spec, "s"), spec.credibility)


def _chinese(spec: ToolSpec) -> Cells:
    names = (f"`{spec.name}`", spec.display("zh"), WHAT[spec.name])
    return (*names, *_marks(spec, "是", "有时"), _seconds(spec, "秒"), BELIEF[spec.credibility])


def _marks(spec: ToolSpec, yes: str, at_times: str) -> Cells:
    asks = yes if spec.requires_approval else at_times if spec.rules else ""
    holds = (spec.concurrency_safe, None, spec.background, spec.deterministic)
    return tuple(asks if h is None else yes if h else "" for h in holds)


def _seconds(spec: ToolSpec, unit: str) -> str:
    return "–" if math.isinf(spec.timeout) else f"{spec.timeout:g} {unit}"


if __name__ == "__main__":
    for file, made in ((README, table(shipped())), (README_ZH, table_zh(shipped()))):
        file.write_text(written(file.read_text("utf-8"), made), "utf-8")
