"""Which role a person has, changed by an admin.

Only roles of the settings can be given, and only to people of whom the settings say nothing.
"""

from typing import Annotated

from pydantic import Field
from sqlalchemy import Connection

from gateway.console import audit
from gateway.console.calls import Call, Done, Refused, Wanted
from gateway.console.people import known
from gateway.people import roles
from gateway.settings.access import USER


class Role(Wanted):
    """A role of the settings, or `user` for none."""

    role: Annotated[str, Field(min_length=1, max_length=100)]


async def give(call: Call[Role]) -> Done:
    """Give a person a role: it counts from the next message, and for approvals that are open."""
    core, now, person = call.house.core, call.house.core.clock.now(), call.path["id"]
    rules, wanted = call.house.settings.access, call.wanted.role
    if wanted != USER and wanted not in rules.given:
        said = "The settings have no such role to give: see access.roles."
        raise Refused(409, "no_such_role", said)

    def work(conn: Connection) -> None:
        known(conn, person)
        if rules.names(person):
            said = "The settings name this person under access: the role is changed there."
            raise Refused(409, "named", said)
        before = roles.give(conn, person, wanted)
        note = f"{before} → {wanted}"
        audit.write(conn, call.who, "person_role", now, target=f"user {person}", note=note)

    await core.db.write(work)
    return Done(call.say("{id} has the role {role} now.", id=person, role=wanted))
