"""Whose yes counts for an approval under rules, and what is still wanting (TGV-8, TGV-9; guide "presets", 6).

A person counts once, under whichever linked identity. Who may approve is judged by the roles of the moment, for the one
who presses and again for everybody who pressed before: a role that was taken away takes its yes along.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from agent_core.approvals import Rule
from gateway.people import roles
from gateway.people.identity import Language, principal_of
from gateway.settings.access import Access
from gateway.storage.tables import Inbox

_INBOX = Inbox.__table__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Vote:
    """One yes.

    `keep`: for later calls as well. `local`: given on the machine itself, whose owner may stand in for any one
    approver, but is one person.
    """

    person: str
    name: str = ""
    keep: bool = False
    local: bool = False

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "person": self.person,
            "name": self.name,
            "keep": self.keep,
            "local": self.local,
        }


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asked: `owner` is the principal, `author` the identity that wrote."""

    owner: str
    author: str


def author_of(conn: Connection, turn_id: int, owner: str) -> str:
    """Who wrote what began the turn that asked (a turn's id is that of its first inbox row)."""
    query = select(_INBOX.c.author).where(_INBOX.c.id == turn_id)
    return conn.execute(query).scalar() or owner


def may(conn: Connection, access: Access, asker: Asker, rule: Rule, vote: Vote) -> bool:
    """Whether this person's yes counts for a rule."""
    is_asker = vote.person == asker.author or principal_of(conn, vote.person) == asker.owner
    if rule.not_requester and is_asker:
        return False
    if vote.local:
        return True
    return any(_is(conn, access, who, vote.person, is_asker=is_asker) for who in rule.by)


def _is(conn: Connection, access: Access, who: str, person: str, *, is_asker: bool) -> bool:
    kind, _, name = who.partition(":")
    match kind:
        case "requester":
            return is_asker
        case "admin":
            return person in access.operators
        case "role":
            return roles.has(conn, access, person, name)
        case _:
            return name in {person, principal_of(conn, person)}


def lacking(
    conn: Connection, access: Access, asker: Asker, rules: Sequence[Rule], votes: Sequence[Vote]
) -> list[tuple[Rule, int]]:
    """The rules that are not satisfied yet, each with how many more people are needed."""
    found: list[tuple[Rule, int]] = []
    for rule in rules:
        people = {
            principal_of(conn, vote.person)
            for vote in votes
            if may(conn, access, asker, rule, vote)
        }
        if len(people) < rule.quorum:
            found.append((rule, rule.quorum - len(people)))
    return found


def approvers(
    conn: Connection, access: Access, asker: Asker, rules: Sequence[Rule]
) -> tuple[str, ...]:
    """Ids of everybody who may decide something under these rules, as roles stand."""
    found: list[str] = []
    for rule in rules:
        mine = [person for who in rule.by for person in _people(conn, access, asker, who)]
        left_out = {asker.owner, asker.author} if rule.not_requester else set[str]()
        found += [person for person in mine if person not in left_out]
    return tuple(dict.fromkeys(found))


def _people(conn: Connection, access: Access, asker: Asker, who: str) -> Sequence[str]:
    kind, _, name = who.partition(":")
    match kind:
        case "requester":
            return (asker.author, asker.owner)
        case "admin":
            return access.operators
        case "role":
            return roles.members(conn, access, name)
        case _:
            return (name,)


_WHO = {
    "requester": ("whoever asked", "提出者"),
    "admin": ("an operator", "管理员"),
    "role": ("role {name}", "角色 {name}"),
    "user": ("`{name}`", "`{name}`"),
}


def named(rule: Rule, language: Language) -> str:
    """The approvers of a rule, for people."""
    chinese = language == "zh"
    parts = [who.partition(":") for who in rule.by]
    said = [_WHO[kind][chinese].format(name=name) for kind, _, name in parts]
    text = ("、" if chinese else " or ").join(said)
    if rule.not_requester:
        text += "（提出者除外）" if chinese else " (not whoever asked)"
    return text
