"""The books in the database, read and changed for the tools: agent_core.finance.portfolio_books.Books."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from agent_core.book import Event, Holding
from agent_core.finance.orders import OrderRefused
from agent_core.finance.portfolio import exact, net_usd
from agent_core.finance.portfolio_books import Contents
from agent_core.finance.portfolio_change import HEAVY, Item, Plan, plan
from agent_core.finance.portfolio_quotes import Quotes
from agent_core.ports import Clock
from agent_core.storage import orders as rows
from agent_core.storage import orders_halt as switch
from agent_core.storage import portfolio
from agent_core.trading import Cash, Quote, Trade
from gateway.memory.history import PRIVATE, scope_of_turn
from gateway.storage.db import Database

MOVED = "not changed: the portfolio is no longer as it was shown when the yes was given; ask again"
TWICE = (
    f"not changed: it removes a position or moves more than {HEAVY:.0%} of the net value, which takes a second "
    "confirmation; ask again"
)


@dataclass(frozen=True, slots=True)
class _Priced:
    """What items are weighed with."""

    quotes: Mapping[str, Quote]
    usd: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class PortfolioDesk:
    """See Books."""

    db: Database
    clock: Clock
    quotes: Quotes

    async def private(self, turn_id: int) -> bool:
        """See Books."""
        return await self.db.read(lambda conn: scope_of_turn(conn, turn_id)) == PRIVATE

    async def contents(self, owner: str) -> Contents:
        """See Books."""

        def work(conn: Connection) -> Contents:
            return Contents(
                tuple(reversed(portfolio.records(conn, owner, Holding, rows.MANY))),
                tuple(rows.cash(conn, owner)),
                tuple(rows.trades(conn, owner)),
                tuple(rows.undone(conn, owner)),
            )

        return await self.db.read(work)

    async def plan(self, owner: str, items: Sequence[Item], as_of: dt.date | None) -> Plan:
        """See Books."""
        have = await self.contents(owner)
        priced = await self._priced(have, items, as_of)
        return self._planned(_complete(items, have.holdings, priced), have, priced, "plan")

    async def carry_out(
        self, owner: str, items: Sequence[Item], source: str, *, bound: str, twice: bool
    ) -> Plan:
        """See Books."""
        priced = await self._priced(await self.contents(owner), items, None)

        def work(conn: Connection) -> Plan:
            switch.hold(conn)  # one change of a book after the other, beside fills
            held = tuple(reversed(portfolio.records(conn, owner, Holding, rows.MANY)))
            have = Contents(held, tuple(rows.cash(conn, owner)))
            made = self._planned(_complete(items, held, priced), have, priced, source)
            if made.bound != bound:
                raise OrderRefused(MOVED)
            if made.heavy and not twice:
                raise OrderRefused(TWICE)
            _write(conn, owner, made, self.clock.now())
            return made

        return await self.db.write(work)

    def _planned(self, items: Sequence[Item], have: Contents, priced: _Priced, source: str) -> Plan:
        return plan(
            items,
            have.holdings,
            have.cash,
            net_usd=net_usd(have.holdings, have.cash, priced.quotes, priced.usd),
            usd=priced.usd,
            prices={symbol: quote.price for symbol, quote in priced.quotes.items()},
            now=self.clock.now(),
            source=source,
        )

    async def _priced(
        self, have: Contents, items: Sequence[Item], as_of: dt.date | None
    ) -> _Priced:
        wanted = {item.symbol for item in items if item.symbol} | {h.symbol for h in have.holdings}
        quotes, _ = await self.quotes.quotes(sorted(wanted), as_of)
        on = max((q.date for q in quotes.values()), default=as_of or self.clock.now().date())
        currencies = {h.currency for h in have.holdings} | {c.currency for c in have.cash}
        currencies |= {i.currency for i in items} | {q.currency for q in quotes.values()}
        usd = {c: await self.quotes.dollars(c, on) for c in currencies if c}
        return _Priced(quotes, usd)


def _complete(items: Sequence[Item], held: Sequence[Holding], priced: _Priced) -> list[Item]:
    """Items with the currency that they leave out: the position's own, else the one the symbol is quoted in."""
    kept = {(h.account, h.symbol): h.currency for h in held}
    done: list[Item] = []
    for number, item in enumerate(items, 1):
        quote = priced.quotes.get(item.symbol)
        currency = item.currency or kept.get((item.account, item.symbol), "")
        currency = currency or (quote.currency if quote else "")
        if not currency and item.action != "remove":
            raise OrderRefused(f"item {number}: name the currency of {item.symbol or 'the cash'}")
        done.append(replace(item, currency=currency))
    return done


def _write(conn: Connection, owner: str, made: Plan, now: dt.datetime) -> None:
    for step in made.steps:
        item = step.item
        if step.after is not None:
            portfolio.put(conn, owner, step.after)
        elif step.before is not None:
            key = (step.before.account, step.before.symbol)
            _remove(conn, owner, key)
        if step.cash_after is not None:
            rows.set_cash(conn, owner, Cash(item.account, item.currency, step.cash_after))
    for trade in made.trades:
        rows.add_trade(conn, owner, trade)
        if trade.kind != "correction":
            event = Event("trade", told(trade), now, (trade.symbol,), source=trade.source)
            portfolio.put(conn, owner, event)


def _remove(conn: Connection, owner: str, key: tuple[str, str]) -> None:
    """Positions that an earlier item of the same plan made have no number, so they are found by account and symbol."""
    for held in portfolio.records(conn, owner, Holding, rows.MANY):
        if (held.account, held.symbol) == key:
            portfolio.remove(conn, owner, Holding, held.id)


def told(trade: Trade) -> str:
    """A trade in a line, as the history of events has it."""
    if trade.kind == "dividend":
        return (
            f"Dividend of {trade.symbol}: {exact(trade.amount)} {trade.currency} ({trade.account})"
        )
    verb = "Bought" if trade.kind == "buy" else "Sold"
    return f"{verb} {exact(trade.quantity)} {trade.symbol} at {exact(trade.price)} {trade.currency} ({trade.account})"
