"""What the tools answer with: the shape of each answer that another program may read (TGV-1, MCP-2).

Every answer states its source, its last day, its window, its currency and how far it may be believed. Prices are in
`currency`, percentages in percent, days are written as 2012-12-31; null is what cannot be told. An answer may have
further fields.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict

from agent_core.tools.spec import Credibility

Figure = float | None
Row = dict[str, Any]


class Stated(BaseModel):
    """What every answer says of itself."""

    model_config = ConfigDict(defer_build=True)  # for its schema alone

    source: str
    as_of: str | None
    window: dict[str, str] | None
    currency: str | None
    credibility: Credibility
    note: str = ""


class OfOne(Stated):
    """An answer about one symbol."""

    symbol: str
    name: str
    name_zh: str
    period: str | None
    adjustment: str


class Matches(Stated):
    """Symbols that a name or code may mean."""

    query: str
    matches: list[Row]


class History(OfOne):
    """Prices of one symbol over a window."""

    first_close: Figure
    last_close: Figure
    change_pct: Figure
    high: Row
    low: Row
    average_volume: int
    trading_days: int
    previous_close: Row = {}
    interval: str
    intervals_per_row: int
    bars: list[Row]


class Overview(Stated):
    """Last prices and returns of several symbols."""

    items: list[Row]
    missing: list[str]


class Analysed(OfOne):
    """Trend, indicators, levels and risk of one symbol."""

    first_close: Figure
    last_close: Figure
    change_pct: Figure
    trend: Row
    indicators: dict[str, Figure]
    drawdown: Row
    volatility_pct_annual: Figure
    risk: Row
    support: list[Figure]
    resistance: list[Figure]
    phase_note: str
    volume: dict[str, Figure]
    wyckoff: Row
    notice: str


class Read(OfOne):
    """Chosen indicators of one symbol."""

    last_close: Figure
    last_dates: list[str]
    bars_before_window: int
    indicators: list[Row]
    notice: str


class Risks(OfOne):
    """Risk of one symbol."""

    returns: int
    volatility_pct_annual: Figure
    downside_deviation_pct_annual: Figure
    one_day_loss_pct: dict[str, dict[str, Figure]]
    drawdown: Row
    benchmark: str | None
    beta: Figure
    correlation_with_benchmark: Figure
    common_returns: int | None
    notice: str


class Correlated(Stated):
    """Correlation of several symbols, pair by pair."""

    symbols: list[str]
    matrix: list[list[Figure]]
    most_correlated: Row | None
    least_correlated: Row | None
    common_returns: dict[str, int]
    missing: list[str]
    notice: str


class State(Stated):
    """State of a market."""

    market: str
    members: list[str]
    trend: Row
    change_60_days_pct: Figure
    volatility: Row
    breadth_pct: dict[str, Figure]
    missing: list[str]
    notice: str


class Phase(OfOne):
    """The phase of one symbol after Wyckoff: a heuristic."""

    last_close: Figure
    method: str
    phase: str
    rule: str
    events: list[Row]
    phase_caveat: str
    figures: Row | None
    notice: str


class Sized(Stated):
    """How much to trade."""

    symbol: str | None
    side: str
    account: Figure
    entry: Figure
    stop: Figure
    units: float
    lot: dict[str, float]
    position_value: Figure
    position_pct_of_account: Figure
    risk_budget: Figure
    loss_at_stop: Figure
    loss_pct_of_account: Figure
    fees: Figure
    limited_by: str
    targets: dict[str, Figure]
    notice: str


class Screened(Stated):
    """Symbols that keep all bounds, in their order, and what was left out."""

    rules: list[Row]
    sorted_by: str
    screened: int
    matched: int
    shown: int
    rows: list[Row]
    failed_first_at: dict[str, int]
    left_out: list[dict[str, str]]
    left_out_count: int
    notice: str


class Drawn(Stated):
    """A chart that was drawn. `change_pct`: of one symbol, or of each that is compared."""

    kind: str
    artifact: str
    change_pct: Figure | dict[str, Figure]


class Sessions(Stated):
    """Whether a market trades on a day, and its next sessions."""

    market: str
    date: str
    weekday: str
    timezone: str
    is_trading_day: bool
    session: Row | None
    next_sessions: list[Row]


class Reported(Stated):
    """Reported figures of a company, newest statement first."""

    symbol: str
    name: str
    period: str
    statements: list[Row]
    now: dict[str, Figure]


class Filed(Stated):
    """Documents of a company, newest first; `more` are not shown."""

    symbol: str
    name: str
    filings: list[Row]
    more: int


class Profiles(Stated):
    """What is known of several symbols."""

    items: list[Row]
    missing: list[str]


class Book(Stated):
    """A person's book: what it holds (`own`, `paper`, orders and trades), or the risks of it."""

    own: Row = {}
    paper: Row = {}
    open_orders: list[Row] = []
    last_trades: list[Row] = []
    artifact: str = ""
    largest: Row | None = None
    top3_pct: Figure = None
    hhi: Figure = None
    cash_pct: Figure = None
    volatility_pct_annual: Figure = None
    max_drawdown_pct: Figure = None
    average_correlation: Figure = None
    most_alike: Row | None = None
    beta: Figure = None
    common_days: int = 0
    benchmark: str | None = None
    without_price: list[str] = []
    remarks: list[str] = []


class Changed(Stated):
    """What was changed in a book."""

    done: list[str]
