"""All checks in the order in which they are told. A check is a function; to add one, name it here.

Checks of a chat platform come with the channel: its ChannelKind names a function (`channels/checkup.py`).
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from gateway.doctor import (
    clock,
    database,
    exposure,
    extras,
    files,
    machine,
    models,
    platforms,
    presets,
    settings,
    sources,
    tools,
)
from gateway.doctor.findings import Finding, Level
from gateway.doctor.ground import Ground
from gateway.problems import Problem, SettingsError
from gateway.redact import Redactor
from gateway.settings.settings import load

Check = Callable[[Ground], Iterable[Finding]]
LiveCheck = Callable[[Ground], Awaitable[Iterable[Finding]]]

# What this machine knows by itself.
CHECKS: tuple[Check, ...] = (
    settings.file_read,
    settings.to_be_known,
    settings.start_refused,
    machine.user,
    machine.disk,
    machine.fonts,
    files.folders,
    files.settings_file,
    files.secrets_at_rest,
    exposure.plain_http,
    exposure.console_tokens,
    exposure.trusted_proxy,
    exposure.open_access,
    exposure.webhook_secrets,
    exposure.keys_in_the_clear,
    exposure.database_in_the_clear,
    presets.presets,
    presets.default_preset,
    presets.schedules,
    presets.recipes,
    database.reachable,
    database.place,
    extras.packages,
    tools.commands,
    sources.sources,
)
# What others are asked, each check within a time of its own. One after the other: importing an SDK for one would use up
# the time of another.
LIVE: tuple[LiveCheck, ...] = (platforms.bots, models.reachable, clock.skew)


def examine(
    file: Path | None,
    *,
    offline: bool = False,
    ask_sources: bool = False,
) -> list[Finding]:
    """All findings of the settings in `file` (None: the embedded defaults); of unusable settings only theirs."""
    try:
        found = load(file, os.environ)
    except SettingsError as error:
        return [Finding(f"settings.{p.key or 'file'}", Level.FAIL, p) for p in error.problems]
    ground = Ground(found, ask_sources=ask_sources)
    return list(findings(ground, live=() if offline else LIVE))


def findings(
    ground: Ground, checks: Iterable[Check] = CHECKS, live: Iterable[LiveCheck] = LIVE
) -> Iterator[Finding]:
    """What these checks find on this ground. Blocking; not for an event loop."""
    clean = Redactor(ground.settings.secrets()).text
    for check in checks:
        yield from (_clean(f, clean) for f in _found(check, ground))
    for asking in live:
        yield from (_clean(f, clean) for f in asyncio.run(_heard(asking, ground)))


def _found(check: Check, ground: Ground) -> Iterator[Finding]:
    try:
        yield from check(ground)
    except Exception as error:  # noqa: BLE001 - a defect in one check must not hide what the others find
        yield _fainted(check.__name__, error)


async def _heard(check: LiveCheck, ground: Ground) -> Iterable[Finding]:
    try:
        return await check(ground)
    except Exception as error:  # noqa: BLE001 - likewise
        return [_fainted(check.__name__, error)]


def _fainted(check: str, error: Exception) -> Finding:
    message = f"the check `{check}` itself failed ({type(error).__name__}: {error})"
    return Finding(f"check.{check}", Level.FAIL, Problem(message, "report it"))


def _clean(finding: Finding, text: Callable[[str], str]) -> Finding:
    """Without a secret that somebody's error may have quoted."""
    problem = finding.problem
    said = replace(problem, message=text(problem.message), cure=text(problem.cure))
    return replace(finding, problem=said)
