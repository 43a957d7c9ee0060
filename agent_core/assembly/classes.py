"""The six classes of dynamic context: from what was read of a person's book to sections of text (SIX-1 … SIX-3). Pure.

Each line carries its date, its source and its level of credibility (CRD-2); what is stored is quoted as one line in
which our own marks are harmless. A class without lines has no heading. Room is given out class by class, to alerts
first and reports last; so over the total, the last lines of reports are the first to go, and alerts the last.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent_core import symbols
from agent_core.assembly.gssc import shortened
from agent_core.assembly.holdings import Part, overview, position
from agent_core.assembly.labelled import Item
from agent_core.book import Holding, Profile, Seen, Window, Windows, least
from agent_core.models.tokens import of_text
from agent_core.text import normal


@dataclass(frozen=True, slots=True)
class Caps:
    """Bounds of a text: characters, and estimated tokens."""

    chars: int
    tokens: int

    def fits(self, text: str) -> bool:
        """Whether a text is within both."""
        return len(text) <= self.chars and of_text(text) <= self.tokens

    def within(self, other: "Caps") -> "Caps":
        """The tighter bounds of two."""
        return Caps(min(self.chars, other.chars), min(self.tokens, other.tokens))

    def less(self, text: str) -> "Caps":
        """What is left beside a text and the line break after it."""
        return Caps(self.chars - len(text) - 1, self.tokens - of_text(text) - 1)


@dataclass(frozen=True, slots=True)
class Limits:
    """Windows, and caps of each class and of all together (SIX-3). `item_chars`: of what is quoted in one line."""

    windows: Windows = field(default_factory=Windows)
    symbols: Caps = Caps(3_000, 1_500)
    holdings: Caps = Caps(6_000, 3_000)
    alerts: Caps = Caps(1_000, 500)
    decisions: Caps = Caps(1_500, 750)
    notes: Caps = Caps(1_500, 750)
    reports: Caps = Caps(1_200, 600)
    total: Caps = Caps(9_000, 4_500)
    item_chars: int = 400


HEADINGS = {
    "symbols": "# 标的背景 Symbols of this message",
    "holdings": "# 持仓概览 Holdings",
    "alerts": "# 待处理提醒 Pending alerts",
    "decisions": "# 近期决策 Recent decisions",
    "notes": "# 用户笔记 Notes of the person",
    "reports": "# 近期报告结论 Conclusions of recent reports",
}
DROPPED = ("reports", "decisions", "notes", "holdings", "symbols", "alerts")  # first to last


@dataclass(frozen=True, slots=True)
class Section:
    """One class: its name, its lines in order, and the ids by which a conversation knows that it has them."""

    name: str
    lines: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Heading and lines; "" where there are no lines."""
        return "\n".join((HEADINGS[self.name], *self.lines)) if self.lines else ""


def sections(
    seen: Seen, now: dt.datetime, shown: frozenset[str] = frozenset(), limits: Limits | None = None
) -> tuple[Section, ...]:
    """The classes that have something to say, within their caps and the total, in the order of HEADINGS.

    `shown`: ids of lines that the conversation already holds; they are left out.
    """
    limits = limits or Limits()
    made: dict[str, Section] = {}
    room = limits.total
    for name in reversed(DROPPED):
        caps = room.within(getattr(limits, name))
        section = _section(name, seen, now, limits, caps, shown)
        if section.lines:
            made[name] = section
            room = room.less(section.text)
    return tuple(made[name] for name in HEADINGS if name in made)


def compose(found: Sequence[Section]) -> str:
    """All sections as one text."""
    return "\n".join(section.text for section in found)


def _section(
    name: str, seen: Seen, now: dt.datetime, limits: Limits, caps: Caps, shown: frozenset[str]
) -> Section:
    def fits(lines: Sequence[str]) -> bool:
        return caps.fits("\n".join((HEADINGS[name], *lines)))

    if name == "holdings":
        part = _holdings(seen, fits)
        return Section(name) if part.key in shown else Section(name, part.lines, (part.key,))
    lines: list[str] = []
    ids: list[str] = []
    for item in merged(_ITEMS[name](seen, now, limits)):
        if shown.isdisjoint(item.ids):
            if not fits([*lines, item.line]):
                break
            lines.append(item.line)
            ids.extend(item.ids)
    return Section(name, tuple(lines), tuple(ids))


def merged(items: Iterable[Item]) -> list[Item]:
    """Each saying once, as it stands first; with the least credible level of all that say it (CRD-2)."""
    found: dict[str, Item] = {}
    for item in items:
        same = normal(item.text) or item.text
        first = found.get(same)
        found[same] = (
            item if first is None else replace(first, level=least(first.level, item.level))
        )
    return list(found.values())


def _within(at: dt.datetime, window: Window, now: dt.datetime, ahead: float = 0.0) -> bool:
    day = dt.timedelta(days=1)
    return now - window.days * day <= at <= now + ahead * day


