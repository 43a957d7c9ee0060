"""What a Slack app needs to be told."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from channels.mention import Mention, MentionPolicy
from channels.types import Address

Mode = Literal["socket", "http"]

PROMPTS = (
    ("How did a stock do?", "How did GOOG do in 2012, and what does its trend look like?"),
    ("Compare two stocks", "Compare AAPL and MSFT over the last year."),
    ("分析一只股票", "分析一下 AAPL 的走势"),
    ("What can you do?", "/help"),
)


@dataclass(frozen=True, slots=True)
class SlackConfig:
    """One app in one workspace. All times are seconds.

    Attributes:
        bot_token: `xoxb-…`, from "OAuth & Permissions".
        app_token: `xapp-…` with the scope connections:write; Socket Mode only.
        signing_secret: from "Basic Information"; HTTP mode only.
        mode: "socket" (no public address needed) or "http" (Slack posts to /webhooks/slack/…).
        base_url: with a trailing slash (a proxy, a twin).
        mention: in channels, what makes a message addressed: "required" a mention, or any message in a thread that the
            bot is in; "reply" the latter only; "always" every message; "never" none.
        overrides: the mention policy of single channels and threads, by the names of channels.mention.
        read_timeout: longest wait for an answer of the Web API.
        upload_timeout: likewise for the bytes of a file.
        settle: how long a reply may take before anything of it is shown: quick replies cost one call.
        append_every: least time between two appends to a stream (Tier 4: some 100 calls a minute and method).
        update_every: least time between two updates of a visible message (Tier 3: some 50).
        ping_every: a socket whose ping is not answered within this time is replaced.
        path: HTTP mode's request URLs are path/events, path/commands and path/interactive; a second app needs another.
        signature_age: a signed request older than this is refused; Slack's documentation says five minutes.
        download_limit: bytes.
        prompts: (title, message) pairs offered in a new assistant thread, at most 4.
    """

    bot_token: str = field(repr=False)
    app_token: str = field(default="", repr=False)
    signing_secret: str = field(default="", repr=False)
    mode: Mode = "socket"
    base_url: str = "https://slack.com/api/"
    mention: Mention = "required"
    overrides: Mapping[str, Mention] = field(default_factory=dict)
    read_timeout: float = 10.0
    upload_timeout: float = 120.0
    settle: float = 0.3
    append_every: float = 0.6
    update_every: float = 1.2
    ping_every: float = 10.0
    path: str = "/webhooks/slack"
    signature_age: float = 300.0
    download_limit: int = 100 * 2**20
    prompts: tuple[tuple[str, str], ...] = PROMPTS

    def mention_at(self, address: Address) -> Mention:
        """The mention policy of a channel or a thread."""
        return MentionPolicy(self.mention, self.overrides).at(address)
