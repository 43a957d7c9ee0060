"""The roles of an installation, and the duties that hang on them."""

from functools import partial

from gateway.app import Core
from gateway.memory.retention import Keeper
from gateway.outbound.adoption import Adoption
from gateway.outbound.replicas import ROLE as OUTBOX
from gateway.roles.duties import Duties, Duty
from gateway.settings.settings import Settings


def duties_of(core: Core, settings: Settings, *, talk: bool = False) -> Duties:
    """What is done by one process at a time, besides receiving for bots.

    `talk`: for a talk in the terminal, where no platform could take the answers of scheduled runs.
    """
    duties = [
        Duty("questions", core.expiry.start, core.expiry.stop),
        Duty("orders", core.orders.start, core.orders.leave),
        Duty("alerts", core.alerts.start, core.alerts.stop),
    ]
    if talk:
        start = partial(core.timer.start, runs=False)
        return Duties(core.roles, [*duties, Duty("schedules", start, core.timer.stop)])
    if core.roles.shared:
        adoption = Adoption(core.db, core.senders)
        core.roles.on_wake(OUTBOX, adoption.wake)
        duties.append(Duty(OUTBOX, adoption.start, adoption.stop))
    keeper = Keeper(core.db, core.clock, settings.retention)
    duties += [
        Duty("schedules", partial(_tell_time, core), partial(_stop_time, core)),
        Duty("retention", keeper.start, keeper.stop),
    ]
    if (upkeep := core.memory.upkeep) is not None:
        duties.append(Duty("memory", upkeep.start, upkeep.stop))
    return Duties(core.roles, duties)


def work_of(core: Core) -> Duties:
    """What turns leave to be done beside them, by one process at a time; it ends after the turns of this process."""
    duties = [Duty("tasks", core.tasks.start, core.tasks.stop)]
    if core.roles.shared:
        learning = core.memory.learning
        duties.append(Duty("learning", learning.take_jobs, learning.leave_jobs))
    return Duties(core.roles, duties)


async def _tell_time(core: Core) -> None:
    """The table says what is planned before anything of it is due."""
    await core.schedules.start()
    await core.timer.start()


async def _stop_time(core: Core) -> None:
    await core.schedules.stop()
    await core.timer.stop()
