"""`check`: a doctor. What is well, what is to be known, and what must be mended, each with its cure."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.config import find
from gateway.cli.options import Config, Json
from gateway.cli.output import finish, out, refusal, show

if TYPE_CHECKING:
    from gateway.doctor.findings import Finding


def check(
    fix: Annotated[
        bool, typer.Option("--fix", help="Make missing folders, close files that are open.")
    ] = False,
    migrate: Annotated[
        bool,
        typer.Option("--migrate", help="With --fix: upgrade the database too. Back it up before."),
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no platform, no model and no other clock.")
    ] = False,
    ask_sources: Annotated[
        bool, typer.Option("--ask-sources", help="Ask each live data source for a price.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for warnings as well.")] = False,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Look at settings, files, database, machine, models and platforms; each finding with its cure.

    Exit 0 when nothing must be mended (warnings are told), 1 when something must, 2 for wrong use.
    """

    def command() -> int:
        from gateway.doctor.examine import examine

        found = examine(find(config), offline=offline, ask_sources=ask_sources)
        return report(found, fix=fix, migrate=migrate, strict=strict, as_json=as_json)

    raise typer.Exit(finish(command))


def report(found: "list[Finding]", *, fix: bool, migrate: bool, strict: bool, as_json: bool) -> int:
    """Tell all findings; those that `fix` mended are told as such and count no more. Returns the exit code."""
    from gateway.doctor.findings import Level

    mended = {at: _mend(f) for at, f in enumerate(found) if fix and _may(f, migrate=migrate)}
    done = {at for at, failed in mended.items() if not failed}
    if as_json:
        show([_row(f, at in done) for at, f in enumerate(found)], (), as_json=True)
    else:
        for at, finding in enumerate(found):
            _tell(finding, done=at in done, failed=mended.get(at, ""))
    left = [f.level for at, f in enumerate(found) if at not in done]
    fails, warns = left.count(Level.FAIL), left.count(Level.WARN)
    if not as_json:
        out(_sum(fails, warns))
    return 1 if fails or (strict and warns) else 0


def _may(finding: "Finding", *, migrate: bool) -> bool:
    return finding.mend is not None and (migrate or not finding.mend.asked)


def _mend(finding: "Finding") -> str:
    """Mend it; returns why that failed, or nothing."""
    if finding.mend is None:
        return ""
    try:
        finding.mend.do()
    except Exception as error:
        problems = refusal(error)  # of a defect of ours there is none
        if problems is None:
            raise
        return str(problems[0])
    return ""


def _tell(finding: "Finding", *, done: bool, failed: str) -> None:
    if done and finding.mend:
        out(f"fixed {finding.id}: {finding.mend.does}")
        return
    more = f" (could not be mended: {failed})" if failed else ""
    problem = finding.problem
    if finding.id.endswith(problem.key):
        problem = replace(problem, key="")  # the id says it
    out(f"{finding.level.value:<5} {finding.id}: {problem}{more}")


def _row(finding: "Finding", fixed: bool) -> dict[str, object]:
    return {
        "id": finding.id,
        "level": finding.level.value,
        "fixed": fixed,
        **finding.problem.as_dict(),
    }


def _sum(fails: int, warns: int) -> str:
    known = f"{warns} warning{'s' if warns != 1 else ''}" if warns else ""
    if fails:
        return f"{fails} to mend" + (f", {known}" if known else "")
    return f"fine, with {known}" if known else "fine"
