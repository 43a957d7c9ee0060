"""What `check` says of scheduled runs: when each is due next, and what keeps one from running."""

import datetime as dt
from collections.abc import Collection, Iterable, Iterator
from zoneinfo import ZoneInfo

from agent_core.runtime.team import Team
from gateway.problems import Problem
from gateway.schedules.plan import Plan, plans
from gateway.settings.settings import Settings
from swarm_presets import cron


def next_runs(settings: Settings, teams: Iterable[Team], now: dt.datetime) -> Iterator[str]:
    """A line for each scheduled run."""
    for plan in plans(settings, teams):
        yield _line(plan, now)


def _line(plan: Plan, now: dt.datetime) -> str:
    due = cron.following(plan.cron, plan.timezone, now).astimezone(ZoneInfo(plan.timezone))
    person = f" for {plan.person}" if plan.person else ""
    preset = f" with {plan.spec.preset}" if plan.spec.preset else ""
    return (
        f"schedule of {plan.spec.source}: {plan.cron} ({plan.timezone}) in {plan.chat}{person}{preset}, "
        f"next {due:%Y-%m-%d %H:%M}"
    )


def schedule_problems(settings: Settings, presets: Collection[str]) -> Iterator[Problem]:
    """Schedules and hooks of the settings that name a preset which there is not."""
    named = [(f"schedules.{at}", one.preset) for at, one in enumerate(settings.schedules)]
    named += [(f"hooks.{name}", hook.preset) for name, hook in settings.hooks.items()]
    for key, preset in named:
        if preset is not None and preset not in presets:
            cure = f"use one of: {', '.join(presets)}"
            message = f"there is no preset {preset!r}"
            yield from settings.refuse(f"{key}.preset", message, cure).problems
