"""A post that has proved itself becomes an inbox row of the person it is for, once, in any replica.

The person must be allowed to talk to the bot when it comes: default deny. The row waits in its conversation like any
message; the answer is delivered like a reply.
"""

import datetime as dt
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from sqlalchemy import Connection, exists, select

from agent_core.ports import Clock
from channels.types import Author, Inbound, Kind
from gateway.hooks.proof import Post
from gateway.hooks.words import Call, words
from gateway.inbound import conversation, inbox
from gateway.inbound.conversation import Lane
from gateway.people import access, links
from gateway.redact import Redactor
from gateway.schedules.plan import Plan, Spec
from gateway.schedules.runs import Runs
from gateway.settings.hooks import Hook
from gateway.storage.db import Database
from gateway.storage.tables import Inbox, InboxStatus

log = logging.getLogger(__name__)
_INBOX = Inbox.__table__  # type: ignore[attr-defined]


class Taken(Enum):
    """What became of a post."""

    NEW = "accepted"
    AGAIN = "duplicate"
    DENIED = "the person of this hook may not talk to the bot"
    NOWHERE = "the chat of this hook is not known yet: let its person write there once"


@dataclass(frozen=True, slots=True)
class Hooks:
    """Takes posts in. `accounts` are the bots, as (channel, account); `wake` is the engine's."""

    db: Database
    clock: Clock
    runs: Runs
    redactor: Redactor
    accounts: Callable[[], Sequence[tuple[str, str]]]
    wake: Callable[[str, str], None]

    async def take(self, name: str, hook: Hook, post: Post) -> Taken:
        """Store it; durable when this returns. A repeated one changes nothing."""
        clean = replace(post, text=self.redactor.text(post.text))
        accounts, now = self.accounts(), self.clock.now()
        taken, lane = await self.db.write(
            lambda c: self._store(c, name, hook, clean, accounts, now)
        )
        if taken in (Taken.DENIED, Taken.NOWHERE):
            log.warning("hook_refused", extra={"hook": name, "reason": taken.value})
        if lane is not None:
            self.wake(lane.id, hook.person)  # a repeated one too: its first wake may have been lost
        return taken

    def _store(
        self,
        conn: Connection,
        name: str,
        hook: Hook,
        post: Post,
        accounts: Sequence[tuple[str, str]],
        now: dt.datetime,
    ) -> tuple[Taken, Lane | None]:
        if not access.is_allowed(conn, self.runs.access, hook.person):
            return Taken.DENIED, None
        lane = self._lane(conn, name, hook, accounts, now)
        if lane is None:
            return Taken.NOWHERE, None
        key = f"hook:{name}:{post.id}"
        if post.brief:
            since = now - dt.timedelta(seconds=hook.window_s)
            if _came(conn, key, since):
                return Taken.AGAIN, lane
            key = f"{key}:{int(now.timestamp()) // hook.window_s}"  # two replicas at once: one row
        inbound = Inbound(
            address=lane.address,
            key=key,
            author=Author(hook.person.partition(":")[2]),
            text=words(hook, post.text),
            at=now,
            kind=Kind.HOOK,
            private=lane.private,
            data=Call(name, hook.preset or "", post.text).dump(),
        )
        row = inbox.insert_row(conn, inbound, lane.id, hook.person, InboxStatus.NEW, now)
        return (Taken.AGAIN if row is None else Taken.NEW), lane

    def _lane(
        self,
        conn: Connection,
        name: str,
        hook: Hook,
        accounts: Sequence[tuple[str, str]],
        now: dt.datetime,
    ) -> Lane | None:
        if hook.to is None:
            place = links.place_of(conn, hook.person)
            return conversation.find(conn, place) if place else None
        plan = Plan("", "", hook.to, hook.person, Spec(f"hook {name}", hook.preset or "", hook.say))
        return self.runs.lane(conn, plan, accounts, now)


def _came(conn: Connection, key: str, since: dt.datetime) -> bool:
    """Whether the same body came since then."""
    same = (_INBOX.c.key.startswith(f"{key}:", autoescape=True), _INBOX.c.at > since)
    return bool(conn.execute(select(exists().where(*same))).scalar())
