"""A Telegram update as an Inbound, or None for what is not for us."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from telegram import CallbackQuery, Message, MessageEntity, Update, User

from channels.mention import Mention
from channels.types import Address, Attachment, Author, Inbound, Kind

Policy = Callable[[Address], Mention]
# What reading a body raises that is none of Telegram's: a time that no calendar has is an ArithmeticError.
UNREADABLE = (
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


@dataclass(frozen=True, slots=True)
class Me:
    """The bot as getMe describes it; `account` is what its addresses carry."""

    id: int
    username: str
    account: str

    def is_named(self, mention: str) -> bool:
        """Whether `@name` is the bot; names ignore case."""
        return mention.lstrip("@").lower() == self.username.lower()


def shown(e: Exception) -> str:
    """An error of reading, for the log: it may quote what a person wrote, and be as long."""
    return f"{type(e).__name__}: {e}"[:120]


def to_inbound(update: Update, me: Me, policy: Policy) -> Inbound | None:
    """The message or button press of a person; edits, posts, other bots and commands to other bots are None."""
    found = None
    if update.callback_query is not None:
        found = _press(update.callback_query, me)
    elif update.message is not None:
        found = _message(update.message, me, policy)
    return None if found is None else _sound(found)


def _sound(inbound: Inbound) -> Inbound:
    """The library takes what stands in a body as it is. Raises TypeError for a text that is none."""
    author, files = inbound.author, inbound.attachments
    texts = [inbound.text, author.name, author.language, inbound.callback, inbound.album]
    texts += [text for file in files for text in (file.name, file.media_type, file.ref)]
    if not isinstance(inbound.at, dt.datetime):
        raise TypeError("the time is none")
    sizes = [file.size for file in files]
    if not all(text is None or isinstance(text, str) for text in texts):
        raise TypeError("a text is none")
    if not all(size is None or isinstance(size, int) for size in sizes):
        raise TypeError("the size of a file is none")
    return inbound


def chat_of(update: Update) -> int:
    """The chat an update belongs to, for its order; 0 when it has none."""
    chat = update.effective_chat
    return chat.id if chat is not None and isinstance(chat.id, int) else 0


def _press(query: CallbackQuery, me: Me) -> Inbound | None:
    message = query.message
    if message is None or query.from_user.is_bot:
        return None
    thread = _thread(message) if isinstance(message, Message) else None
    return Inbound(
        address=Address("telegram", me.account, str(message.chat.id), thread),
        key=f"cb:{query.id}",
        author=_author(query.from_user),
        text=query.data or "",
        at=dt.datetime.now(dt.UTC),
        kind=Kind.BUTTON,
        private=message.chat.type == "private",
        message_id=str(message.message_id),
        callback=query.id,
    )


def _message(message: Message, me: Me, policy: Policy) -> Inbound | None:
    user = message.from_user
    if user is None or user.is_bot:
        return None
    words = _Words(message, me)
    attachments = _attachments(message)
    text = words.text() or _described(message)
    if words.for_another or not (text or attachments or words.mentioned):
        return None
    private = message.chat.type == "private"
    replied = message.reply_to_message
    if replied is not None and replied.message_id == message.message_thread_id:
        replied = None  # every message of a topic "replies" to the service message that opened it
    to_me = replied is not None and replied.from_user is not None and replied.from_user.id == me.id
    address = Address("telegram", me.account, str(message.chat.id), _thread(message))
    return Inbound(
        address=address,
        key=f"m:{message.chat.id}:{message.message_id}",
        author=_author(user),
        text=text,
        at=message.date,
        private=private,
        addressed=private or _addressed(policy(address), words, to_me),
        message_id=str(message.message_id),
        reply_to=str(replied.message_id) if replied is not None else None,
        attachments=attachments,
        album=message.media_group_id,
    )


def quoted(message: Message, inbound: Inbound) -> Inbound | None:
    """What a person replies to, as something said at the same place; None when a bot said it, or nobody."""
    said = message.reply_to_message
    if said is None or inbound.reply_to is None or said.from_user is None or said.from_user.is_bot:
        return None
    return Inbound(
        address=inbound.address,
        key=f"m:{message.chat.id}:{said.message_id}",
        author=_author(said.from_user),
        text=said.text or said.caption or _described(said),
        at=said.date,
        private=inbound.private,
        addressed=False,
        message_id=str(said.message_id),
    )


def _addressed(policy: Mention, words: "_Words", reply: bool) -> bool:
    if policy in {"always", "never"}:
        return policy == "always"
    return reply or words.commanded or (policy == "required" and words.mentioned)


def _thread(message: Message) -> str | None:
    # Outside of topics message_thread_id names a chain of replies, which is no place of its own.
    return str(message.message_thread_id) if message.is_topic_message else None


def _author(user: User) -> Author:
    if not isinstance(user.id, int):
        raise TypeError("the id of a person is a number")
    return Author(str(user.id), user.full_name, user.language_code)


class _Words:
    """The text of a message without what only says that the bot is meant.

    Entity offsets count UTF-16 units, so the text is cut as UTF-16.
    """

    def __init__(self, message: Message, me: Me) -> None:
        self._units = (message.text or message.caption or "").encode("utf-16-le")
        self._me = me
        self._cuts: list[tuple[int, int]] = []
        self.mentioned = False
        self.commanded = False
        self.for_another = False
        for entity in message.entities or message.caption_entities:
            self._look(entity)

    def text(self) -> str:
        """What is left."""
        if not self._cuts:
            return self._units.decode("utf-16-le", "replace").strip()
        pieces, at = [], 0
        for start, end in self._cuts:
            pieces.append(self._units[at:start].decode("utf-16-le", "replace").rstrip(" "))
            at = end
        pieces.append(self._units[at:].decode("utf-16-le", "replace"))
        return "".join(pieces).strip()

    def _look(self, entity: MessageEntity) -> None:
        start, end = 2 * entity.offset, 2 * (entity.offset + entity.length)
        words = self._units[start:end].decode("utf-16-le", "replace")
        if entity.type == MessageEntity.TEXT_MENTION:
            if entity.user is not None and entity.user.id == self._me.id:
                self._mention(start, end)
        elif entity.type == MessageEntity.MENTION and self._me.is_named(words):
            self._mention(start, end)
        elif entity.type == MessageEntity.BOT_COMMAND and entity.offset == 0:
            self._command(words, end)

    def _mention(self, start: int, end: int) -> None:
        self.mentioned = True
        self._cuts.append((start, end))

    def _command(self, words: str, end: int) -> None:
        name, at, bot = words.partition("@")
        if not at:
            return
        if self._me.is_named(bot):
            self.commanded = True
            self._cuts.append((len(name.encode("utf-16-le")), end))
        else:
            self.for_another = True


def _attachments(message: Message) -> tuple[Attachment, ...]:
    if message.photo:
        best = message.photo[-1]  # sizes are in ascending order
        return (Attachment("photo.jpg", "image/jpeg", ref=best.file_id, size=best.file_size),)
    named = message.document or message.audio or message.video or message.animation
    if named is not None:
        name = named.file_name or "file"
        kind = named.mime_type or "application/octet-stream"
        return (Attachment(name, kind, ref=named.file_id, size=named.file_size),)
    if (voice := message.voice) is not None:
        kind = voice.mime_type or "audio/ogg"
        return (Attachment("voice.ogg", kind, ref=voice.file_id, size=voice.file_size),)
    if (note := message.video_note) is not None:
        return (Attachment("video.mp4", "video/mp4", ref=note.file_id, size=note.file_size),)
    return ()


def _described(message: Message) -> str:
    """Words for what has none: a sticker is its emoji, a place its coordinates."""
    if message.sticker is not None:
        return message.sticker.emoji or ""
    if message.location is not None:
        return f"{message.location.latitude}, {message.location.longitude}"
    if message.contact is not None:
        return f"{message.contact.first_name} {message.contact.phone_number}"
    if message.poll is not None:
        return message.poll.question
    return message.dice.emoji if message.dice is not None else ""
