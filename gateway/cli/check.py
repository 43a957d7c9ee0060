"""`check`: what would stop the gateway, or is worth mending, each with its cure."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.config import find
from gateway.cli.options import Config, Json
from gateway.cli.output import err, finish, out, show
from gateway.problems import Problem, SettingsError
from gateway.settings.settings import Settings, load
from gateway.settings.trading import LIVE

LOOPBACK = {"127.0.0.1", "::1", "localhost"}
TOKEN_LENGTH = 35  # characters of a Telegram token after its colon


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, its id, and the folder whose creation or the file whose mode would mend it."""

    id: str
    problem: Problem
    folder: Path | None = None
    private: Path | None = None

    def fix(self) -> bool:
        """Mend it where that is safe; says whether it was."""
        if self.folder is not None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.private is not None:
            self.private.chmod(0o600)
        return self.folder is not None or self.private is not None


def check(
    fix: Annotated[bool, typer.Option("--fix", help="Create folders, close open files.")] = False,
    ask_sources: Annotated[
        bool, typer.Option("--ask-sources", help="Ask each live data source for a price.")
    ] = False,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Check settings, presets, data sources, the data folder and the database. Exit 1 when there is a finding."""
    raise typer.Exit(
        finish(lambda: report(config, fix=fix, as_json=as_json, ask_sources=ask_sources))
    )


def report(config: Path | None, *, fix: bool, as_json: bool, ask_sources: bool = False) -> int:
    """Print all findings; those that `fix` mended are told but do not count."""
    notes: list[str] = []
    found = list(findings(config, notes, ask_sources=ask_sources))
    mended = [finding for finding in found if fix and finding.fix()]
    left = [finding for finding in found if finding not in mended]
    if as_json:
        rows = [{"id": f.id, "fixed": f in mended, **f.problem.as_dict()} for f in found]
        show(rows, (), as_json=True)
    else:
        for finding in found:
            err(f"{'fixed' if finding in mended else 'found'} {finding.id}: {finding.problem}")
        for note in (*_notes(config), *notes):
            err(f"note: {note}")
        out(f"{len(left)} to mend" if left else "fine")
    return 1 if left else 0


def _notes(config: Path | None) -> tuple[str, ...]:
    """What must be known and cannot be mended; nothing without usable settings."""
    try:
        settings = load(find(config), os.environ)
    except SettingsError:
        return ()
    return (LIVE,) if settings.trading.live else ()


def findings(
    config: Path | None, notes: list[str] | None = None, *, ask_sources: bool = False
) -> Iterator[Finding]:
    """All findings; without usable settings only theirs. What is to be known besides goes into `notes`."""
    from gateway import preflight

    try:
        settings = load(find(config), os.environ)
    except SettingsError as error:
        yield from (Finding(f"settings.{p.key or 'file'}", p) for p in error.problems)
        return
    yield from (
        Finding(f"preflight.{p.key or 'environment'}", p)
        for p in preflight.check(settings.data_dir)
    )
    yield from _folders(settings)
    yield from _secrets(settings)
    yield from _presets(settings, [] if notes is None else notes)
    yield from _recipes(settings)
    yield from _database(settings)
    yield from _platforms(settings)
    yield from _sources(settings, ask=ask_sources)
    yield from _commands(settings)
    yield from _servers(settings)


def _commands(settings: Settings) -> Iterator[Finding]:
    """Whether shell commands, where they are on, can run on this machine."""
    if not settings.tools.exec_command:
        return
    from agent_core.tools.shell import Shell
    from agent_core.tools.spec import ToolFailure

    try:
        asyncio.run(Shell().ready())
    except ToolFailure as missing:
        key, cure = "tools.exec_command", "mend it, or set tools.exec_command: false"
        why = str(missing).rstrip(".")
        problem = settings.refuse(key, f"cannot work: {why}", cure).problems[0]
        yield Finding(f"settings.{key}", problem)


def _servers(settings: Settings) -> Iterator[Finding]:
    """Whether the package for MCP servers is there, where any is on."""
    if settings.mcp.enabled() and find_spec("mcp") is None:
        message, cure = "the package for MCP is not installed", "pip install 'swarmgate[mcp]'"
        problem = settings.refuse("mcp.servers", message, cure).problems[0]
        yield Finding("settings.mcp.servers", problem)


def _sources(settings: Settings, *, ask: bool) -> Iterator[Finding]:
    """What is amiss with the data sources; nobody is asked unless `ask` says so."""
    from gateway.clock import SystemClock
    from gateway.prices.source_check import source_problems

    for name, problem in asyncio.run(source_problems(settings, SystemClock(), ask=ask)):
        yield Finding(f"data.sources.{name}", problem)


def _platforms(settings: Settings) -> Iterator[Finding]:
    """What Slack and Discord say of the bots that are switched on."""
    from gateway.platform_check import platform_problems

    for problem in asyncio.run(platform_problems(settings)):
        yield Finding(problem.key or "channels", problem)


def _folders(settings: Settings) -> Iterator[Finding]:
    if settings.file is None:
        return  # the embedded defaults need none
    for key in ("data_dir", "presets_dir"):
        folder: Path = getattr(settings, key)
        if not folder.exists():
            problem = Problem(
                "there is no such folder", "swarmgate check --fix", str(folder), key=key
            )
            yield Finding(f"settings.{key}", problem, folder=folder)


def _secrets(settings: Settings) -> Iterator[Finding]:
    """Secrets that others may read or guess, or that look cut off."""
    file = settings.file
    if file is not None and file.stat().st_mode & 0o044:
        text = file.read_text("utf-8")
        if any(secret in text for secret in settings.secrets()):
            problem = Problem(
                "holds secrets and others may read it", f"chmod 600 {file}", str(file)
            )
            yield Finding("settings.mode", problem, private=file)
    token = settings.http.console_token
    if token and len(token.get_secret_value()) < 16 and settings.http.host not in LOOPBACK:
        cure = "use 16 characters or more, or leave it out: one is made and kept"
        yield Finding("settings.http.console_token", _at(settings, "http.console_token", cure))
    telegram = settings.channels.telegram
    if telegram.enabled and telegram.token:
        rest = telegram.token.get_secret_value().partition(":")[2]
        if len(rest) < TOKEN_LENGTH:
            cure = "copy it whole from @BotFather"
            yield Finding(
                "settings.channels.telegram.token", _at(settings, "channels.telegram.token", cure)
            )


def _at(settings: Settings, key: str, cure: str) -> Problem:
    return settings.refuse(key, "is too short", cure).problems[0]


def _presets(settings: Settings, notes: list[str]) -> Iterator[Finding]:
    from gateway.cli.presets import loaded
    from gateway.clock import SystemClock
    from gateway.schedules.check import next_runs, schedule_problems

    presets = loaded(settings)
    for p in presets.problems:
        problem = Problem(p.message, p.cure, p.file, p.line, p.column)
        yield Finding(f"presets.{p.code}", problem)
    if settings.preset not in presets.teams:
        broken = settings.preset in presets.broken
        message = (
            f"the preset {settings.preset!r} is broken"
            if broken
            else f"there is no preset {settings.preset!r}"
        )
        cure = f"use one of: {', '.join(presets.teams)}"
        yield Finding("settings.preset", settings.refuse("preset", message, cure).problems[0])
    for problem in schedule_problems(settings, presets.teams):
        yield Finding(f"settings.{problem.key}", problem)
    notes.extend(next_runs(settings, presets.teams.values(), SystemClock().now()))


def _recipes(settings: Settings) -> Iterator[Finding]:
    """What is wrong with the operator's skills and templates."""
    from gateway.recipes.recipes import Recipes
    from gateway.recipes.skill_house import SkillHouse
    from gateway.recipes.template_house import TemplateHouse

    made = Recipes(SkillHouse(settings.skills_dir), TemplateHouse(settings.templates_dir))
    for fault in made.faults:
        place = fault.line or None
        yield Finding("recipes.file", Problem(fault.message, fault.cure, fault.file, place))


def _database(settings: Settings) -> Iterator[Finding]:
    from gateway.cli.admin import look, url_for
    from gateway.storage.db import DatabaseError
    from gateway.storage.schema import HEAD, KNOWN, revision, usable

    url = url_for(settings)
    if url.startswith("sqlite") and not (settings.data_dir / "swarmgate.db").exists():
        return  # the first start makes it
    try:
        found = look(url, revision)
        fine = found is None or look(url, lambda conn: usable(conn, found))
    except DatabaseError as error:
        yield Finding("database", Problem(str(error)))
        return
    if fine:
        return
    older = found in KNOWN
    message = f"has schema {found}, this version needs {HEAD}"
    cure = "swarmgate migrate" if older else "update swarmgate, or restore a backup"
    yield Finding("database.schema", Problem(message, cure, "the database"))
