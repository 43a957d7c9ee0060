"""What was said in a thread before the bot was called into it (hermes#15201)."""

import logging
from collections.abc import Sequence

from channels.errors import ChannelError
from channels.slack.calls import Calls
from channels.slack.events import Me, said
from channels.slack.people import People
from channels.types import Address, Inbound

log = logging.getLogger(__name__)

PAGES, PAGE = 5, 200


class History:
    """Reads threads."""

    def __init__(self, calls: Calls, people: People) -> None:
        self._calls = calls
        self._people = people

    async def earlier(self, address: Address, before: str, limit: int) -> Sequence[Inbound]:
        """People's newest messages of a thread before the message `before`, at most `limit`, oldest first.

        None for a place that is no thread, or that the app may not read.
        """
        if address.thread is None or before == address.thread:
            return ()
        found: list[Inbound] = []
        try:
            cursor: str | None = None
            for _ in range(PAGES):
                cursor = await self._page(address, before, cursor, found)
                if cursor is None:
                    break
        except ChannelError as e:
            log.warning("the thread %s cannot be read: %s", address, e)
        return found[-limit:] if limit > 0 else ()

    async def _page(
        self, address: Address, before: str, cursor: str | None, found: list[Inbound]
    ) -> str | None:
        answer = await self._calls.into(
            address.chat,
            "conversations.replies",
            channel=address.chat,
            ts=address.thread,
            latest=before,
            inclusive=False,
            limit=PAGE,
            cursor=cursor,
        )
        team, _, user = address.account.partition(".")
        for message in answer.get("messages", ()):
            one = said({**message, "channel": address.chat}, team, Me(team, user))
            if one is None or float(one.ts) >= float(before):
                continue
            author = await self._people.author(one.team, one.user)
            found.append(
                Inbound(
                    address=address,
                    key=one.key,
                    author=author,
                    text=one.words.text,
                    at=one.at,
                    private=one.private,
                    addressed=False,
                    message_id=one.ts,
                    attachments=one.files,
                )
            )
        return (answer.get("response_metadata") or {}).get("next_cursor") or None
