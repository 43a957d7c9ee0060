"""Which messages of a group are to the bot: one policy for all, and others for single chats and threads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from channels.types import Address

Mention = Literal["required", "reply", "always", "never"]
# Threads of these platforms have ids of their own kind, so that one stands alone.
OWN_IDS = frozenset({"discord"})


def names_of(address: Address) -> Sequence[str]:
    """The names by which settings may mean this place, without the platform, the most exact first.

    `[<account>:]<chat>:<thread>` before `[<account>:]<chat>`; on Discord also `[<account>:]<thread>`.
    """
    names = [address.chat]
    if address.thread is not None:
        alone = [address.thread] if address.channel in OWN_IDS else []
        names = [f"{address.chat}:{address.thread}", *alone, *names]
    return [each for name in names for each in (f"{address.account}:{name}", name)]


@dataclass(frozen=True, slots=True)
class MentionPolicy:
    """`general`, and `own` policies by the names of `names_of`.

    What holds in a chat holds in its threads, unless the thread has an entry of its own.
    """

    general: Mention = "required"
    own: Mapping[str, Mention] = field(default_factory=dict)

    def at(self, address: Address) -> Mention:
        """What holds at an address."""
        if not self.own:
            return self.general
        for name in names_of(address):
            if name in self.own:
                return self.own[name]
        return self.general
