"""The settings of group chats: when the bot answers, who shares a session, and which groups are not trusted."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from channels.mention import Mention, names_of
from channels.types import Address
from gateway.settings.fields import Section, chat_id

Sharing = Literal["thread", "person"]


@dataclass(frozen=True, slots=True)
class ChatRules:
    """What holds in one group chat."""

    mention: Mention
    session: Sharing
    lite: bool


class GroupOverride(Section):
    """One chat's or thread's own rules; what a thread leaves out is as in its chat, then as in `groups`.

    `lite`: no sub-agents, no memory, few read-only tools, for groups that nobody vouches for.
    """

    mention: Mention | None = None
    session: Sharing | None = None
    lite: bool | None = None


class Groups(Section):
    """How the bot behaves in groups; `overrides` by chat or thread.

    Such as "telegram:-100123", "slack:C024BE91L:1712345678.000100", "discord:<id of a channel or thread>"; with several
    bots on a platform also "telegram:<account>:-100123".
    `mention`: what makes a message one to the bot. `session`: a place has one session for all
    (thread), or one for each person.
    """

    mention: Mention = "required"
    session: Sharing = "thread"
    overrides: dict[Annotated[str, AfterValidator(chat_id)], GroupOverride] = Field(
        default_factory=dict
    )

    def rules(self, address: Address) -> ChatRules:
        """What holds at an address; each rule is that of the most exact entry which has one."""
        names = (f"{address.channel}:{name}" for name in names_of(address))
        mine = [self.overrides[name] for name in names if name in self.overrides]
        mentions: list[Mention] = [own.mention for own in mine if own.mention is not None]
        sharings: list[Sharing] = [own.session for own in mine if own.session is not None]
        lite = next((own.lite for own in mine if own.lite is not None), False)
        return ChatRules((*mentions, self.mention)[0], (*sharings, self.session)[0], lite)

    def is_lite(self, address: Address, *, private: bool) -> bool:
        """Whether only the small set of tools is open at an address."""
        return not private and self.rules(address).lite

    def mentions(self, channel: str) -> dict[str, Mention]:
        """The mention policies of single chats and threads of a platform, by their names without it."""
        start = f"{channel}:"
        return {
            name.removeprefix(start): own.mention
            for name, own in self.overrides.items()
            if name.startswith(start) and own.mention
        }
