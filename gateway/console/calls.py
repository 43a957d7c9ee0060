"""What a page or an action of the console is: a function behind a path, for people as HTML, for programs as JSON.

A view reads and an action changes. Both are handed a `Call`; what they want of it (query or body) is a pydantic model,
what they answer a dataclass, so that the same declaration checks requests and describes them (OpenAPI).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from gateway.console.house import House
from gateway.console.texts import phrase
from gateway.console.visitor import Visitor
from gateway.people.identity import Language
from gateway.settings.console import Role


class Wanted(BaseModel):
    """A query or a body: unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Nothing(Wanted):
    """No query, or an empty body."""


W = TypeVar("W", bound=Wanted)


@dataclass(frozen=True, slots=True)
class Call(Generic[W]):
    """One request. `path` holds what stands in the path's braces."""

    house: House
    who: Visitor
    path: Mapping[str, str]
    wanted: W
    language: Language

    def number(self, name: str = "id") -> int:
        """A number of the path. Raises Refused (404) where it is none that a row can have."""
        text = self.path[name]
        if text.isascii() and text.isdecimal() and 0 < int(text[:20]) < 2**63 and len(text) < 20:
            return int(text)
        raise missing()

    def say(self, text: str, **values: object) -> str:
        """A sentence in the visitor's language; see texts.py."""
        return phrase(text, self.language).format(**values)


@dataclass(frozen=True, slots=True)
class Done:
    """What an action came to, in the visitor's language. `to` is the page to go on with, "" for where one was."""

    said: str
    to: str = ""


class Refused(Exception):
    """A request that is not carried out. `status` is HTTP's, `code` for programs, the message for people (English)."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def missing() -> Refused:
    """Nothing is under this address."""
    return Refused(404, "not_found", "There is nothing here.")


@dataclass(frozen=True, slots=True)
class View:
    """A page. `nav` is the entry of the menu that it belongs to, `title` an English phrase."""

    path: str
    title: str
    template: str
    read: Callable[[Call[Any]], Awaitable[Any]]
    answer: Any
    query: type[Wanted] = Nothing
    role: Role = "viewer"
    nav: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do, with POST. `title` says what, for the API's document."""

    path: str
    title: str
    do: Callable[[Call[Any]], Awaitable[Any]]
    body: type[Wanted] = Nothing
    answer: Any = Done
    role: Role = "operator"
    errors: tuple[int, ...] = field(default=(404, 409))
