"""Which runs are scheduled: those of the settings, then those of the presets that can run now."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection

from agent_core.runtime.team import Team
from channels.types import Address
from gateway.inbound import conversation
from gateway.questions.places import ops_address
from gateway.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class Spec:
    """What a slot starts: the words, and the preset that works ("" for the chat's own). Kept in the schedule's row.

    `source` says where it is written, for people: settings, or the preset's name. `quiet`: it may have nothing to say.
    """

    source: str
    preset: str
    words: str
    quiet: bool = False

    def text(self) -> str:
        """As JSON; without what is not set, so that rows of before are the same."""
        fields = asdict(self)
        if not self.quiet:
            del fields["quiet"]
        return json.dumps(fields, ensure_ascii=False)


def read(text: str) -> Spec:
    """The spec that `text` wrote."""
    return Spec(**json.loads(text))


@dataclass(frozen=True, slots=True)
class Plan:
    """A scheduled run. `chat` is as it was written; `person` "" is whose private chat it is."""

    cron: str
    timezone: str
    chat: str
    person: str
    spec: Spec


def plans(settings: Settings, teams: Iterable[Team]) -> list[Plan]:
    """All of them, in order."""
    return [*_of_settings(settings), *_of_presets(settings, teams)]


def _of_settings(settings: Settings) -> Iterator[Plan]:
    for one in settings.schedules:
        zone = one.timezone or settings.locale.timezone
        spec = Spec("settings", one.preset or "", one.say, one.quiet)
        yield Plan(one.cron, zone, one.to, one.person, spec)


def _of_presets(settings: Settings, teams: Iterable[Team]) -> Iterator[Plan]:
    for team in teams:
        for one in team.timed:
            zone = one.timezone or settings.locale.timezone
            spec = Spec(team.name, team.name, one.words)
            yield Plan(one.cron, zone, one.chat, one.person, spec)


def address_of(conn: Connection, chat: str, accounts: Sequence[tuple[str, str]]) -> Address | None:
    """The address that is meant; None while it cannot be told.

    `accounts` are the running bots as (channel, account). A chat without its bot's account is that of a known
    conversation, else of the platform's only bot.
    """
    channel, _, name = chat.partition(":")
    mine = [account for kind, account in accounts if kind == channel and account]
    if ":" in name:
        address = Address.parse(chat)
        return address if not mine or address.account in mine else None
    if (found := ops_address(conn, chat)) is not None:
        return found
    return Address(channel, mine[0], name) if len(mine) == 1 else None


def is_private(conn: Connection, address: Address, person: str) -> bool:
    """Whether a chat is private: as it is known, else where its id is the person's own."""
    lane = conversation.find(conn, conversation.lane_id(address))
    if lane is not None:
        return lane.private
    return address.thread is None and f"{address.channel}:{address.chat}" == person
