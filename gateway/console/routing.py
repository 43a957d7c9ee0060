"""Which view or action a path means. Paths are matched as they were sent, so that an id may hold any character."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from gateway.console.calls import Action, View, missing

_BRACES = re.compile(r"\\{(\w+)\\}")


@dataclass(frozen=True, slots=True)
class Found:
    """What answers a path: for GET, for POST, or both."""

    path: Mapping[str, str]
    view: View | None
    action: Action | None

    @property
    def methods(self) -> list[str]:
        """The methods that it knows."""
        return [*(["GET", "HEAD"] if self.view else []), *(["POST"] if self.action else [])]


class Router:
    """All views and actions."""

    def __init__(self, views: Sequence[View], actions: Sequence[Action]) -> None:
        self._views = [(_pattern(view.path), view) for view in views]
        self._actions = [(_pattern(action.path), action) for action in actions]

    def find(self, raw_path: str) -> Found:
        """What a path (percent-encoded, behind the prefix) means. Raises Refused (404)."""
        path = raw_path.rstrip("/")
        views = ((pattern.fullmatch(path), view) for pattern, view in self._views)
        actions = ((pattern.fullmatch(path), action) for pattern, action in self._actions)
        view = next(((m, v) for m, v in views if m), None)
        action = next(((m, a) for m, a in actions if m), None)
        if view and action and bool(view[0].re.groups) != bool(action[0].re.groups):
            # a path that is written out is no id of somebody
            view, action = (None, action) if view[0].re.groups else (view, None)
        matched = view or action
        if matched is None:
            raise missing()
        named = {key: unquote(text) for key, text in matched[0].groupdict().items()}
        if any("\0" in text for text in named.values()):
            raise missing()  # no id holds it, and PostgreSQL refuses the question
        return Found(named, view[1] if view else None, action[1] if action else None)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(_BRACES.sub(r"(?P<\1>[^/]+)", re.escape(path)))
