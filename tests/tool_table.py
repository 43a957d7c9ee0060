"""The README's table of tools, made from their specs (MCP-2): `make docs` writes it, a test holds it to the code.

Tools of other packages have no place in it; those that delegate are made for each team, so words below it name them.
"""

import math
import re
from collections.abc import Iterable
from pathlib import Path

from agent_core.tools.registry import foreign_tools
from agent_core.tools.spec import ToolSpec
from gateway.toolbox import toolbox

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- tools: made by `make docs` -->", "<!-- end of tools -->"
HEAD = (
    "| tool | name | 名称 | what it does | side by side | asks first | background | same once | time-out "
    "| credibility |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)
_SENTENCE = re.compile(r"(?<=[.:;])\s")


def table(tools: Iterable[ToolSpec]) -> str:
    """The table, a row a tool, by name."""
    rows = (_row(spec) for spec in sorted(tools, key=lambda spec: spec.name))
    return "\n".join([HEAD, *rows])


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


def _row(spec: ToolSpec) -> str:
    seconds = "–" if math.isinf(spec.timeout) else f"{spec.timeout:g} s"
    cells = (
        f"`{spec.name}`",
        spec.display("en"),
        spec.display("zh"),
        _SENTENCE.split(spec.description)[0].rstrip(".:;").replace("|", "\\|"),
        _mark(spec.concurrency_safe),
        "yes" if spec.requires_approval else "at times" if spec.rules else "",
        _mark(spec.background),
        _mark(spec.deterministic),
        seconds,
        spec.credibility,
    )
    return f"| {' | '.join(cells)} |"


def _mark(holds: bool) -> str:
    return "yes" if holds else ""


if __name__ == "__main__":
    README.write_text(written(README.read_text("utf-8"), table(shipped())), "utf-8")
