"""What a Discord bot needs to be told."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from channels.mention import Mention, MentionPolicy
from channels.types import Address


@dataclass(frozen=True, slots=True)
class DiscordConfig:
    """One bot. All times are seconds.

    Attributes:
        token: as the developer portal gives it under Bot, Reset Token.
        api_url: the REST API without a slash at its end (a proxy, a twin).
        gateway_url: the WebSocket gateway; None: Discord's own.
        cdn_url: takes the place of https://cdn.discordapp.com in the addresses of files.
        shards: "auto" asks Discord; a number is for bots that know better.
        mention: in servers, what makes a message addressed: "required" a mention of the bot or a reply to it; "reply" a
            reply only; "always" every message; "never" none. In the bot's own threads every message is, but for
            "never".
        overrides: the mention policy of single channels and threads, by the names of channels.mention.
        message_content: ask for the privileged intent. Without it the bot sees only messages that mention it, and
            direct messages: its threads then need a mention each time.
        archive_minutes: a thread without messages is put away after 60, 1440, 4320 or 10080 minutes.
        request_timeout: until an answer must be there (uploads have more).
        patience: the longest wait for a rate limit inside of a call; a longer one is FloodLimited. The window of
            messages in a channel is 5 seconds.
        settle: how long a reply may take before anything of it is shown: quick replies cost one message.
        visible_after: least age of a reply before its first visible message.
        edit_every: least time between two edits; Discord allows 5 in 5 seconds.
        typing_every: the platform shows it for 10 seconds.
        identify_pause: before a connection identifies anew; Discord allows one in 5 seconds.
        resume_pause: after a RESUME that failed, before the next; doubled for the one behind that.
        silence: a connection on which nothing came for so long is replaced, and so is one whose RESUME is not answered;
            heart-beats are answered every 41 seconds.
        guild_ready_timeout: how long to wait for a further server at the start.
        backfill_hours: how far back missed messages are looked for.
        backfill_messages: the most that are taken up in one place.
        backfill_places: the most places that are looked at.
        download_limit: bytes of a file that came in.
    """

    token: str
    api_url: str = "https://discord.com/api/v10"
    gateway_url: str | None = None
    cdn_url: str = "https://cdn.discordapp.com"
    shards: Literal["auto"] | int = "auto"
    mention: Mention = "required"
    overrides: Mapping[str, Mention] = field(default_factory=dict)
    message_content: bool = True
    archive_minutes: Literal[60, 1440, 4320, 10080] = 1440
    request_timeout: float = 15.0
    patience: float = 5.0
    settle: float = 0.3
    visible_after: float = 1.0
    edit_every: float = 1.2
    typing_every: float = 8.0
    identify_pause: float = 5.0
    resume_pause: float = 1.0
    silence: float = 60.0
    guild_ready_timeout: float = 0.3
    backfill_hours: float = 24.0
    backfill_messages: int = 200
    backfill_places: int = 100
    download_limit: int = 25 * 2**20

    @property
    def account(self) -> str:
        """The bot's own id: the first part of the token, in base 64; empty when the token has not its usual form."""
        first = self.token.strip().partition(".")[0]
        try:
            text = base64.b64decode(first + "=" * (-len(first) % 4), validate=True).decode()
        except (binascii.Error, ValueError):
            return ""
        return text if text.isascii() and text.isdigit() else ""

    def mention_at(self, address: Address) -> Mention:
        """The mention policy of a channel or a thread."""
        return MentionPolicy(self.mention, self.overrides).at(address)
