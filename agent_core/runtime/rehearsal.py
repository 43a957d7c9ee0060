"""What goes wrong on purpose: an attempt of a delegation that ends as a test of the preset wants (guide "presets", 9).

Nothing of the agent runs then; all that follows is real: its stored outcome, retries, the policy, the words.
"""

from collections.abc import Callable
from dataclasses import dataclass

from agent_core.runtime.team import Status


@dataclass(frozen=True, slots=True)
class Staged:
    """How the next attempt ends. `error` is its one line, `result` what it brought in spite of that."""

    status: Status
    error: str = ""
    result: str = ""


Stage = Callable[[str], Staged | None]
"""Called with an agent's id once for each attempt that begins; None lets it run."""
