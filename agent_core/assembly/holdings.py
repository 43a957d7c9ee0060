"""The overview of a person's holdings for questions about all of them (PFI-1, PFI-3, PFI-5). Pure.

Up to LARGE holdings come with their profiles, each shortened alike where room is short, so that none is missing. A
larger book has one line for each, the largest first, with how many of how many are shown.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_core.assembly.gssc import shortened
from agent_core.assembly.labelled import key, label, quoted
from agent_core.book import Holding, Profile, least
from agent_core.text import clip

LARGE = 20
PROFILE_CHARS = (400, 300, 200, 140, 100, 60)  # tried in this order
LINE_CHARS = 60  # of a profile in a large book
NAME_CHARS, NOTE_CHARS = 60, 120
# Only to put holdings of several currencies in order; never shown. Orders of magnitude, in US dollars.
_ROUGH_USD = {
    "USD": 1.0,
    "EUR": 1.1,
    "GBP": 1.3,
    "CHF": 1.1,
    "CAD": 0.73,
    "AUD": 0.65,
    "SGD": 0.75,
    "CNY": 0.14,
    "HKD": 0.128,
    "TWD": 0.031,
    "INR": 0.012,
    "JPY": 0.0067,
    "KRW": 0.0007,
}
Title = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Part:
    """Lines that are shown together or not at all."""

    lines: tuple[str, ...]

    @property
    def key(self) -> str:
        """By which a conversation knows them again; "" for none."""
        return key("\n".join(self.lines)) if self.lines else ""


def overview(
    rest: Sequence[Holding],
    profiles: Mapping[str, Profile],
    total: int,
    title: Title,
    fits: Callable[[Sequence[str]], bool],
) -> Part:
    """The lines about `rest`, what is left of `total` holdings when those named in the message are taken out."""
    ordered = sorted(rest, key=size, reverse=True)
    if total > LARGE:
        return Part(_large(ordered, profiles, total, title, fits))
    for chars in PROFILE_CHARS:
        lines = tuple(_line(h, profiles.get(h.symbol), title, chars) for h in ordered)
        if fits(lines):
            return Part(lines)
    return Part(_large(ordered, profiles, total, title, fits))


def size(holding: Holding) -> float:
    """About what a position cost, for the order alone."""
    return abs(holding.quantity * holding.cost) * _ROUGH_USD.get(holding.currency.upper(), 1.0)


def position(holding: Holding) -> str:
    """Quantity, cost and relation in words: `100 at 120.5 USD, core (long term)`."""
    told = f"{number(holding.quantity)} at {number(holding.cost)} {holding.currency}".rstrip()
    parts = [told, holding.relation]
    parts += [] if holding.account == "default" else [f"account {holding.account}"]
    note = f" ({clip(holding.note, NOTE_CHARS)})" if holding.note.strip() else ""
    return ", ".join(filter(None, parts)) + note


def number(value: float) -> str:
    """A number without needless digits: 100, 0.00012, 1234567.5."""
    return f"{value:.8f}".rstrip("0").rstrip(".")


def _large(
    ordered: Sequence[Holding],
    profiles: Mapping[str, Profile],
    total: int,
    title: Title,
    fits: Callable[[Sequence[str]], bool],
) -> tuple[str, ...]:
    lines: list[str] = []
    for holding in ordered:
        line = _line(holding, profiles.get(holding.symbol), title, LINE_CHARS)
        if not fits([*lines, line, _count(total, total)]):
            break
        lines.append(line)
    return (*lines, _count(len(lines), total)) if lines else ()


def _count(shown: int, total: int) -> str:
    return f"{shown} of {total} shown, the largest by cost first"


def _line(holding: Holding, profile: Profile | None, title: Title, chars: int) -> str:
    name = clip(holding.name, NAME_CHARS)
    about = label(holding.updated_at, "portfolio", "objective fact")
    line = f"- [{about}] {quoted(f'{title(holding.symbol, name)}: {position(holding)}')}"
    if profile is None or not (profile.text.strip() or profile.signal.strip()):
        return line
    said = shortened(" ".join(profile.text.split()), chars)
    signal = f" signal: {clip(profile.signal, chars)}" if profile.signal.strip() else ""
    level = least(profile.credibility)
    told = label(profile.updated_at, profile.source or "profile", level)
    return f"{line} | profile [{told}] {quoted(said + signal)}"
