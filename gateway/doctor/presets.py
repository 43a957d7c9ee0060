"""Teams, when they are due, and the skills and templates beside them."""

from collections.abc import Iterator

from gateway.doctor.findings import Finding, fail, ok
from gateway.doctor.ground import Ground
from gateway.problems import Problem


def presets(ground: Ground) -> Iterator[Finding]:
    """What is wrong with a preset, at its place in the file."""
    found = ground.presets
    for p in found.problems:
        yield fail(f"presets.{p.code}", Problem(p.message, p.cure, p.file, p.line, p.column))
    if not found.problems:
        yield ok(
            "presets", f"{len(found.teams)} to choose from, {ground.settings.preset} by default"
        )


def default_preset(ground: Ground) -> Iterator[Finding]:
    """The team of the settings must be there."""
    name, found = ground.settings.preset, ground.presets
    if name in found.teams:
        return
    broken = name in found.broken
    message = f"the preset {name!r} is broken" if broken else f"there is no preset {name!r}"
    cure = f"use one of: {', '.join(found.teams)}"
    yield fail("settings.preset", ground.settings.refuse("preset", message, cure).problems[0])


def schedules(ground: Ground) -> Iterator[Finding]:
    """When each scheduled run is due next, and what keeps one from running."""
    from gateway.schedules.check import next_runs, schedule_problems

    teams = ground.presets.teams
    for problem in schedule_problems(ground.settings, teams):
        yield fail(f"settings.{problem.key}", problem)
    for line in next_runs(ground.settings, teams.values(), ground.clock.now()):
        yield ok("schedules", line)


def recipes(ground: Ground) -> Iterator[Finding]:
    """What is wrong with the operator's skills and templates."""
    from gateway.recipes.recipes import Recipes
    from gateway.recipes.skill_house import SkillHouse
    from gateway.recipes.template_house import TemplateHouse

    settings = ground.settings
    made = Recipes(SkillHouse(settings.skills_dir), TemplateHouse(settings.templates_dir))
    for fault in made.faults:
        place = fault.line or None
        yield fail("recipes.file", Problem(fault.message, fault.cure, fault.file, place))
