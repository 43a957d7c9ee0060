"""What observers learn of a run when it begins."""

import datetime as dt

from gateway.engine.begun import Begun
from gateway.metrics.observer import TurnSeen


def seen(begun: Begun, now: dt.datetime) -> TurnSeen:
    """The ids of a run, and how long its message has waited."""
    return TurnSeen(
        turn_id=begun.turn_id,
        session_id=begun.session_id,
        conversation=begun.lane.id,
        channel=begun.lane.address.channel,
        preset=begun.team.name if begun.team else "",
        waited=None if begun.resumed else (now - begun.item.at).total_seconds(),
    )
