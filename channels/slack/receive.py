"""What Slack hands over, whichever way: read, stored, and only then acknowledged.

`take` returns when everything that follows from a payload is durable; the caller acknowledges then. Things of one chat
are taken in the order in which they arrived, chats side by side.
"""

import asyncio
import datetime as dt
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any
from weakref import WeakValueDictionary

from channels.base import Emit
from channels.errors import ChannelError
from channels.slack.assistant import Assistants
from channels.slack.calls import Calls
from channels.slack.config import SlackConfig
from channels.slack.events import Me, Said, ident, is_private, said
from channels.slack.forms import modal
from channels.slack.interact import (
    COMMANDS,
    Press,
    Shortcut,
    Submission,
    Who,
    called_text,
    command_text,
    interaction,
)
from channels.slack.people import People
from channels.types import Address, Author, Form, Inbound, Kind

log = logging.getLogger(__name__)

Json = dict[str, Any]
Knows = Callable[[Address], Awaitable[bool]]
Spawn = Callable[[Coroutine[Any, Any, None]], object]

UNUSABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
MANY = 5000
RECEIPT = 150


class Receiver:
    """Reads payloads and emits.

    Args:
        knows: whether the bot is in a thread; asked for messages that do not mention it.
        spawn: runs what nobody waits for, in a task that the channel owns.
    """

    def __init__(
        self,
        config: SlackConfig,
        calls: Calls,
        people: People,
        assistants: Assistants,
        knows: Knows | None,
        spawn: Spawn,
    ) -> None:
        self._config = config
        self._calls = calls
        self._people = people
        self._assistants = assistants
        self._knows = knows
        self._spawn = spawn
        self._emit: Emit | None = None
        self._me = Me("", "")
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        # Who asked last, for streams; the keys are also the places that the bot was addressed in.
        self._askers: OrderedDict[Address, tuple[str, str]] = OrderedDict()
        self._dms: dict[str, str] = {}
        self.commands = COMMANDS

    def begin(self, me: Me, emit: Emit) -> None:
        """From now on things are taken."""
        self._me, self._emit = me, emit

    def asker(self, address: Address) -> tuple[str, str] | None:
        """(user, team) of who wrote to the bot last at this place."""
        return self._askers.get(address)

    async def take(self, kind: str, payload: Json) -> Json | None:
        """Take one thing in; what to answer, None for a bare acknowledgement.

        `kind` as Socket Mode names it: events_api, slash_commands, interactive. What is authentic but of a shape that
        we cannot use is acknowledged, with a log line: Slack would send it for ever. Raises what `emit` raises.
        """
        way = {
            "events_api": self._event,
            "slash_commands": self._command,
            "interactive": self._interaction,
        }.get(kind)
        if way is None:
            log.info("slack_ignored", extra={"type": kind})
            return None
        async with self._lock(_chat_of(payload)):
            return await way(payload)

    def _lock(self, chat: str) -> asyncio.Lock:
        """Locks are fair: who comes first goes first."""
        lock = self._locks.get(chat)
        if lock is None:
            lock = self._locks[chat] = asyncio.Lock()
        return lock

    # Events --------------------------------------------------------------------------------------------------------

    async def _event(self, payload: Json) -> None:
        try:
            event, team = payload["event"], str(payload.get("team_id") or "")
            kind = event["type"]
            message = said(event, team, self._me) if kind in {"message", "app_mention"} else None
            thread = event["assistant_thread"] if kind == "assistant_thread_started" else None
            opened = (thread["channel_id"], thread["thread_ts"]) if thread else None
            home = kind == "app_home_opened" and event.get("tab") == "home"
            visitor = (ident(event["user"]), ident(event["channel"])) if home else None
            key = f"h:{event.get('user')}:{event.get('event_ts')}"
        except UNUSABLE:
            _unusable("event", payload)
            return
        if message is not None:
            await self._said(message)
        elif opened is not None:
            self._spawn(self._assistants.opened(*opened))
        elif visitor is not None:
            user, channel = visitor
            author = await self._people.author(team, user)
            self._dms[user] = channel
            await self._give(self._me.address(channel), key, author, "", Kind.HOME)

    async def _said(self, message: Said) -> None:
        addressed = await self._addressed(message)
        if not (message.words.text or message.files or message.words.mentioned):
            return
        if addressed:
            author = await self._people.author(message.team, message.user)
            self._asked(message.address, message.user, message.team)
        else:
            author = Author(f"{message.team}:{message.user}")
        text = message.words.text
        if message.words.mentioned and not message.private:
            text = called_text(text, self.commands)
        await self._emitting(
            Inbound(
                address=message.address,
                key=message.key,
                author=author,
                text=text,
                at=message.at,
                private=message.private,
                addressed=addressed,
                message_id=message.ts,
                attachments=message.files,
            )
        )
        address = message.address
        if addressed and address.thread and self._assistants.knows(address.chat, address.thread):
            title = self._assistants.said(address.chat, address.thread, message.words.text)
            self._spawn(title)

    async def _addressed(self, message: Said) -> bool:
        if message.private:
            return True
        policy = self._config.mention_at(message.address)
        if policy in {"always", "never"}:
            return policy == "always"
        if policy == "required" and message.words.mentioned:
            return True
        if message.fresh:
            return False
        if message.address in self._askers:
            return True
        return self._knows is not None and await self._knows(message.address)

    # Slash commands ------------------------------------------------------------------------------------------------

    async def _command(self, payload: Json) -> Json | None:
        try:
            channel, user = ident(payload["channel_id"]), ident(payload["user_id"])
            team, trigger = str(payload["team_id"] or ""), ident(payload["trigger_id"])
            source = str(payload.get("text") or "")
        except UNUSABLE:
            _unusable("slash command", payload)
            return None
        text = command_text(source, self.commands)
        private = is_private(channel)
        author = await self._people.author(team, user, str(payload.get("user_name") or ""))
        self._asked(self._me.address(channel), user, team)
        await self._give(self._me.address(channel), f"t:{trigger}", author, text, private=private)
        shown = text if len(text) <= RECEIPT else f"{text[: RECEIPT - 1]}…"
        return {"response_type": "ephemeral", "text": f"✓ {shown}", "mrkdwn": False}

    # Interactions --------------------------------------------------------------------------------------------------

    async def _interaction(self, payload: Json) -> None:
        try:
            done = interaction(payload, self._me)
        except UNUSABLE:
            _unusable(str(payload.get("type")), payload)
            return
        match done:
            case Press():
                await self._pressed(done)
            case Submission():
                await self._submitted(done)
            case Shortcut():
                await self._shortcut(done)
            case None:
                log.debug("slack_ignored: %s", payload.get("type"))

    async def _pressed(self, press: Press) -> None:
        address = press.address or self._me.address(await self._dm(press.who.user))
        if press.form is not None and await self._open(press, press.form, address):
            return
        await self._give(
            address,
            f"t:{press.trigger}",
            await self._author(press.who),
            press.data,
            Kind.BUTTON,
            private=is_private(address.chat),
            message_id=press.message_id,
            callback=f"{address.chat}|{address.thread or ''}|{press.who.user}",
        )

    async def _open(self, press: Press, form: Form, address: Address) -> bool:
        """Open the dialog, which must be within 3 s of the press. Without it the gateway asks in words."""
        view = modal(form, address, press.message_id, private=is_private(address.chat))
        try:
            await self._calls.call("views.open", trigger_id=press.trigger, view=view)
        except ChannelError as e:
            log.warning("a form could not be opened, so it is asked for in words: %s", e)
            return False
        return True

    async def _submitted(self, done: Submission) -> None:
        await self._give(
            done.address,
            f"v:{done.view}",
            await self._author(done.who),
            done.data,
            Kind.FORM,
            private=done.private,
            message_id=done.message_id,
            fields=done.fields,
        )

    async def _shortcut(self, done: Shortcut) -> None:
        where = done.address or self._me.address(await self._dm(done.who.user))
        self._asked(where, done.who.user, done.who.team)
        author = await self._author(done.who)
        private = is_private(where.chat)
        await self._give(where, f"t:{done.trigger}", author, done.text, private=private)

    async def _author(self, who: Who) -> Author:
        return await self._people.author(who.team, who.user, who.name)

    async def _dm(self, user: str) -> str:
        """The DM with somebody. Raises ChannelError."""
        if user not in self._dms:
            found = await self._calls.call("conversations.open", users=user)
            self._dms[user] = str(found["channel"]["id"])
        return self._dms[user]

    # Shared --------------------------------------------------------------------------------------------------------

    async def _give(
        self,
        address: Address,
        key: str,
        author: Author,
        text: str,
        kind: Kind = Kind.MESSAGE,
        *,
        private: bool = True,
        **more: Any,
    ) -> None:
        now = dt.datetime.now(dt.UTC)
        await self._emitting(
            Inbound(address, key, author, text, now, kind, private=private, **more)
        )

    async def _emitting(self, inbound: Inbound) -> None:
        if self._emit is None:
            raise RuntimeError("the channel does not run yet")
        await self._emit(inbound)

    def _asked(self, address: Address, user: str, team: str) -> None:
        self._askers[address] = (user, team)
        self._askers.move_to_end(address)
        if len(self._askers) > MANY:
            self._askers.popitem(last=False)


def _chat_of(payload: Json) -> str:
    """What a payload's order depends on."""
    for holder in (payload.get("event"), payload, payload.get("container")):
        if isinstance(holder, dict):
            found = holder.get("channel") or holder.get("channel_id")
            found = found.get("id") if isinstance(found, dict) else found
            if found:
                return str(found)
    return ""


def _unusable(what: str, payload: Json) -> None:
    """Values are a person's: only the shape is told."""
    log.warning("slack_unusable", extra={"what": what, "keys": sorted(map(str, payload))[:20]})
