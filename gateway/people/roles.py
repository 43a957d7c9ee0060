"""The role of a person: what the settings say, else what an admin has given them in the console.

The settings own roles. They say which there are, who is an operator, and whom a role names for good. A role that was
given is a column of the person's row, and counts only while the settings have such a role and do not name the person
themselves: nobody becomes an operator by it, and a role that is taken out of the settings is gone for everybody.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, select, update

from gateway.settings.access import USER, Access
from gateway.storage.tables import Person

_PERSON = Person.__table__  # type: ignore[attr-defined]


def role_of(conn: Connection, access: Access, person: str) -> str:
    """`operator`, a role of the settings, or `user`."""
    given = conn.execute(select(_PERSON.c.role).where(_PERSON.c.id == person)).scalar()
    return standing(access, person, given or USER)


def roles_of(conn: Connection, access: Access) -> dict[str, str]:
    """The role of everybody who is known."""
    rows = conn.execute(select(_PERSON.c.id, _PERSON.c.role))
    return {row.id: standing(access, row.id, row.role) for row in rows}


def standing(access: Access, person: str, given: str) -> str:
    """The role that counts for a person who was given one."""
    if access.names(person):
        return access.role(person)
    return given if given in access.given else USER


def has(conn: Connection, access: Access, person: str, role: str) -> bool:
    """Whether a role of the settings is this person's; settings may name somebody in several."""
    if access.names(person):
        return role in access.roles and person in access.roles[role].members
    return role in access.given and role_of(conn, access, person) == role


def members(conn: Connection, access: Access, role: str) -> Sequence[str]:
    """Everybody who has a role of the settings now: those that it names, then those to whom it was given."""
    if role not in access.roles:
        return ()
    named = access.roles[role].members
    if role not in access.given:
        return named
    query = select(_PERSON.c.id).where(_PERSON.c.role == role, _PERSON.c.access == "allowed")
    given = conn.execute(query.order_by(_PERSON.c.created_at, _PERSON.c.id)).scalars()
    return (*named, *(person for person in given if not access.names(person)))


def give(conn: Connection, person: str, role: str) -> str | None:
    """Give a role, `user` for none. Returns the one before; None where nobody has this id."""
    before = conn.execute(select(_PERSON.c.role).where(_PERSON.c.id == person)).scalar()
    if before is not None:
        conn.execute(update(_PERSON).where(_PERSON.c.id == person).values(role=role))
    return before
