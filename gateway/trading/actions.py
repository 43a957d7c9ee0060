"""Dividends and splits of what the paper account holds: booked once, with a line of history, an event and a message.

What is due is a pure function of position, history and prices (agent_core.finance.corporate_actions), asked again in
the transaction that books it; so neither a restart nor a second look pays anything twice.
"""

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from agent_core.book import Event, Holding
from agent_core.finance.corporate_actions import Action, actions_of, due
from agent_core.finance.portfolio import exact
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.source import NoData
from agent_core.ports import Clock
from agent_core.storage import holders, portfolio
from agent_core.storage import orders as rows
from agent_core.storage import orders_halt as switch
from agent_core.trading import PAPER, Cash, Trade
from gateway.people.identity import Language
from gateway.storage.db import Database
from gateway.texts.texts import say
from gateway.trading.book import amount_of, holding_of
from gateway.trading.tell import Teller, Told, Words

log = logging.getLogger(__name__)
# How long after a sale what the shares had earned before it may still become known.
LATE = dt.timedelta(days=14)


@dataclass(slots=True)
class CorporateActions:
    """Asks the price sources of what is held, and books what is due. Without a teller nobody is told."""

    db: Database
    clock: Clock
    sources: Sources
    teller: Teller | None = None

    async def apply(self, owner: str | None = None, symbol: str | None = None) -> None:
        """Book what is due, of one owner and one symbol where they are named. What has no prices is left for later."""
        since = self.clock.now() - LATE
        held = await self.db.read(lambda conn: holders.holders(conn, PAPER, since, owner, symbol))
        for code in sorted({code for _, code in held}):
            owners = [who for who, what in held if what == code]
            first = min(held[who, code] for who in owners)
            try:
                bars = await self.sources.bars(code, first, None)
            except NoData as e:
                log.info("actions_unknown", extra={"symbol": code, "reason": str(e)})
                continue
            actions = [action for action in actions_of(bars) if action.day > first]
            for who in owners if actions else ():
                await self._one(who, code, actions, bars.currency, bars.source)

    async def _one(
        self, owner: str, symbol: str, actions: Sequence[Action], currency: str, source: str
    ) -> None:
        def lacking(conn: Connection) -> tuple[Holding | None, list[Trade]]:
            held = holding_of(conn, owner, PAPER, symbol)
            found = due(held, rows.lines(conn, owner, PAPER, symbol), actions)
            return held, [line for line in found if line.currency == currency]

        def work(conn: Connection) -> list[Told]:
            switch.hold(conn)  # one change of a book after the other, beside fills
            held, lines = lacking(conn)
            told: list[Told] = []
            for line in lines:
                held, number = self._book(conn, owner, held, replace(line, source=source))
                if self.teller is not None:
                    words = _words(line, held)
                    told += self.teller.write(conn, owner, f"action:{number}", words)
            return told

        if not (await self.db.read(lacking))[1]:
            return
        told = await self.db.write(work)
        if self.teller is not None:
            self.teller.send(told)

    def _book(
        self, conn: Connection, owner: str, held: Holding | None, line: Trade
    ) -> tuple[Holding | None, int]:
        """Write one line: the position or the cash, the history, the event. Returns the position, and the line's id."""
        now = self.clock.now()
        line = replace(line, at=now)
        if line.kind == "dividend":
            have = amount_of(conn, owner, PAPER, line.currency)
            rows.set_cash(conn, owner, Cash(PAPER, line.currency, have + line.amount))
        elif held is not None:
            quantity = held.quantity + line.quantity
            cost = held.cost * held.quantity / quantity  # the same money for all of them
            held = replace(held, quantity=quantity, cost=cost, updated_at=now)
            portfolio.put(conn, owner, held)
        number = rows.add_trade(conn, owner, line)
        event = Event("trade", text_of(line, held, "en"), now, (line.symbol,), source=line.source)
        portfolio.put(conn, owner, event)
        return held, number


def _words(line: Trade, held: Holding | None) -> Words:
    return lambda language: "💰 " + text_of(line, held, language)


def text_of(line: Trade, held: Holding | None, language: Language) -> str:
    """A dividend or a split in a line."""
    if line.kind == "dividend":
        return say(
            "dividend_paid", language, symbol=line.symbol, day=line.day, price=exact(line.price),
            quantity=exact(line.quantity), amount=f"{line.amount:,.2f}", currency=line.currency,
        )  # fmt: skip
    after = held.quantity if held else 0.0
    return say(
        "split_done", language, symbol=line.symbol, day=line.day, ratio=f"{line.price:g}",
        before=exact(after - line.quantity), after=exact(after),
        cost=exact(round(held.cost, 6) if held else 0.0), currency=line.currency,
    )  # fmt: skip
