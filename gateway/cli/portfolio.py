"""`portfolio`: a person's positions, cash and history, on the operator's machine, beside a running gateway."""

import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import err, finish, out, show, show_one

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agent_core.finance.portfolio_csv import Book

app = typer.Typer(help="A person's positions, cash and history.", no_args_is_help=True)
_COLUMNS = (
    "id",
    "record",
    "account",
    "symbol",
    "quantity",
    "price",
    "currency",
    "amount",
    "kind",
    "day",
)
FAULTS_SHOWN = 20
User = Annotated[
    str,
    typer.Option("--user", metavar="ID", help="Whose: telegram:123, slack:T1:U2, web:alice …"),
]


@app.command("show")
def show_book(user: User, as_json: Json = False, config: Config = None) -> None:
    """A person's positions, cash, open orders and trades, without prices; the tool `portfolio` has those."""

    def command() -> int:
        rows = _with_owner(config, user, _rows)
        show(rows, _COLUMNS, as_json=as_json, empty=f"{user} has no portfolio")
        return 0

    raise typer.Exit(finish(command))


@app.command()
def export(
    user: User,
    file: Annotated[Path | None, typer.Argument(help="Default: standard output.")] = None,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Positions, cash and trades as CSV for `portfolio import`; with --json as JSON."""

    def command() -> int:
        from agent_core.finance.portfolio_csv import render

        if as_json:
            show(_with_owner(config, user, _rows), _COLUMNS, as_json=True)
            return 0
        text = render(_with_owner(config, user, _book))
        if file is None:
            out(text.rstrip("\n"))
            return 0
        file.touch(mode=0o600)  # a person's book is for nobody else on the machine
        file.write_text(text, encoding="utf-8")
        err(f"swarmgate: the portfolio of {user} is in {file}")
        return 0

    raise typer.Exit(finish(command))


@app.command("import")
def load(
    user: User,
    file: Annotated[Path, typer.Argument(help="A CSV file; - for standard input.")],
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Read positions, cash and trades from a CSV file. With an error in it nothing is taken.

    Columns: record (position, cash, trade), account, symbol, quantity, price, currency, amount, kind, name, relation,
    note, fee, realised, source, day, at. The shortest file has symbol,quantity,price,currency.
    """

    def command() -> int:
        from agent_core.finance.portfolio_csv import MOST_BYTES, parse

        data = (
            sys.stdin.buffer.read(MOST_BYTES + 1) if str(file) == "-" else _read(file, MOST_BYTES)
        )
        if len(data) > MOST_BYTES:
            err(f"swarmgate: {file} is larger than {MOST_BYTES // 1_000_000} MB; split it")
            return 1
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            err(f"swarmgate: {file} is not UTF-8; save it as CSV UTF-8")
            return 1
        book, faults = parse(text, _now())
        for fault in faults[:FAULTS_SHOWN]:
            err(f"swarmgate: {file}: {fault}")
        if len(faults) > FAULTS_SHOWN:
            err(f"swarmgate: {file}: and {len(faults) - FAULTS_SHOWN} more")
        if faults:
            return 1
        counts = _with_owner(config, user, lambda conn, owner: _store(conn, owner, book))
        said = ", ".join(f"{count} {name}" for name, count in counts.items())
        show_one({"id": user, **counts}, f"read for {user}: {said}", as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


@app.command()
def audit(as_json: Json = False, config: Config = None) -> None:
    """Verify the audit of all orders: a chain of hashes. Exit 1 where it does not hold. Keep `head` elsewhere."""

    def command() -> int:
        from agent_core.storage.orders_audit import verify
        from gateway.cli.admin import transact

        found = transact(settings_for(config), verify)
        fields = {
            "id": "order_audit",
            "holds": not found.broken,
            "rows": found.rows,
            "erased": found.erased,
            "head": found.head,
            "broken": list(found.broken),
        }
        erased = f", {found.erased} of persons who were forgotten" if found.erased else ""
        said = f"the audit holds: {found.rows} rows{erased}; head {found.head}"
        if found.broken:
            said = "\n".join(["the audit does not hold:", *found.broken])
        show_one(fields, said, as_json=as_json)
        return 1 if found.broken else 0

    raise typer.Exit(finish(command))


def _with_owner(config: Path | None, user: str, work: Any) -> Any:
    """`work(conn, owner)` in one transaction; linked identities have one owner."""
    from gateway.cli.admin import transact
    from gateway.people.identity import principal_of

    return transact(settings_for(config), lambda conn: work(conn, principal_of(conn, user)))


def _read(file: Path, most: int) -> bytes:
    with file.open("rb") as opened:
        return opened.read(most + 1)


def _book(conn: "Connection", owner: str) -> "Book":
    from agent_core.book import Holding
    from agent_core.finance.portfolio_csv import Book
    from agent_core.storage import orders, portfolio

    held = portfolio.records(conn, owner, Holding, orders.MANY)
    past = orders.trades(conn, owner)
    return Book(tuple(reversed(held)), tuple(orders.cash(conn, owner)), tuple(reversed(past)))


def _rows(conn: "Connection", owner: str) -> list[dict[str, Any]]:
    """Everything as rows that have an id."""
    from dataclasses import asdict

    from agent_core.storage import orders

    book = _book(conn, owner)
    rows: list[dict[str, Any]] = [
        asdict(h) | {"record": "position", "price": h.cost, "id": f"position:{h.id}"}
        for h in book.holdings
    ]
    rows += [
        asdict(c) | {"record": "cash", "id": f"cash:{c.account}:{c.currency}"} for c in book.cash
    ]
    rows += [
        asdict(o) | {"record": "order", "price": o.level, "id": f"order:{o.id}"}
        for o in orders.undone(conn, owner)
    ]
    rows += [asdict(t) | {"record": "trade", "id": f"trade:{t.id}"} for t in book.trades]
    return rows


def _store(conn: "Connection", owner: str, book: "Book") -> dict[str, int]:
    from agent_core.storage import orders, orders_halt, portfolio

    orders_halt.hold(conn)  # not beside a fill
    for holding in book.holdings:
        portfolio.put(conn, owner, holding)
    for money in book.cash:
        orders.set_cash(conn, owner, money)
    fresh = [t for t in book.trades if not orders.trade_known(conn, owner, t)]
    for trade in fresh:
        orders.add_trade(conn, owner, trade)
    return {"positions": len(book.holdings), "cash": len(book.cash), "trades": len(fresh)}


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
