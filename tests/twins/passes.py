"""The door of the web chat in memory: for tests of the channel and of its page."""

import datetime as dt


class MemoryPasses:
    """Implements gateway.http.passes.Passes."""

    def __init__(self) -> None:
        self._codes: dict[str, tuple[str, dt.datetime]] = {}
        self._ended: set[str] = set()

    async def offer(self, digest: str, person: str, now: dt.datetime, until: dt.datetime) -> None:
        self._codes[digest] = (person, until)

    async def take(self, digest: str, now: dt.datetime) -> str | None:
        person, until = self._codes.pop(digest, (None, now))
        return person if until > now else None

    async def refuse(self, nonce: str, person: str, now: dt.datetime, until: dt.datetime) -> None:
        self._ended.add(nonce)

    async def refused(self, nonce: str) -> bool:
        return nonce in self._ended
