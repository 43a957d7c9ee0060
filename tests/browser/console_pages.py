"""Every page of the console, as its own list of views has it: a page that is added there is walked by itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from gateway.console.plan import VIEWS
from gateway.console.roles import may
from gateway.settings.console import Role
from tests.browser.conftest import OTHER_SCHEMES, WINDOWS
from tests.browser.walk import Window

KEPT = Path(__file__).parents[2] / "deploy" / "screenshots" / "console"
# What stands in the braces of a page's path, by its first part. A page without an example here fails the walk.
EXAMPLES = {"runs": "1", "presets": "watch", "people": "web:me", "evals": "1", "archive": "r1-r2"}
Walk = tuple[Role, Window, str]
WALKS: list[Walk] = [
    *(("admin", window, "en-US") for window in (*WINDOWS, *OTHER_SCHEMES)),
    *((role, window, "en-US") for role in ("operator", "viewer") for window in WINDOWS),
    ("admin", OTHER_SCHEMES[1], "zh-CN"),
]


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """A page: the name of its picture, an address below /console, and who may see it."""

    name: str
    path: str
    role: Role

    def opens_to(self, role: Role) -> bool:
        """Whether this role may see it."""
        return may(role, self.role)


def name_of(path: str) -> str:
    """What a page's picture is called."""
    parts = path.strip("/").split("/")
    return "-".join("one" if part.startswith("{") else part for part in parts)


def pages(session: str) -> Iterator[ConsolePage]:
    """All pages, each with an example of what it is about."""
    examples = EXAMPLES | {"sessions": session}
    for view in VIEWS:
        parts: list[str] = []
        for part in view.path.strip("/").split("/"):
            about = parts[-1] if parts else ""
            parts.append(quote(examples[about], safe="") if part.startswith("{") else part)
        yield ConsolePage(name_of(view.path), "/" + "/".join(parts), view.role)


def title_of(walk: Walk) -> str:
    """What a walk is called."""
    role, window, language = walk
    return f"{role}-{window.name}-{language}"
