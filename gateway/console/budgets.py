"""Granting a pot once more for its present period: what operators are asked for in chat, given without being asked."""

from typing import Annotated, Literal

from pydantic import Field
from sqlalchemy import Connection

from agent_core.budget.pots import period
from agent_core.storage import ledger
from agent_core.storage.ledger import Ref
from gateway.console import audit
from gateway.console.calls import Call, Done, Refused, Wanted
from gateway.inbound import inbox
from gateway.people.identity import principal_of


class Raise(Wanted):
    """Which pot: `person` is whose, "" for the installation's own (day, month)."""

    kind: Literal["user_day", "user_month", "day", "month"]
    person: Annotated[str, Field(max_length=200)] = ""


async def grant(call: Call[Raise]) -> Done:
    """Give a pot once more its own size, until its day or month is over; turns that wait for it go on."""
    core, now, wanted = call.house.core, call.house.core.clock.now(), call.wanted
    rules = core.budgets.rules
    if wanted.kind not in {pot.kind for pot in rules.pots}:
        raise Refused(409, "no_budget", "No such budget is set.")
    if bool(wanted.person) is not wanted.kind.startswith("user_"):
        raise Refused(409, "no_budget", "Name a person for a person's budget, and nobody else.")

    def work(conn: Connection) -> list[tuple[str, str]]:
        key = principal_of(conn, wanted.person) if wanted.person else ""
        ref = Ref(wanted.kind, key, period(wanted.kind, now, rules.zone))
        (pot_id,) = ledger.pot_ids(conn, [ref])
        row = ledger.pot(conn, pot_id)
        raised = (row.raised if row else 0) + 1
        # Buttons of a question that was open for it say from now on that it is over.
        ledger.mark(conn, pot_id, raised=raised, asked=0, denied=False, warned=False)
        target = f"{wanted.kind} {ref.period}" + (f" of user {key}" if key else "")
        audit.write(conn, call.who, "raise_budget", now, target=target)
        return inbox.open_conversations(conn)

    waiting = await core.db.write(work)
    core.budgets.waiters.room()
    for lane, principal in waiting:
        core.engine.wake(lane, principal)
    return Done(call.say("The budget was granted once more."))
