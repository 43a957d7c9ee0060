"""`swarmgate portfolio`: books in and out as CSV, and the audit of orders, beside a gateway that may run."""

import asyncio
import json
from pathlib import Path

from sqlalchemy import Connection, text

from gateway.storage.schema import open_database
from tests.unit.gateway.test_cli import Command, swarmgate
from tests.unit.gateway.trading import ALICE, desk, limit, order, place

__all__ = ["swarmgate"]
MINE = ("--user", ALICE)
FILE = "symbol,quantity,price,currency\nGOOG,10,500,USD\n茅台,1,1500,CNY\n"


def book(folder: Path) -> None:
    """Alice has a filled order and an open one."""
    (folder / "data").mkdir(mode=0o700, exist_ok=True)

    async def run() -> None:
        db = await open_database(f"sqlite:///{folder / 'data' / 'swarmgate.db'}")
        at = desk(db)
        await place(at, order())
        await place(at, limit(780.0), key="k2")
        await db.close()

    asyncio.run(run())


def tamper(folder: Path) -> None:
    async def run() -> None:
        db = await open_database(f"sqlite:///{folder / 'data' / 'swarmgate.db'}")

        def work(conn: Connection) -> None:
            conn.execute(text("update order_audit set body = '{}' where n = 1"))

        await db.write(work)
        await db.close()

    asyncio.run(run())


def test_a_book_goes_in_is_shown_and_comes_out_as_it_was(
    swarmgate: Command, tmp_path: Path
) -> None:
    file = tmp_path / "book.csv"
    file.write_text(FILE, encoding="utf-8")
    assert "2 positions, 0 cash, 0 trades" in swarmgate("portfolio", "import", str(file), *MINE)
    shown = swarmgate("portfolio", "show", *MINE)
    assert "600519.SH" in shown
    out = tmp_path / "out.csv"
    swarmgate("portfolio", "export", str(out), *MINE)
    assert out.stat().st_mode & 0o077 == 0
    swarmgate("portfolio", "import", str(out), "--user", "telegram:2")
    assert swarmgate("portfolio", "export", "--user", "telegram:2") == out.read_text("utf-8")


def test_a_file_with_errors_names_them_all_and_takes_nothing(
    swarmgate: Command, tmp_path: Path
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text("symbol,quantity,price\nGOOG,1,500\nGOOG,x,500\na b c,1,2\n", encoding="utf-8")
    said = swarmgate("portfolio", "import", str(file), *MINE, code=1)
    assert "line 3: quantity 'x' is no number" in said
    assert "line 4: 'a b c' is no known symbol" in said
    assert swarmgate("portfolio", "show", *MINE) == f"{ALICE} has no portfolio\n"


def test_orders_and_trades_are_shown_and_exported(swarmgate: Command, tmp_path: Path) -> None:
    book(swarmgate.folder)
    rows = json.loads(swarmgate("portfolio", "show", *MINE, "--json"))
    assert [row["record"] for row in rows] == ["position", "cash", "order", "trade", "trade"]
    assert all(row["id"] for row in rows)
    out = tmp_path / "out.csv"
    swarmgate("portfolio", "export", str(out), *MINE)
    again = json.loads(swarmgate("portfolio", "import", str(out), *MINE, "--json"))
    assert again["trades"] == 0  # they are known


def test_check_says_that_live_trading_is_subject_to_the_law(swarmgate: Command) -> None:
    (swarmgate.folder / "data").mkdir(mode=0o700)
    (swarmgate.folder / "presets").mkdir()
    file = swarmgate.folder / "swarmgate.yaml"
    file.write_text("version: 1\ntrading: {broker: ib, live: true}\n", encoding="utf-8")
    assert "subject to the law of your place and to your broker's terms" in swarmgate("check")
    file.write_text("version: 1\n", encoding="utf-8")
    assert "trading.live" not in swarmgate("check")


def test_the_audit_holds_and_tampering_is_exit_1(swarmgate: Command) -> None:
    book(swarmgate.folder)
    assert swarmgate("portfolio", "audit").startswith("the audit holds: 4 rows; head ")
    tamper(swarmgate.folder)
    found = json.loads(swarmgate("portfolio", "audit", "--json", code=1))
    assert found["holds"] is False
    assert "row 1 was changed after it was written" in found["broken"]
