"""A book as a CSV file: one line a position, an amount of cash, or a trade. UTF-8, with a header line.

Columns (any order; all but those marked * may be left out or empty):

    record      position (the default), cash, or trade
    account     default "default"
    symbol      * for positions and for trades of shares: a code or name
    quantity    * for positions; for trades of shares
    price       * for positions: the average cost of one; for trades: the price of one
    currency    * for cash and trades; for positions the currency of the cost
    amount      * for cash: how much; for trades: what it did to the cash, negative for paid
    kind        * for trades: buy, sell, dividend, split, deposit, withdrawal, correction
    name, relation (core, satellite, watch), note     for positions
    fee, realised, source                             for trades
    day         * for trades: the day of the market, YYYY-MM-DD
    at          when it was entered, ISO 8601 with a zone; default: now (for trades: `day`)

A position replaces the one of its account and symbol, cash the amount of its account and currency; a trade that is
known already is not added again. So the same file may be read twice, and an export is read back as it was.
"""

import csv
import datetime as dt
import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from agent_core import symbols
from agent_core.book import Holding
from agent_core.trading import Cash, Trade, TradeKind

COLUMNS = (
    *("record", "account", "symbol", "quantity", "price", "currency", "amount", "kind"),
    *("name", "relation", "note", "fee", "realised", "source", "day", "at"),
)
RELATIONS = ("", "core", "satellite", "watch")
KINDS = get_args(TradeKind)
MOST_BYTES = 5_000_000
MOST_LINES = 20_000
CODE_CHARS = 32


