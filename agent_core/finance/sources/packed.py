"""A series of bars as bytes, for a store: columns of doubles, compressed. 13 years of days are about 100 KB."""

import datetime as dt
import json
import struct
import sys
import zlib
from array import array
from typing import Any

from agent_core.finance.bars import COLUMNS, Bars, Dividend, Split

VERSION = 1
_SIZE = struct.Struct("<I")


def pack(bars: Bars) -> bytes:
    """The bytes of a series. A few ms for a long one."""
    head = {
        "version": VERSION,
        "symbol": bars.symbol,
        "currency": bars.currency,
        "source": bars.source,
        "adjustment": bars.adjustment,
        "interval": bars.interval,
        "days": len(bars),
        "splits": [[split.date.toordinal(), split.ratio] for split in bars.splits],
        "dividends": [[paid.date.toordinal(), paid.amount] for paid in bars.dividends],
        "fetched_at": bars.fetched_at.isoformat() if bars.fetched_at else None,
    }
    written = json.dumps(head).encode()
    days = _little(array("i", (day.toordinal() for day in bars.dates)))
    columns = [_little(array("d", getattr(bars, name))) for name in COLUMNS]
    return zlib.compress(b"".join([_SIZE.pack(len(written)), written, days, *columns]), 1)


def unpack(data: bytes) -> Bars:
    """What `pack` wrote. Raises ValueError for anything else, and for what another version wrote."""
    try:
        return _unpacked(zlib.decompress(data))
    except (zlib.error, struct.error, KeyError, TypeError) as error:
        raise ValueError("no packed series") from error


def _unpacked(raw: bytes) -> Bars:
    (size,) = _SIZE.unpack_from(raw)
    head = json.loads(raw[_SIZE.size : _SIZE.size + size])
    if head["version"] != VERSION:
        raise ValueError(f"a series of version {head['version']}")
    at, count = _SIZE.size + size, head["days"]
    days, columns = array("i"), [array("d") for _ in COLUMNS]
    every: list[array[Any]] = [days, *columns]
    for values in every:
        end = at + count * values.itemsize
        values.frombytes(raw[at:end])
        at = end
        if sys.byteorder == "big":
            values.byteswap()
    open_, high, low, close, volume = columns
    fetched = head["fetched_at"]
    return Bars(
        symbol=head["symbol"],
        currency=head["currency"],
        source=head["source"],
        open=open_,
        high=high,
        low=low,
        close=close,
        volume=volume,
        dates=tuple(map(dt.date.fromordinal, days)),
        splits=tuple(Split(dt.date.fromordinal(day), ratio) for day, ratio in head["splits"]),
        dividends=tuple(
            Dividend(dt.date.fromordinal(day), amount) for day, amount in head["dividends"]
        ),
        adjustment=head["adjustment"],
        interval=head["interval"],
        fetched_at=dt.datetime.fromisoformat(fetched) if fetched else None,
    )


def _little(values: "array[int] | array[float]") -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()
