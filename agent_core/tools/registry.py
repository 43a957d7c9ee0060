"""The tools that exist: by name, in a stable order, with those of other packages (entry points `swarmgate.tools`)."""

import logging
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points

from agent_core.tools.spec import ToolSpec

log = logging.getLogger(__name__)

ALIASES = {"execute_skill": "load_skill"}  # C-33
RESERVED = "delegate_to_"  # names of delegations, which each run makes for its own team
LOAD_TOOLS = "load_tools"  # likewise made for each agent of which tools wait (runtime/on_demand.py)
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")  # what every provider takes
PINNED = 4_096  # sessions that keep the tools they began with, the latest ones


class Registry:
    """Tools by name. Iteration is by name, so tool lists are byte-stable.

    The tools of foreign servers may change while the gateway runs (`renew`); a session keeps those that were there at
    its first turn in this process (`of`), since another list would break the cached prefix.
    """

    def __init__(self, tools: Iterable[ToolSpec] = ()) -> None:
        self._tools: dict[str, ToolSpec] = {}
        self._sessions: OrderedDict[str, Registry] | None = None  # None: nothing ever changes
        for spec in tools:
            self.add(spec)

    def add(self, spec: ToolSpec) -> None:
        """Add one tool. Raises ValueError when its name is taken or is none."""
        if not _NAME.fullmatch(spec.name) or spec.name.startswith((RESERVED, LOAD_TOOLS)):
            raise ValueError(f"{spec.name!r} is no name for a tool")
        if spec.name in self._tools or spec.name in ALIASES:
            raise ValueError(f"two tools are named {spec.name!r}")
        self._tools[spec.name] = spec

    def renew(self, prefix: str, tools: Iterable[ToolSpec]) -> None:
        """Put these tools in the place of those whose names begin with `prefix`, for sessions that begin from now on.

        One whose name is taken by another tool is logged and left out.
        """
        self._sessions = OrderedDict() if self._sessions is None else self._sessions
        found = {name: spec for name, spec in self._tools.items() if not name.startswith(prefix)}
        for spec in tools:
            if not _NAME.fullmatch(spec.name) or spec.name in found or spec.name in ALIASES:
                log.error("tool_name_taken", extra={"tool": spec.name})
            else:
                found[spec.name] = spec
        self._tools = found

    def of(self, session_id: str) -> "Registry":
        """The tools of a session: as they are now at its first turn, and the same ones ever after."""
        if self._sessions is None:
            return self
        own = self._sessions.get(session_id)
        if own is None:
            own = self._sessions[session_id] = Registry()
            own._tools = self._tools  # what `renew` replaces is never changed
        self._sessions.move_to_end(session_id)
        while len(self._sessions) > PINNED:
            self._sessions.popitem(last=False)
        return own

    def get(self, name: str) -> ToolSpec | None:
        """The tool of this name or alias, or None."""
        return self._tools.get(ALIASES.get(name, name))

    @property
    def names(self) -> frozenset[str]:
        """All names, without aliases."""
        return frozenset(self._tools)

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter(sorted(self._tools.values(), key=lambda spec: spec.name))


def foreign_tools() -> list[ToolSpec]:
    """Tools that installed packages offer through the entry-point group `swarmgate.tools`.

    One that cannot be loaded, or is no tool, is logged and left out: the gateway starts without it.
    """
    found = []
    for entry in entry_points(group="swarmgate.tools"):
        try:
            spec = entry.load()
        except Exception:
            log.exception("tool_not_loaded", extra={"entry": entry.value})
            continue
        if isinstance(spec, ToolSpec):
            found.append(spec)
        else:
            log.error("tool_not_loaded", extra={"entry": entry.value, "kind": type(spec).__name__})
    return found
