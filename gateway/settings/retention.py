"""How long by-products are kept: spans such as 14d, 12h or 30m; null for as long as the rows themselves."""

import datetime as dt
import re
from typing import Annotated

from pydantic import BeforeValidator

from gateway.settings.fields import Section, fault

_SPAN = re.compile(r"([1-9][0-9]{0,4})\s?([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def span_of(value: object) -> object:
    """What a span says; None for none. Raises ValueError (with its cure)."""
    if value is None or value == "":
        return None
    if isinstance(value, dt.timedelta):
        return value
    found = _SPAN.fullmatch(str(value).strip())
    if found is None:
        raise fault(
            "is no span of time", "write a number with m, h, d or w, such as 14d, or null for ever"
        )
    return dt.timedelta(**{_UNITS[found[2]]: int(found[1])})


Span = Annotated[dt.timedelta | None, BeforeValidator(span_of)]


class Retention(Section):
    """How long by-products are kept (SCR-6, ARC-8). Rows of transcripts stay: /forget is the only deletion of them.

    `traces` are the events of turns, `archives` the whole texts of large tool results (their previews stay), `prices`
    what live data sources have answered (it is fetched again when it is asked for).
    """

    traces: Span = dt.timedelta(days=14)
    archives: Span = None
    prices: Span = dt.timedelta(days=90)
