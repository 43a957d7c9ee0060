"""How vendors write our symbol ids (agent_core/symbols.py); None where a vendor has no such market."""

import re

_PAIR = re.compile(r"([A-Z]{3})/([A-Z]{3})")


def pair(symbol: str) -> tuple[str, str] | None:
    """Base and quote of a currency pair such as EUR/USD."""
    found = _PAIR.fullmatch(symbol)
    return (found[1], found[2]) if found else None


def coin(symbol: str) -> str | None:
    """The coin of BTC-USD."""
    return symbol.removesuffix("-USD") if symbol.endswith("-USD") else None


def exchange(symbol: str) -> tuple[str, str]:
    """Number and exchange of 600519.SH, or the code and "" of a US share; BRK.B is a US share."""
    number, dot, suffix = symbol.rpartition(".")
    return (number, suffix) if dot and suffix in {"SH", "SZ", "BJ", "HK"} else (symbol, "")


def yahoo(symbol: str) -> str | None:
    """AAPL, BRK-B, 0700.HK, 600519.SS, BTC-USD, EURUSD=X; Beijing is not there."""
    if currencies := pair(symbol):
        return "".join(currencies) + "=X"
    code, suffix = exchange(symbol)
    if suffix == "BJ":
        return None
    if suffix:
        return f"{code}.{'SS' if suffix == 'SH' else suffix}"
    return symbol if coin(symbol) else symbol.replace(".", "-")


def stooq(symbol: str) -> str | None:
    """aapl.us, brk-b.us, 700.hk, eurusd."""
    if currencies := pair(symbol):
        return "".join(currencies).lower()
    code, suffix = exchange(symbol)
    if suffix == "HK":
        return f"{int(code)}.hk"
    if suffix or coin(symbol):
        return None
    return symbol.replace(".", "-").lower() + ".us"


def baostock(symbol: str) -> str | None:
    """sh.600519, sz.000001."""
    code, suffix = exchange(symbol)
    return f"{suffix.lower()}.{code}" if suffix in {"SH", "SZ"} else None