def _symbols(seen: Seen, now: dt.datetime, limits: Limits) -> Iterator[Item]:
    """Of each symbol in focus: how it is held, its profile, its signal, and what happened to it lately."""
    profiles = {profile.symbol: profile for profile in seen.profiles}
    for symbol in seen.focus.symbols:
        held = [h for h in seen.holdings if h.symbol == symbol]
        known = [
            *_profile(profiles.get(symbol), limits.item_chars),
            *_dynamics(symbol, seen, now, limits),
        ]
        yield from (_position(h, limits.item_chars) for h in held)
        if known and not held:
            yield Item(f"{title(symbol)}: not in the portfolio", "portfolio", "objective fact", now)
        yield from known


def title(symbol: str, name: str = "") -> str:
    """A symbol with the names that people know it by."""
    known = symbols.get(symbol)
    names = dict.fromkeys(filter(None, (name, known.name, known.name_zh) if known else (name,)))
    return f"{symbol} ({', '.join(names)})" if names else symbol


def _position(holding: Holding, chars: int) -> Item:
    text = f"{title(holding.symbol, holding.name)}: {position(holding)}"
    return Item(shortened(text, chars), "portfolio", "objective fact", holding.updated_at)


def _profile(profile: Profile | None, chars: int) -> Iterator[Item]:
    if profile is None:
        return
    about = (profile.source or "profile", profile.credibility, profile.updated_at)
    if profile.text.strip():
        yield Item(shortened(f"{profile.symbol} profile: {profile.text}", chars), *about)
    if profile.signal.strip():
        yield Item(shortened(f"{profile.symbol} signal: {profile.signal}", chars), *about)


def _dynamics(symbol: str, seen: Seen, now: dt.datetime, limits: Limits) -> list[Item]:
    window = limits.windows.dynamics
    found = [e for e in seen.dynamics if symbol in e.codes and _within(e.at, window, now)]
    return [
        Item(
            shortened(f"{symbol} {e.kind}: {e.text}", limits.item_chars),
            e.source or e.kind,
            e.credibility,
            e.at,
        )
        for e in found[: window.items]
    ]


def _holdings(seen: Seen, fits: Callable[[Sequence[str]], bool]) -> Part:
    """The overview, without what the symbols of this message say already (PFI-3)."""
    if not seen.focus.portfolio:
        return Part(())
    profiles = {profile.symbol: profile for profile in seen.profiles}
    rest = [h for h in seen.holdings if h.symbol not in seen.focus.symbols]
    return overview(rest, profiles, len(seen.holdings), title, fits)


def _alerts(seen: Seen, now: dt.datetime, limits: Limits) -> list[Item]:
    window = limits.windows.alerts
    found = [a for a in seen.alerts if _within(a.at, window, now, ahead=window.days)]
    return [
        Item(
            shortened(f"{a.symbol}: {a.text}" if a.symbol else a.text, limits.item_chars),
            "alert",
            "objective fact",
            a.at,
        )
        for a in found[: window.items]
        if a.state == "pending"
    ]


def _decisions(seen: Seen, now: dt.datetime, limits: Limits) -> list[Item]:
    window = limits.windows.decisions
    known = {e.id for e in seen.dynamics} if seen.focus.symbols else set()
    found = [d for d in seen.decisions if _within(d.at, window, now)][: window.items]
    return [
        Item(
            shortened(_about(d.codes, f"{d.kind}: {d.text}"), limits.item_chars),
            d.source or d.kind,
            d.credibility,
            d.at,
        )
        for d in found
        if d.id not in known
    ]


def _notes(seen: Seen, now: dt.datetime, limits: Limits) -> list[Item]:
    window = limits.windows.notes
    found = [n for n in seen.notes if _within(n.at, window, now)][: window.items]
    return [
        Item(
            shortened(_about(n.codes, f"{n.kind}: {n.text}"), limits.item_chars),
            "note",
            n.credibility,
            n.at,
            f"memory:{n.id}",
        )
        for n in found
    ]


def _reports(seen: Seen, now: dt.datetime, limits: Limits) -> list[Item]:
    window = limits.windows.reports
    found = [r for r in seen.reports if _within(r.at, window, now)][: window.items]
    return [
        Item(
            shortened(
                _about(r.codes, f"{r.title}: {r.text}" if r.title else r.text), limits.item_chars
            ),
            "report",
            r.credibility,
            r.at,
        )
        for r in found
    ]


def _about(codes: Sequence[str], text: str) -> str:
    return f"{' '.join(codes)} {text}" if codes else text


_ITEMS: Mapping[str, Callable[[Seen, dt.datetime, Limits], Iterable[Item]]] = {
    "symbols": _symbols,
    "alerts": _alerts,
    "decisions": _decisions,
    "notes": _notes,
    "reports": _reports,
}
