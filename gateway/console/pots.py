"""How a pot of the settings stands in its present period. A statement; changes nothing."""

import datetime as dt
from dataclasses import dataclass

from sqlalchemy import Connection

from agent_core.budget.pots import NANO, Pot, period, resets_at
from agent_core.storage.ledger import Ref, pots_of


@dataclass(frozen=True, slots=True)
class Spent:
    """One pot of the whole installation: US dollars, tokens and turns; None is without limit."""

    kind: str
    period: str
    usd: float
    usd_limit: float | None
    tokens: int
    tokens_limit: int | None
    resets_at: dt.datetime | None

    @property
    def share(self) -> float:
        """How much of it is used, 0 … 1 and above, by what is nearest its end."""
        shares = [0.0]
        if self.usd_limit:
            shares.append(self.usd / self.usd_limit)
        if self.tokens_limit:
            shares.append(self.tokens / self.tokens_limit)
        return max(shares)


def spent(conn: Connection, pot: Pot, key: str, now: dt.datetime, zone: str) -> Spent:
    """How a pot of the settings stands in the present period."""
    ref = Ref(pot.kind, key, period(pot.kind, now, zone))
    row = next(iter(pots_of(conn, [ref])), None)
    whole = pot.raised(row.raised if row else 0)
    return Spent(
        pot.kind,
        ref.period,
        (row.usd if row else 0) / NANO,
        None if whole.usd is None else whole.usd / NANO,
        row.tokens if row else 0,
        whole.tokens,
        resets_at(pot.kind, now, zone),
    )
