"""Names and languages of people, asked once."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from channels.errors import ChannelError
from channels.slack.calls import Calls
from channels.types import Author

log = logging.getLogger(__name__)

PATIENCE = 1.5  # seconds: a message has to be acknowledged within 3
KEPT, FAILED = 3600.0, 60.0
MANY = 5000


@dataclass(frozen=True, slots=True)
class Person:
    """What is shown of somebody."""

    name: str = ""
    language: str | None = None


class People:
    """Looks people up (users:read); without an answer they have no name, and ids are all that counts anyway."""

    def __init__(self, calls: Calls, clock: Callable[[], float]) -> None:
        self._calls = calls
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, Person]] = OrderedDict()

    async def author(self, team: str, user: str, name: str = "") -> Author:
        """The author of something; `name` is what the payload says."""
        person = await self._person(user)
        return Author(f"{team}:{user}", person.name or name, person.language)

    async def _person(self, user: str) -> Person:
        until, person = self._known.get(user, (0.0, Person()))
        if self._clock() < until:
            return person
        try:
            async with asyncio.timeout(PATIENCE):
                found = await self._calls.call("users.info", user=user, include_locale=True)
        except (ChannelError, TimeoutError) as e:
            log.debug("nothing is known about %s: %s", user, e)
            self._keep(user, FAILED, person)
            return person
        about = found.get("user") or {}
        profile = about.get("profile") or {}
        name = profile.get("display_name") or profile.get("real_name") or about.get("name")
        person = Person(str(name or ""), about.get("locale"))
        self._keep(user, KEPT, person)
        return person

    def _keep(self, user: str, seconds: float, person: Person) -> None:
        self._known[user] = (self._clock() + seconds, person)
        self._known.move_to_end(user)
        if len(self._known) > MANY:
            self._known.popitem(last=False)
