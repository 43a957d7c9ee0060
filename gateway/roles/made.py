"""Which kind of roles a database offers, and whom a wake of a role reaches."""

from functools import partial

from gateway.alerts.house import AlertHouse
from gateway.alerts.keeper import AlertKeeper
from gateway.memory.learning import Learning
from gateway.questions.expiry import Expiry
from gateway.roles.roles import OwnRoles, Roles
from gateway.schedules.schedule import Timer
from gateway.tasks.tasks import BackgroundTasks
from gateway.trading.keeper import OrderKeeper


def roles_of(url: str, replica: int, *, shared: bool) -> Roles:
    """The roles of a process; none is asked for yet. `shared`: others may run on this PostgreSQL as well."""
    if not shared:
        return OwnRoles()
    from gateway.roles.advisory import AdvisoryRoles

    return AdvisoryRoles(url, replica)


def let_wake(
    roles: Roles,
    timer: Timer,
    expiry: Expiry,
    orders: OrderKeeper,
    desks: AlertHouse,
    tasks: BackgroundTasks,
    learning: Learning,
) -> AlertKeeper:
    """Who has the role is woken, in whichever process something has changed. Returns who watches alerts."""
    alerts = desks.keeper(orders.senders)
    orders.desk.wake = partial(roles.wake, "orders")
    desks.desk.wake = partial(roles.wake, "alerts")
    desks.reminders.wake = partial(roles.wake, "schedules")
    tasks.desk.look = partial(roles.wake, "tasks")
    roles.on_wake("tasks", tasks.look)
    roles.on_wake("learning", learning.look)
    if roles.shared:
        learning.share(partial(roles.wake, "learning"))
    roles.on_wake("schedules", timer.wake)
    roles.on_wake("questions", expiry.changed)
    roles.on_wake("orders", orders.wake)
    roles.on_wake("alerts", alerts.wake)
    return alerts