@dataclass(frozen=True, slots=True)
class Book:
    """Positions, money and history of one person."""

    holdings: tuple[Holding, ...] = ()
    cash: tuple[Cash, ...] = ()
    trades: tuple[Trade, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong in a file: its line (1 is the header), what, and the cure."""

    line: int
    what: str
    cure: str

    def __str__(self) -> str:
        """One line."""
        return f"line {self.line}: {self.what}; {self.cure}"


class _Bad(Exception):
    """A cell that cannot be read."""

    def __init__(self, what: str, cure: str) -> None:
        super().__init__(what)
        self.what, self.cure = what, cure


def render(book: Book) -> str:
    """The book as a file that `parse` reads back as it was."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for h in book.holdings:
        writer.writerow(
            {
                "record": "position", "account": h.account, "symbol": h.symbol, "quantity": _shown(h.quantity),
                "price": _shown(h.cost), "currency": h.currency, "name": h.name, "relation": h.relation,
                "note": h.note, "at": h.updated_at.isoformat(),
            }
        )  # fmt: skip
    for c in book.cash:
        writer.writerow(
            {
                "record": "cash",
                "account": c.account,
                "currency": c.currency,
                "amount": _shown(c.amount),
            }
        )
    for t in book.trades:
        writer.writerow(
            {
                "record": "trade", "account": t.account, "symbol": t.symbol, "quantity": _shown(t.quantity),
                "price": _shown(t.price), "currency": t.currency, "amount": _shown(t.amount), "kind": t.kind,
                "fee": _shown(t.fee), "realised": _shown(t.realised), "source": t.source, "day": str(t.day),
                "at": t.at.isoformat(),
            }
        )  # fmt: skip
    return out.getvalue()


def parse(text: str, now: dt.datetime) -> tuple[Book, list[Fault]]:
    """What a file holds, and everything that is wrong with it; with a fault nothing of it should be taken."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")))
    header = [cell.strip().lower() for cell in next(reader, [])]
    faults = _header_faults(header)
    if faults:
        return Book(), faults
    found: dict[str, list[Any]] = {"position": [], "cash": [], "trade": []}
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        line = reader.line_num
        if line > MOST_LINES:
            return Book(), [Fault(line, f"more than {MOST_LINES} lines", "split the file")]
        row = {name: cell.strip() for name, cell in zip(header, cells, strict=False)}
        try:
            if len(cells) > len(header):
                raise _Bad("more cells than the header names", "quote cells that hold a comma")  # noqa: TRY301
            record = (row.get("record") or "position").lower()
            if record not in found:
                raise _Bad(f"record {record!r} is unknown", "use position, cash or trade")  # noqa: TRY301
            found[record].append(_READERS[record](row, now))
        except _Bad as bad:
            faults.append(Fault(line, bad.what, bad.cure))
    book = Book(tuple(found["position"]), tuple(found["cash"]), tuple(found["trade"]))
    return book, faults


def _header_faults(header: list[str]) -> list[Fault]:
    if not any(header):
        return [
            Fault(1, "the file is empty", f"begin it with a header such as {','.join(COLUMNS[:6])}")
        ]
    known = f"the columns are {', '.join(COLUMNS)}"
    faults = [
        Fault(1, f"there is no column {name!r}", known) for name in header if name not in COLUMNS
    ]
    twice = {name for name in header if header.count(name) > 1}
    return faults + [
        Fault(1, f"the column {name!r} is there twice", "remove one") for name in sorted(twice)
    ]


def _position(row: Mapping[str, str], now: dt.datetime) -> Holding:
    return Holding(
        symbol=_symbol(row, needed=True),
        quantity=_number(row, "quantity"),
        cost=_number(row, "price", least=0.0),
        updated_at=_time(row, now),
        currency=_currency(row, needed=False),
        name=row.get("name", ""),
        relation=_one_of(row, "relation", RELATIONS),
        note=row.get("note", ""),
        account=row.get("account") or "default",
    )


def _cash(row: Mapping[str, str], now: dt.datetime) -> Cash:
    del now
    account = row.get("account") or "default"
    return Cash(account, _currency(row, needed=True), _number(row, "amount"))


def _trade(row: Mapping[str, str], now: dt.datetime) -> Trade:
    del now
    kind = _one_of(row, "kind", KINDS)
    day = _day(row)
    return Trade(
        kind=kind,  # type: ignore[arg-type]
        account=row.get("account") or "default",
        currency=_currency(row, needed=True),
        at=_time(row, dt.datetime.combine(day, dt.time(), dt.UTC)),
        day=day,
        amount=_number(row, "amount"),
        symbol=_symbol(row, needed=kind in {"buy", "sell"}),
        quantity=_number(row, "quantity", default=0.0),
        price=_number(row, "price", default=0.0),
        fee=_number(row, "fee", default=0.0),
        realised=_number(row, "realised", default=0.0),
        source=row.get("source", ""),
    )


_READERS: dict[str, Callable[[Mapping[str, str], dt.datetime], Any]] = {
    "position": _position,
    "cash": _cash,
    "trade": _trade,
}


def _symbol(row: Mapping[str, str], *, needed: bool) -> str:
    written = row.get("symbol", "")
    if not written:
        if needed:
            raise _Bad("symbol is empty", "give a code such as AAPL or 600519")
        return ""
    found = symbols.lookup(written)
    if found is not None:
        return found.id
    code = symbols.canonical(written)
    if len(code) > CODE_CHARS or not code.isascii() or any(c.isspace() for c in code):
        raise _Bad(
            f"{written[:CODE_CHARS]!r} is no known symbol", "give its code, such as AAPL or 600519"
        )
    return code


def _number(
    row: Mapping[str, str], name: str, *, default: float | None = None, least: float = -math.inf
) -> float:
    text = row.get(name, "")
    if not text and default is not None:
        return default
    try:
        value = float(text.replace("_", "x"))
    except ValueError:
        shown = f"{name} {text[:20]!r} is no number" if text else f"{name} is empty"
        raise _Bad(shown, "write it with a point and without separators, such as 1234.5") from None
    if not math.isfinite(value) or value < least:
        raise _Bad(
            f"{name} {text} is out of range",
            f"at least {least:g}" if least > -math.inf else "a finite number",
        )
    return value


def _currency(row: Mapping[str, str], *, needed: bool) -> str:
    text = row.get("currency", "").upper()
    if not text and not needed:
        return ""
    if not (3 <= len(text) <= 5 and text.isascii() and text.isalnum()):
        raise _Bad(f"currency {text!r} is none", "give its code, such as USD")
    return text


def _one_of(row: Mapping[str, str], name: str, allowed: Iterable[str]) -> str:
    text = row.get(name, "").lower()
    if text not in allowed:
        raise _Bad(f"{name} {text!r} is unknown", f"use one of: {', '.join(filter(None, allowed))}")
    return text


def _day(row: Mapping[str, str]) -> dt.date:
    text = row.get("day", "")
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise _Bad(f"day {text[:20]!r} is no date", "write it as YYYY-MM-DD") from None


def _time(row: Mapping[str, str], default: dt.datetime) -> dt.datetime:
    text = row.get("at", "")
    if not text:
        return default
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError:
        raise _Bad(
            f"at {text[:40]!r} is no time", "write it as 2026-01-05T12:00:00+00:00"
        ) from None
    if found.tzinfo is None:
        raise _Bad(f"at {text} has no zone", "add one, such as +00:00")
    return found.astimezone(dt.UTC)


def _shown(value: float) -> str:
    """The shortest text that is read back as the same number."""
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
