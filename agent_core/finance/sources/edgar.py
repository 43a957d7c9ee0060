"""The SEC's EDGAR: filings of US companies, and the figures in them. Not verified live here (deploy/sources.md).

Its terms ask for a User-Agent with a contact and at most 10 requests a second.
"""

import asyncio
import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_core.finance.fundamentals import Filing, Fundamentals, Period, Statement
from agent_core.finance.sources import codes
from agent_core.finance.sources.fetch import down, fetch_json
from agent_core.finance.sources.source import NoData
from agent_core.ports import Clock
from agent_core.symbols import Symbol

DATA_URL = "https://data.sec.gov"
FILES_URL = "https://www.sec.gov"
# Tags of US GAAP, the current ones first; the first that reports a period counts.
TAGS: dict[str, tuple[str, ...]] = {
    "revenue": (
        "RevenueFromContractWithCustomerExcludingAssessedTax",
        "Revenues",
        "SalesRevenueNet",
    ),
    "gross_profit": ("GrossProfit",),
    "operating_income": ("OperatingIncomeLoss",),
    "net_income": ("NetIncomeLoss",),
    "eps_diluted": ("EarningsPerShareDiluted",),
    "operating_cash_flow": ("NetCashProvidedByUsedInOperatingActivities",),
    "assets": ("Assets",),
    "liabilities": ("Liabilities",),
    "equity": ("StockholdersEquity",),
    "cash": ("CashAndCashEquivalentsAtCarryingValue",),
    "shares": ("CommonStockSharesOutstanding",),
}
_DAYS: dict[Period, tuple[int, int]] = {"year": (350, 380), "quarter": (80, 100)}
_FORMS: dict[Period, tuple[str, ...]] = {
    "year": ("10-K", "20-F", "40-F"),
    "quarter": ("10-Q", "10-K"),
}
_EXCHANGES = frozenset({"NYSE", "NASDAQ", "CBOE"})
KEPT = dt.timedelta(days=1)  # the list of companies changes daily
REPORTED = dt.timedelta(hours=6)
MOST_REPORTED = 32  # companies whose facts are kept


class EdgarSource:
    """See FundamentalsSource and FilingsSource. `contact` is a mail address of the operator."""

    name = "edgar"

    def __init__(
        self,
        clock: Clock,
        *,
        contact: str,
        base_url: str = DATA_URL,
        files_url: str = FILES_URL,
    ) -> None:
        self._clock = clock
        self._headers = {"User-Agent": f"swarmgate {contact}"}
        self._data, self._files = base_url.rstrip("/"), files_url.rstrip("/")
        self._companies: dict[str, tuple[int, str]] = {}
        self._listed_at: dt.datetime | None = None
        self._reported: dict[int, tuple[dt.datetime, str, dict[str, Any]]] = {}

    async def filings(
        self, symbol: str, forms: Sequence[str], as_of: dt.date | None
    ) -> list[Filing]:
        """See FilingsSource. EDGAR's page of recent filings: the last thousand, or a year if that is more."""
        number, _ = await self._company(symbol)
        page = await self._get(f"{self._data}/submissions/CIK{number:010d}.json")
        try:
            recent = page["filings"]["recent"]
            found = [self._filing(number, recent, i) for i in range(len(recent["form"]))]
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise down(self.name, "its list of filings has another form") from error
        wanted = [
            filing
            for filing in found
            if (not forms or filing.form in forms) and (as_of is None or filing.filed <= as_of)
        ]
        if not wanted:
            kinds = ", ".join(forms) or "any form"
            cure = (
                f"forms that it filed: {', '.join(sorted({f.form for f in found})[:12]) or 'none'}"
            )
            raise NoData(
                f"no filings of {symbol} ({kinds}) until {as_of or 'now'}", self.name, cure
            )
        return sorted(wanted, key=lambda filing: filing.filed, reverse=True)

    async def fundamentals(
        self, symbol: str, period: Period, as_of: dt.date | None
    ) -> Fundamentals:
        """See FundamentalsSource. Figures as they were first filed, or corrected until `as_of`."""
        number, title = await self._company(symbol)
        name, facts = await self._facts(number)
        try:
            statements = await asyncio.to_thread(statements_of, facts, period, as_of)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise down(self.name, "its facts have another form") from error
        if not statements:
            cure = "ask for another day, or for filings"
            raise NoData(f"no figures of {symbol} until {as_of or 'now'}", self.name, cure)
        return Fundamentals(symbol, name or title, self.name, "USD", statements)

    async def listing(self) -> list[Symbol]:
        """Every company that is listed on an exchange of the US, by its ticker."""
        page = await self._get(f"{self._files}/files/company_tickers_exchange.json")
        try:
            at = {name: i for i, name in enumerate(page["fields"])}
            return [
                Symbol(_ours(row[at["ticker"]]), row[at["name"]], row[at["name"]], "US", "USD", ())
                for row in page["data"]
                if str(row[at["exchange"]]).upper() in _EXCHANGES
            ]
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise down(self.name, "its list of companies has another form") from error

    async def _facts(self, number: int) -> tuple[str, dict[str, Any]]:
        """The name of a company and its facts of our tags. A page has MBs of others: these few are kept a while."""
        now = self._clock.now()
        kept = self._reported.get(number)
        if kept is None or now - kept[0] > REPORTED:
            page = await self._get(f"{self._data}/api/xbrl/companyfacts/CIK{number:010d}.json")
            try:
                tags = page["facts"].get("us-gaap", {})
                ours = {tag: tags[tag] for names in TAGS.values() for tag in names if tag in tags}
                kept = (now, str(page.get("entityName") or ""), {"us-gaap": ours})
            except (KeyError, TypeError, AttributeError) as error:
                raise down(self.name, "its facts have another form") from error
            self._reported[number] = kept
            while len(self._reported) > MOST_REPORTED:
                self._reported.pop(next(iter(self._reported)))
        return kept[1], kept[2]

    def _filing(self, number: int, recent: Mapping[str, list[str]], i: int) -> Filing:
        file = f"{recent['accessionNumber'][i].replace('-', '')}/{recent['primaryDocument'][i]}"
        period = recent["reportDate"][i]
        return Filing(
            form=recent["form"][i],
            filed=dt.date.fromisoformat(recent["filingDate"][i]),
            period=dt.date.fromisoformat(period) if period else None,
            title=recent["primaryDocDescription"][i] or recent["form"][i],
            url=f"{self._files}/Archives/edgar/data/{number}/{file}",
        )

    async def _company(self, symbol: str) -> tuple[int, str]:
        if codes.exchange(symbol)[1] or codes.coin(symbol) or codes.pair(symbol):
            raise NoData(f"no filings of {symbol}", self.name, "EDGAR has US companies")
        now = self._clock.now()
        if self._listed_at is None or now - self._listed_at > KEPT:
            page = await self._get(f"{self._files}/files/company_tickers.json")
            try:
                self._companies = {
                    _ours(row["ticker"]): (int(row["cik_str"]), str(row["title"]))
                    for row in page.values()
                }
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise down(self.name, "its list of companies has another form") from error
            self._listed_at = now
        if symbol not in self._companies:
            raise NoData(f"no filings of {symbol}", self.name, "EDGAR knows no such ticker")
        return self._companies[symbol]

    async def _get(self, url: str) -> Any:
        return await fetch_json(self.name, url, clock=self._clock, headers=self._headers)


