"""From the schedule of a checked preset to the runs that the gateway starts."""

from collections.abc import Mapping, Sequence

from agent_core.runtime.flow import shown
from agent_core.runtime.inputs import written
from agent_core.runtime.team import Timed
from swarm_presets.references import PLACEHOLDER
from swarm_presets.schema_rules import InputPart, SchedulePart


def timed(
    parts: Sequence[SchedulePart] | None, inputs: Mapping[str, InputPart | None] | None
) -> tuple[Timed, ...]:
    """The runs in the order of the file; their words have their inputs filled in."""
    defaults = {name: part.default for name, part in (inputs or {}).items() if part}
    return tuple(_timed(part, defaults) for part in parts or ())


def _timed(part: SchedulePart, defaults: Mapping[str, object]) -> Timed:
    given = part.inputs or {}
    values = {**defaults, **given}
    words = PLACEHOLDER.sub(lambda m: _value(values, m[1]), part.say or "")
    lines = [words.strip(), written(given)]
    return Timed(
        cron=part.cron,
        chat=part.chat,
        words="\n".join(filter(None, lines)) or ".",
        timezone=part.timezone or "",
        person=part.person or "",
    )


def _value(values: Mapping[str, object], name: str) -> str:
    found = values.get(name.removeprefix("inputs."))
    return "" if found is None else shown(found)
