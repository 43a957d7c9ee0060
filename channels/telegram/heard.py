"""What people said in a topic without meaning the bot (hermes#15201): remembered here, since a bot cannot read back.

Telegram hands it over where the bot is an administrator or has no privacy mode; with it, only what a person replies to.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from channels.types import Address, Inbound

TOPICS, MESSAGES, CHARS = 500, 30, 1_000


class Heard:
    """The newest such messages of each topic, in memory only: a restart forgets them."""

    def __init__(self) -> None:
        self._topics: OrderedDict[Address, dict[int, Inbound]] = OrderedDict()

    def take(self, inbound: Inbound) -> None:
        """Remember words that were not to the bot; a redelivery changes nothing."""
        if inbound.addressed or inbound.address.thread is None or inbound.message_id is None:
            return
        if not inbound.text:
            return
        said = self._topics.setdefault(inbound.address, {})
        self._topics.move_to_end(inbound.address)
        said[int(inbound.message_id)] = replace(inbound, text=inbound.text[:CHARS], attachments=())
        if len(said) > MESSAGES:
            del said[min(said)]
        if len(self._topics) > TOPICS:
            self._topics.popitem(last=False)

    def before(self, address: Address, message_id: str, limit: int) -> Sequence[Inbound]:
        """The newest ones before a message, at most `limit`, oldest first."""
        if limit <= 0 or not message_id.isdecimal():
            return ()
        said = self._topics.get(address, {})
        return [said[number] for number in sorted(said) if number < int(message_id)][-limit:]
