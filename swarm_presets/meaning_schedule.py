"""Schedules: cron lines and time zones that there are, and runs that know what they are to do (SW102, SW104)."""

from collections.abc import Iterator
from zoneinfo import ZoneInfo

from swarm_presets import cron
from swarm_presets.parts import each
from swarm_presets.positions import Entry, Leaf, Mapping
from swarm_presets.problems import Problem, problem
from swarm_presets.shape import missing


def schedule_meaning(tree: Mapping) -> Iterator[Problem]:
    """All findings about the schedule of a resolved preset."""
    for entry in each(tree, "schedule.*"):
        if isinstance(entry.node, Mapping):
            yield from _times(entry.node)
            yield from _words(tree, entry, entry.node)


def _times(part: Mapping) -> Iterator[Problem]:
    line, zone = part.get("cron"), part.get("timezone")
    if isinstance(line, Leaf):
        try:
            cron.check(line.text)
        except cron.BadCron as bad:
            yield problem("SW102", f"cron: {bad}", line.span, bad.cure)
    if isinstance(zone, Leaf) and zone.value is not None and not _is_zone(zone.text):
        message = f"`{zone.text}` is not a time zone"
        yield problem("SW102", message, zone.span, "write one such as `Asia/Shanghai`")


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return False
    return True


def _words(tree: Mapping, entry: Entry, part: Mapping) -> Iterator[Problem]:
    """Nobody is there to be asked: what a run needs must stand here."""
    given = part.get("inputs")
    known = given.entries.keys() if isinstance(given, Mapping) else frozenset[str]()
    inputs = tree.get("inputs")
    for name, declared in inputs.entries.items() if isinstance(inputs, Mapping) else ():
        if isinstance(declared.node, Mapping) and name not in known and _is_needed(declared.node):
            cure = f"add `inputs: {{{name}: …}}`; nobody is there to be asked"
            yield missing(f"inputs.{name}", entry.key, cure)
    if "say" not in part.entries and not known and "flow" not in tree.entries:
        yield missing("say", entry.key, "add `say: …`, the words that begin the run")


def _is_needed(declared: Mapping) -> bool:
    required = declared.get("required")
    return (
        isinstance(required, Leaf) and required.value is True and "default" not in declared.entries
    )
