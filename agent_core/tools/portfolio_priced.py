"""A person's book with what it is worth: own money, and play money apart."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.book import Holding
from agent_core.finance.portfolio import Worth, is_paper, worth
from agent_core.finance.portfolio_books import Contents
from agent_core.finance.portfolio_quotes import Quotes
from agent_core.trading import Quote


@dataclass(frozen=True, slots=True)
class Priced:
    """A book with what it is worth: own money, and play money apart; None where there is none of it."""

    contents: Contents
    quotes: dict[str, Quote]
    missing: dict[str, str]
    own: Worth | None
    paper: Worth | None

    @property
    def main(self) -> Worth | None:
        """What is drawn and diagnosed: own money where there is any."""
        return self.own or self.paper


def of_account(contents: Contents, account: str | None) -> Contents:
    """What is in one account; None: in all."""
    if account is None:
        return contents
    return Contents(
        tuple(h for h in contents.holdings if h.account == account),
        tuple(c for c in contents.cash if c.account == account),
        tuple(t for t in contents.trades if t.account == account),
        tuple(o for o in contents.orders if o.account == account),
    )


async def priced_book(
    quotes: Quotes, contents: Contents, currency: str, as_of: dt.date | None
) -> Priced:
    """The book at the last prices on or before `as_of` (None: now), its totals in `currency`."""
    found, missing = await quotes.quotes((h.symbol for h in contents.holdings), as_of)
    on = max((q.date for q in found.values()), default=as_of or quotes.clock.now().date())
    kinds = {c.currency for c in contents.cash} | {q.currency for q in found.values()}
    rates = {kind: await quotes.rate(kind, currency, on) for kind in sorted(kinds)}

    def part(*, paper: bool) -> Worth | None:
        holdings = [h for h in contents.holdings if is_paper(h.account) is paper]
        cash = [c for c in contents.cash if is_paper(c.account) is paper]
        trades = [t for t in contents.trades if is_paper(t.account) is paper]
        if not (holdings or cash or trades):
            return None
        return worth(_ordered(holdings), cash, trades, found, rates, currency, missing)

    return Priced(contents, found, missing, part(paper=False), part(paper=True))


def _ordered(holdings: Sequence[Holding]) -> list[Holding]:
    return sorted(holdings, key=lambda h: (h.account, h.symbol))
