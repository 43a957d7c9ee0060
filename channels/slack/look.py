"""Looking before sending again: what of a reply is in the channel already.

chat.postMessage takes no key of ours, but metadata that the history gives back: each post carries its id there.
"""

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from channels.errors import Ambiguous, Gone, Refused, Unreachable
from channels.slack.calls import Calls
from channels.types import Address, Outbound

log = logging.getLogger(__name__)

EVENT = "swarmgate"
PAGES, PAGE = 5, 200
SKEW = 120.0  # how far our clock and Slack's may be apart, seconds

Message = Mapping[str, Any]


def part_id(out: Outbound, number: int, text: str) -> str:
    """The same for each try of one part of one reply."""
    return _digest(str(out.address), out.id or text, "part", str(number))


def preview_id(address: Address, reply_to: str | None) -> str:
    """The id of the message in which a reply is previewed; the same after a restart."""
    return _digest(str(address), reply_to or "", "preview")


def metadata(own: str) -> dict[str, object]:
    """What a post carries."""
    return {"event_type": EVENT, "event_payload": {"id": own}}


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def id_of(message: Message) -> str:
    """The id that we gave a post; empty when it is not ours or carries none."""
    found = message.get("metadata") or {}
    if found.get("event_type") != EVENT:
        return ""
    return str((found.get("event_payload") or {}).get("id", ""))


@dataclass(frozen=True, slots=True)
class Found:
    """A message that is there. `own` is its id."""

    ts: str
    own: str


class Looker:
    """Reads the newest messages of a place."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def find(
        self, address: Address, wanted: Callable[[Message], bool], oldest: float | None
    ) -> Found | None:
        """The bot's first message that is wanted, none older than `oldest` (Unix seconds).

        Raises Unreachable and FloodLimited; None too where the app may not read the place (it lacks the scope, or is no
        member of the channel): one duplicate is better than one lost answer.
        """
        try:
            return await self._search(address, wanted, oldest)
        except Ambiguous as e:
            raise Unreachable(str(e)) from e  # reading changes nothing
        except (Refused, Gone) as e:
            log.warning("what was sent to %s cannot be looked up: %s", address, e)
            return None

    async def _search(
        self, address: Address, wanted: Callable[[Message], bool], oldest: float | None
    ) -> Found | None:
        bot = address.account.rpartition(".")[2]
        cursor: str | None = None
        for _ in range(PAGES):
            answer = await self._page(address, cursor, oldest)
            for message in answer.get("messages", ()):
                if message.get("user") == bot and wanted(message):
                    return Found(str(message["ts"]), id_of(message))
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or None
            if cursor is None:
                return None
        return None

    async def _page(self, address: Address, cursor: str | None, oldest: float | None) -> Message:
        method = "conversations.history" if address.thread is None else "conversations.replies"
        return await self._calls.into(
            address.chat,
            method,
            channel=address.chat,
            ts=address.thread,
            oldest=f"{oldest:.6f}" if oldest is not None else None,
            limit=PAGE,
            cursor=cursor,
            include_all_metadata=True,
        )
