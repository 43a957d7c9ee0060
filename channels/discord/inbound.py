"""A Discord message as an Inbound, or None for what is not for us."""

import re
from dataclasses import dataclass

import discord

from channels.mention import Mention
from channels.types import Address, Attachment, Author, Inbound

_KINDS = {discord.MessageType.default, discord.MessageType.reply}


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a message stands. `own`: a thread that the bot opened. `thread` is None outside of threads."""

    chat: str
    thread: str | None = None
    private: bool = False
    own: bool = False


@dataclass(frozen=True, slots=True)
class Me:
    """The bot. `account` is what its addresses carry."""

    id: int
    account: str


def is_for_us(message: discord.Message) -> bool:
    """Whether a person wrote it; bots, webhooks and notices of the platform are None's business."""
    return message.type in _KINDS and not message.author.bot and message.webhook_id is None


def to_inbound(message: discord.Message, spot: Spot, me: Me, policy: Mention) -> Inbound | None:
    """What a person wrote.

    A mention in a channel has the thread that is opened for it as its address already: a thread that begins at a
    message has the message's id.
    """
    if not is_for_us(message):
        return None
    mentioned, replied = _is_mentioned(message, me), _is_reply_to(message, me)
    text = _text(message, me)
    attachments = _attachments(message)
    if not (text or attachments or mentioned):
        return None
    thread = spot.thread
    called = (mentioned and policy == "required") or (replied and policy in {"required", "reply"})
    if policy == "always":
        called = mentioned or replied
    if thread is None and not spot.private and called:
        thread = str(message.id)
    reference = message.reference
    return Inbound(
        address=Address("discord", me.account, spot.chat, thread),
        key=str(message.id),
        author=author_of(message.author),
        text=text,
        at=message.created_at,
        private=spot.private,
        addressed=spot.private or policy == "always" or called or (spot.own and policy != "never"),
        message_id=str(message.id),
        reply_to=str(reference.message_id) if reference and reference.message_id else None,
        attachments=attachments,
    )


def author_of(user: discord.abc.User, language: str | None = None) -> Author:
    """Who wrote; the name is the one shown in the server."""
    return Author(str(user.id), user.display_name, language)


def _is_mentioned(message: discord.Message, me: Me) -> bool:
    """By hand: Discord lists who is replied to among the mentions as well."""
    return re.search(rf"<@!?{me.id}>", message.content) is not None


def _is_reply_to(message: discord.Message, me: Me) -> bool:
    reference = message.reference
    resolved = reference.resolved if reference is not None else None
    return isinstance(resolved, discord.Message) and resolved.author.id == me.id


def _text(message: discord.Message, me: Me) -> str:
    """The text without the mention of the bot, with names in place of other people's ids."""
    text = re.sub(rf"[ \t]*<@!?{me.id}>", "", message.content)
    for user in message.mentions:
        for mention in (f"<@{user.id}>", f"<@!{user.id}>"):
            text = text.replace(mention, f"@{user.display_name}")
    forwarded = [snapshot.content for snapshot in message.message_snapshots if snapshot.content]
    stickers = [f"[{sticker.name}]" for sticker in message.stickers]
    return "\n".join([text.strip(), *forwarded, *stickers]).strip()


def _attachments(message: discord.Message) -> tuple[Attachment, ...]:
    files = [*message.attachments]
    for snapshot in message.message_snapshots:
        files += snapshot.attachments
    place = f"{message.channel.id}/{message.id}"
    return tuple(
        Attachment(
            file.filename,
            (file.content_type or "application/octet-stream").partition(";")[0],
            ref=f"{place}/{file.id} {file.url}",
            size=file.size,
            caption=file.description or "",
        )
        for file in files
    )
