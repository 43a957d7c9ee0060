"""Values of rows in JSON, without loss and the same from both databases."""

import base64
import datetime as dt
from decimal import Decimal
from typing import Any

NUL = "\x00"


def packed(value: Any) -> Any:
    """A value as JSON. What JSON has no word for becomes an object with one key, which says what it is."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | memoryview):
        return {"b": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, dt.datetime):
        return {"t": (value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value).isoformat()}
    if isinstance(value, dt.date):
        return {"d": value.isoformat()}
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list | tuple):
        return [packed(entry) for entry in value]
    raise TypeError(f"{type(value).__name__} cannot be kept in a backup")


def unpacked(value: Any, *, nul: bool) -> Any:
    """The value again. Without `nul` (PostgreSQL's texts have no zero byte) that byte becomes U+FFFD.

    Raises ValueError for an object that is none of `packed`.
    """
    if isinstance(value, str):
        return value if nul or NUL not in value else value.replace(NUL, "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, list):
        return [unpacked(entry, nul=nul) for entry in value]
    match value:
        case {"b": str(data)}:
            return base64.b64decode(data, validate=True)
        case {"t": str(text)}:
            return dt.datetime.fromisoformat(text)
        case {"d": str(text)}:
            return dt.date.fromisoformat(text)
        case dict():
            raise ValueError("an object of an unknown kind")
    return value
