"""Sections of an answer made from the results of direct tools: history, trend, overview, names, charts."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Literal

from agent_core.models import demo_plan as tools
from agent_core.models.demo_ask import Ask, Language, Want, language_of
from agent_core.models.demo_facts import Facts, Fields, good, listed, table_row, window_of
from agent_core.models.demo_listing import TOLD_HERE, errands, names, overviews
from agent_core.models.demo_turn import Turn
from agent_core.models.demo_words import DIRECTIONS, Key, say

_EXTREMES: tuple[tuple[Key, str], ...] = (("highest", "high"), ("lowest", "low"))


def report(turn: Turn, asks: Sequence[Ask], language: Language, facts: Facts) -> Iterator[str]:
    """The sections, most asked-for first."""
    sections: list[str] = []
    histories = good(turn, tools.HISTORY)
    if len(histories) > 1:
        sections += _compared([o.data for o in histories], language)
    else:
        sections += [_moved(o.data, language) for o in histories]
    analyses = good(turn, tools.ANALYSIS)
    sections += [_trend(o.data, language, alone=not histories) for o in analyses]
    for outcome in [*histories, *analyses]:
        facts.take(outcome.data)
        note = outcome.data.get("note")
        if note and f"> {note}" not in sections:
            sections.append(f"> {note}")
    sections += errands(turn, language, facts)
    sections += overviews(turn, asks, language, facts)
    sections += names(turn, asks, language, facts)
    sections += _charts(turn, language, facts)
    sections += _others(turn, any(Want.OVERVIEW in ask.wants for ask in asks), language)
    yield from sections


def _charts(turn: Turn, language: Language, facts: Facts) -> Iterator[str]:
    by_window: dict[str, list[str]] = {}
    for outcome in good(turn, tools.CHART):
        facts.take(outcome.data)
        symbol = outcome.data.get("symbol") or outcome.call.args.get("symbol")
        by_window.setdefault(window_of(outcome.data), []).append(str(symbol))
    for window, charted in by_window.items():
        yield say(language, "chart", symbol=", ".join(charted), window=window)


def _others(turn: Turn, asked_overview: bool, language: Language) -> Iterator[str]:
    day = tools.last_day(turn)
    if day and not asked_overview and any(not o.call.args for o in turn.of(tools.OVERVIEW)):
        yield say(language, "counted", day=day)
    for outcome in turn.outcomes:
        if outcome.cut and outcome.call.name in TOLD_HERE:
            yield say(language, "cut", tool=f"`{outcome.call.name}`")


def _name(data: Fields, language: Language) -> str:
    name = data.get("name_zh" if language == "zh" else "name") or data.get("name")
    if not name or name == data.get("symbol"):
        return ""
    if language == "zh":
        return f"（{name}）"
    # no brackets in brackets: Alphabet (Google)
    flat = str(name).replace(" (", ", ").replace(")", "")
    return f" ({flat})"


def _moved(data: Fields, language: Language) -> str:
    change = data.get("change_pct")
    lines = [
        say(
            language,
            "moved",
            symbol=data.get("symbol"),
            name=_name(data, language),
            verb=say(language, _verb(change)),
            change=change,
            first=data.get("first_close"),
            last=data.get("last_close"),
            currency=f" {data['currency']}" if data.get("currency") else "",
            window=window_of(data),
        )
    ]
    for key, side in _EXTREMES:
        value, day = _extreme(data, side)
        if value is not None:
            lines.append("- " + say(language, key, value, day))
    before = data.get("change_from_previous_close_pct")
    if before is not None:
        day = _fields(data, "previous_close").get("date")
        lines.append("- " + say(language, "before", day, before))
    if data.get("average_volume") is not None:
        lines.append("- " + say(language, "volume", volume=data["average_volume"]))
    return listed(lines)


def _verb(change: object) -> Literal["rose", "fell", "flat"]:
    if not isinstance(change, Decimal) or not change:
        return "flat"
    return "rose" if change > 0 else "fell"


def _extreme(data: Fields, side: str) -> tuple[Any, Any]:
    extreme = data.get(side)
    return (
        (extreme.get("value"), extreme.get("date")) if isinstance(extreme, dict) else (None, None)
    )


def _compared(all_data: Sequence[Fields], language: Language) -> list[str]:
    rows = [say(language, "table_history"), "|---|---:|---:|---:|---:|---:|"]
    for data in all_data:
        cells = [
            data.get("symbol"),
            data.get("first_close"),
            data.get("last_close"),
            f"{data.get('change_pct')} %",
            _extreme(data, "high")[0],
            _extreme(data, "low")[0],
        ]
        rows.append(table_row(cells))
    ranked = sorted(
        (d for d in all_data if isinstance(d.get("change_pct"), Decimal)),
        key=lambda d: d["change_pct"],
    )
    sections = []
    if len(ranked) > 1:
        worst, best = ranked[0], ranked[-1]
        sections.append(
            say(
                language,
                "best",
                best=best.get("symbol"),
                best_change=best["change_pct"],
                worst=worst.get("symbol"),
                worst_change=worst["change_pct"],
                window=window_of(best),
            )
        )
    return [*sections, "\n".join(rows)]


def _trend(data: Fields, language: Language, *, alone: bool) -> str:
    lines = [_trend_lead(data, language)]
    lines += _notes(data, language)
    if alone and data.get("change_pct") is not None:
        lines.append("- " + say(language, "change", data["change_pct"]))
    lines += [f"- {line}" for line in _indicators(_fields(data, "indicators"), language)]
    fall = _fields(data, "drawdown")
    if fall.get("max_pct") is not None:
        peak, trough = fall.get("peak_date"), fall.get("trough_date")
        lines.append(
            "- " + say(language, "drawdown", pct=fall["max_pct"], peak=peak, trough=trough)
        )
    if data.get("volatility_pct_annual") is not None:
        lines.append("- " + say(language, "volatility", data["volatility_pct_annual"]))
    for key in ("support", "resistance"):
        if key in data:
            lines.append("- " + say(language, key, _levels(data[key]) or say(language, "none")))
    return listed(lines)


def _notes(data: Fields, language: Language) -> Iterator[str]:
    """The tool's own words, where they are in this language: it writes in the person's, whatever this text is in."""
    for note in (_fields(data, "trend").get("reason"), data.get("phase_note")):
        if note and language_of(str(note)) == language:
            yield f"- {str(note)[:1].upper()}{str(note)[1:]}"


def _trend_lead(data: Fields, language: Language) -> str:
    trend = _fields(data, "trend")
    direction = str(trend.get("direction", ""))
    lead = say(
        language,
        "trend",
        symbol=data.get("symbol"),
        name=_name(data, language),
        direction=DIRECTIONS[language].get(direction, direction),
    )
    if trend.get("strength") is not None:
        strength = say(language, "strength", trend["strength"])
        lead += f" ({strength})" if language == "en" else f"（{strength}）"
    return f"{lead}." if language == "en" else f"{lead}。"


def _fields(data: Fields, key: str) -> Fields:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _levels(values: Any) -> str:
    if not isinstance(values, list):
        return ""
    shown = (v.get("value", v.get("price")) if isinstance(v, dict) else v for v in values)
    return ", ".join(str(v) for v in shown if v is not None)


def _indicators(found: Fields, language: Language) -> Iterator[str]:
    averages = [
        f"{k.upper()} {found[k]}" for k in ("sma20", "sma50", "sma200") if found.get(k) is not None
    ]
    if averages:
        yield say(language, "averages") + " · ".join(averages)
    single = [
        f"{key.upper()} {found[key]}" for key in ("rsi14", "atr14") if found.get(key) is not None
    ]
    if found.get("macd") is not None:
        single.append(
            say(
                language,
                "macd",
                macd=found["macd"],
                signal=found.get("macd_signal"),
                histogram=found.get("macd_histogram"),
            )
        )
    if single:
        yield " · ".join(single)
    if found.get("bollinger_lower") is not None:
        lower, upper = found["bollinger_lower"], found.get("bollinger_upper")
        yield say(language, "band", lower=lower, upper=upper)
