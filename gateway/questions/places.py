"""Where an approval under rules is asked: here, in private, in the operators' channel (guide "presets", 6).

The conversation that asked always says that something waits; it has the buttons where it is one of the places, or where
nobody can be reached elsewhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from agent_core.approvals import Rule
from channels.types import Address
from gateway.people import operators
from gateway.questions.votes import Asker, approvers
from gateway.settings.access import Access
from gateway.storage.tables import Conversation

_CONVERSATION = Conversation.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A further message: at an address, for a person ("": for whoever reads there)."""

    name: str
    person: str
    address: Address


@dataclass(frozen=True, slots=True)
class Spread:
    """`here`: whether the conversation itself has the buttons; `others`: further messages with buttons."""

    here: bool
    others: tuple[Elsewhere, ...] = ()


def spread(
    conn: Connection,
    rules: Sequence[Rule],
    here: Address,
    asker: Asker,
    access: Access,
    ops_channel: str | None,
) -> Spread:
    """The places of a question; each rule is asked where it says, else with its approvers, else here."""
    is_here, others = not rules, dict[str, Elsewhere]()
    for rule in rules:
        found = [] if rule.where == "here" else _places(conn, rule, asker, access, ops_channel)
        if not found or any(place.address == here for place in found):
            is_here = True
        others |= {str(place.address): place for place in found if place.address != here}
    return Spread(is_here, tuple(others.values()))


def _places(
    conn: Connection, rule: Rule, asker: Asker, access: Access, ops_channel: str | None
) -> list[Elsewhere]:
    if rule.where == "ops_channel" and ops_channel:
        address = ops_address(conn, ops_channel)
        if address is not None:
            return [Elsewhere("ops", "", address)]
    people = approvers(conn, access, asker, [rule])
    told = operators.places(conn, people, "en")
    return [Elsewhere(place.person, place.person, place.address) for place in told]


def ops_address(conn: Connection, setting: str) -> Address | None:
    """The address of the setting `ops_channel`; one without the bot's account is looked up among known places."""
    try:
        return Address.parse(setting)
    except ValueError:
        channel, _, chat = setting.partition(":")
    query = select(_CONVERSATION.c.address).order_by(_CONVERSATION.c.created_at.desc())
    rows = conn.execute(query.where(_CONVERSATION.c.address.startswith(f"{channel}:")))
    found = (Address.parse(address) for address in rows.scalars())
    return next((a for a in found if (a.channel, a.chat, a.thread) == (channel, chat, None)), None)
