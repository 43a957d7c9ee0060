"""The settings of group chats: when the bot answers, who shares a session, and which groups are not trusted."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from channels.types import Address
from gateway.settings_fields import Section, chat_id

Mention = Literal["required", "reply", "always", "never"]
Sharing = Literal["thread", "person"]


@dataclass(frozen=True, slots=True)
class ChatRules:
    """What holds in one group chat."""

    mention: Mention
    session: Sharing
    lite: bool


class GroupOverride(Section):
    """One chat's own rules; what is left out is as in `groups`.

    `lite`: no sub-agents, no memory, few read-only tools, for groups that nobody vouches for.
    """

    mention: Mention | None = None
    session: Sharing | None = None
    lite: bool = False


class Groups(Section):
    """How the bot behaves in groups; `overrides` by chat, such as "telegram:-100123".

    `mention`: what makes a message one to the bot. `session`: a place has one session for all
    (thread), or one for each person.
    """

    mention: Mention = "required"
    session: Sharing = "thread"
    overrides: dict[Annotated[str, AfterValidator(chat_id)], GroupOverride] = Field(
        default_factory=dict
    )

    def rules(self, address: Address) -> ChatRules:
        """What holds at an address: `<channel>:<account>:<chat>` before `<channel>:<chat>` before the general rule."""
        own = self.overrides.get(f"{address.channel}:{address.account}:{address.chat}")
        own = own or self.overrides.get(f"{address.channel}:{address.chat}") or GroupOverride()
        return ChatRules(own.mention or self.mention, own.session or self.session, own.lite)

    def is_lite(self, address: Address, *, private: bool) -> bool:
        """Whether only the small set of tools is open at an address."""
        return not private and self.rules(address).lite

    def mentions(self, channel: str, account: str) -> dict[str, Mention]:
        """The mention policies of single chats of one bot, by the platform's chat id."""
        found: dict[str, Mention] = {}
        for prefix in (f"{channel}:", f"{channel}:{account}:"):  # the more exact one wins
            for name, own in self.overrides.items():
                chat = name.removeprefix(prefix)
                if chat != name and ":" not in chat and own.mention:
                    found[chat] = own.mention
        return found
