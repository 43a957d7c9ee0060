"""What a Telegram bot needs to be told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from channels.mention import Mention, MentionPolicy
from channels.types import Address


@dataclass(frozen=True, slots=True)
class TelegramConfig:
    """One bot. All times are seconds.

    Attributes:
        token: as @BotFather gives it, `<bot id>:<secret>`.
        base_url: the token is appended directly (a local Bot API server, a proxy, a twin).
        base_file_url: likewise, for downloads.
        mention: in groups, what makes a message addressed: "required" a mention, a command with @bot or a reply to
            the bot; "reply" a reply or a command with @bot only; "always" every message; "never" none.
        overrides: the mention policy of single groups and topics, by the names of channels.mention.
        poll_timeout: how long the platform holds a poll that brings nothing (1 to 50).
        read_timeout: longest silence while an answer is awaited.
        settle: how long a reply may take before anything of it is shown (typing, draft): quick replies cost one call.
        draft_every: least time between two drafts in a private chat.
        visible_after: least age of a reply before its first visible message in a group.
        edit_every: least time between two edits in a group; groups allow about 20 messages a minute.
        typing_every: the platform shows an action for 5 seconds.
        download_limit: bytes; getFile's own limit on the cloud API is 20 MB.
        mode: "polling", or "webhook", which needs the three below.
        public_url: where Telegram reaches the gateway, without a slash at the end: https, or http on loopback.
        webhook_path: what follows it; each bot has its own.
        webhook_secret: 1 to 256 of A-Z, a-z, 0-9, _ and -; Telegram sends it along as proof.
        reactions: whether messages in groups get marks.
    """

    token: str
    base_url: str = "https://api.telegram.org/bot"
    base_file_url: str = "https://api.telegram.org/file/bot"
    mention: Mention = "required"
    overrides: Mapping[str, Mention] = field(default_factory=dict)
    poll_timeout: int = 30
    read_timeout: float = 10.0
    settle: float = 0.3
    draft_every: float = 0.8
    visible_after: float = 1.0
    edit_every: float = 3.0
    typing_every: float = 4.5
    download_limit: int = 20 * 2**20
    mode: Literal["polling", "webhook"] = "polling"
    public_url: str = ""
    webhook_path: str = "/webhooks/telegram"
    webhook_secret: str = ""
    reactions: bool = True

    @property
    def webhook_url(self) -> str:
        """The address that Telegram is told."""
        return f"{self.public_url}{self.webhook_path}"

    def mention_at(self, address: Address) -> Mention:
        """The mention policy of a group or a topic."""
        return MentionPolicy(self.mention, self.overrides).at(address)

    @property
    def account(self) -> str:
        """The bot's own id: the part of the token that is no secret."""
        return self.token.partition(":")[0]
