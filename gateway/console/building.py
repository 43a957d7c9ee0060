"""The console as a whole, wired to a running core. Imported at the first visit."""

from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from gateway.console import live, logins
from gateway.console.api import Api
from gateway.console.eval_room import EvalRoom
from gateway.console.flash import Flash
from gateway.console.house import House
from gateway.console.keys import Keyring
from gateway.console.plan import ACTIONS, VIEWS
from gateway.console.pulse import Pulse
from gateway.console.site import Site
from gateway.console.visitor import Doorman
from gateway.http.token import ConsoleToken


@dataclass(frozen=True, slots=True)
class Building:
    """What answers requests."""

    site: Site
    api: Api
    pulse: Pulse
    evals: EvalRoom


def building_of(house: House, token: ConsoleToken) -> Building:
    """Pages and API over one house."""
    core, settings = house.core, house.settings
    keys = Keyring.of(token, settings.console)
    doorman = Doorman(
        core.db, keys, settings.console, public_url=settings.http.public_url, now=core.clock.now
    )

    async def still_in(wanted: frozenset[str]) -> frozenset[str]:
        now = core.clock.now()

        def work(conn: Connection) -> frozenset[str]:
            return frozenset(one.id for one in logins.listing(conn, now) if one.id in wanted)

        return await core.db.read(work)

    pulse = Pulse(partial(live.state, house), still_in)
    views, actions = list(VIEWS), list(ACTIONS)
    house.evals.changed = pulse.nudge
    return Building(
        Site(house, doorman, pulse, Flash(settings.http.public_url), views, actions),
        Api(house, doorman, views, actions),
        pulse,
        house.evals,
    )
