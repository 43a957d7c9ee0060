"""Pages as HTML: Jinja2 with everything escaped, and the few forms in which numbers and times are shown."""

import datetime as dt
import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gateway.console.texts import phrase
from gateway.people.identity import Language

TEMPLATES = Path(__file__).parent / "templates"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "count": count,
        "usd": usd,
        "moment": moment,
        "iso": lambda at: at.isoformat(),
        "span": span,
        "part": lambda share: f"{share * 100:.0f}%",
        "pretty": lambda value: json.dumps(value, ensure_ascii=False, indent=1, default=str),
        "seg": lambda text: quote(str(text), safe=""),
    }
    return made


def page(template: str, language: Language, **values: Any) -> str:
    """A page in a language."""

    def t(text: str, **named: object) -> str:
        return phrase(text, language).format(**named) if named else phrase(text, language)

    return _environment().get_template(template).render(t=t, language=language, **values)


def count(number: float | None) -> str:
    """A number with separators; from 10,000 on in thousands or millions. A dash for what is not known."""
    if number is None:
        return "–"
    for size, unit in ((1_000_000, "M"), (10_000, "k")):
        if abs(number) >= size:
            return f"{number / (1_000_000 if unit == 'M' else 1_000):.1f}{unit}"
    return f"{number:,.0f}"


def usd(amount: float | None) -> str:
    """US dollars; small amounts with the digits that tell them apart. A dash for what is not known (MDL-3)."""
    if amount is None:
        return "–"
    if amount and abs(amount) < 0.01:
        return f"${amount:.4f}" if abs(amount) >= 0.0001 else "<$0.0001"
    return f"${amount:,.2f}"


def moment(at: dt.datetime | None) -> str:
    """A time, UTC, to the second."""
    return "–" if at is None else f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}"


def span(seconds: float | None) -> str:
    """A span of time in its two largest units."""
    if seconds is None:
        return "–"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    whole = int(seconds)
    for size, unit, below, name in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // below} {name}"
    return f"{whole // 60} min {whole % 60} s"