def statements_of(
    facts: Mapping[str, Any], period: Period, as_of: dt.date | None
) -> tuple[Statement, ...]:
    """The statements in EDGAR's company facts, newest first; of several filings of a figure the last one counts."""
    tags = facts.get("us-gaap", {})
    values: dict[dt.date, dict[str, float]] = {}
    filed: dict[dt.date, dt.date] = {}
    for figure, names in TAGS.items():
        for end, (value, day) in _reported(tags, names, period, as_of).items():
            values.setdefault(end, {})[figure] = value
            if _flows(figure):
                filed[end] = max(day, filed.get(end, day))
    ends = sorted(filed, reverse=True)
    return tuple(Statement(end, filed[end], values[end]) for end in ends)


def _flows(figure: str) -> bool:
    """Whether a figure belongs to a span of time and not to its last day."""
    return figure not in {"assets", "liabilities", "equity", "cash", "shares"}


def _reported(
    tags: Mapping[str, Any], names: Sequence[str], period: Period, as_of: dt.date | None
) -> dict[dt.date, tuple[float, dt.date]]:
    found: dict[dt.date, tuple[float, dt.date]] = {}
    for name in reversed(names):  # the current tag is written over the older ones
        for end, value, day in sorted(_facts(tags.get(name, {}), period), key=lambda fact: fact[2]):
            if as_of is None or day <= as_of:
                found[end] = (value, day)
    return found


def _facts(tag: Mapping[str, Any], period: Period) -> Iterator[tuple[dt.date, float, dt.date]]:
    low, high = _DAYS[period]
    for unit, rows in tag.get("units", {}).items():
        if unit not in {"USD", "USD/shares", "shares"}:
            continue
        for row in rows:
            if row["form"].removesuffix("/A") not in _FORMS[period]:
                continue
            end = dt.date.fromisoformat(row["end"])
            start = row.get("start")
            if start is None or low <= (end - dt.date.fromisoformat(start)).days <= high:
                yield end, float(row["val"]), dt.date.fromisoformat(row["filed"])


def _ours(ticker: str) -> str:
    return ticker.upper().replace("-", ".")
