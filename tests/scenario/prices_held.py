"""A package with a price source that can be held exactly while an order is on its way to its broker."""

from pathlib import Path

NAME = "held"
CODE = '''
"""The bundled prices; while the file `hold_fills` exists, none are given once an order is being sent."""

import asyncio
import os
import sqlite3
from pathlib import Path

from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.kinds import SourceKind

FOLDER = Path(os.environ["SCENARIO_FOLDER"])
DATABASE = FOLDER.parent / "data" / "swarmgate.db"


def _sending():
    connection = sqlite3.connect(f"file:{DATABASE}?mode=ro", uri=True)
    try:
        query = "select count(*) from trade_order where status = 'sending'"
        return connection.execute(query).fetchone()[0]
    finally:
        connection.close()


class HeldSource(BundledSource):
    name = "held"

    async def bars(self, symbol, start, end):
        if (FOLDER / "hold_fills").exists() and _sending():
            with (FOLDER / "fills").open("a") as trace:
                trace.write(symbol + "\\n")
            while (FOLDER / "hold_fills").exists():
                await asyncio.sleep(0.02)
        return await super().bars(symbol, start, end)


KIND = SourceKind("held", "held_prices:HeldSource", live=False)
'''


class HeldPrices:
    """The installed package, in the folder of the other one (see plugin.py)."""

    def __init__(self, folder: Path) -> None:
        self._hold = folder / "hold_fills"
        self._trace = folder / "fills"
        info = folder / "held_prices-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / "held_prices.py").write_text(CODE, "utf-8")
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: held-prices\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[swarmgate.sources]\nheld = held_prices:KIND\n")
        (info / "RECORD").write_text("held_prices.py,,\n")

    def hold(self) -> None:
        """From the next order that is stored, its fill waits."""
        self._hold.touch()

    def release(self) -> None:
        """Prices come again."""
        self._hold.unlink()

    def held(self) -> int:
        """How many questions for prices were held."""
        return len(self._trace.read_text().splitlines()) if self._trace.exists() else 0
