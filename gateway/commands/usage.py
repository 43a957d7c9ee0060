"""/usage [days]: what the person's model calls and this conversation's have used, cost, and saved by caching."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from gateway.budgets import usage
from gateway.budgets.usage import Scope, Tally
from gateway.commands.session import how_to
from gateway.people import identity
from gateway.texts.texts import say

if TYPE_CHECKING:
    from gateway.commands.commands import Asked

DAYS = 7
MAX_DAYS = 366  # named in use_usage, too
MODELS = 5  # of the person's models, the dearest


def handlers() -> dict[str, Callable[[Connection, "Asked"], str]]:
    """The command of this file by name."""
    return {"usage": _usage}


def _usage(conn: Connection, asked: "Asked") -> str:
    days = _days(asked.route.rest)
    if days is None:
        return how_to("usage", asked)
    here = usage.total(conn, Scope(session=asked.lane.session_id))
    parts = [_block(say("usage_here", asked.language), here, asked)]
    if asked.lane.private:
        parts.append(_own(conn, asked, days))
    else:  # what a person does elsewhere is no matter of a group
        parts.append(say("usage_private", asked.language))
    return "\n\n".join(parts)


def _days(text: str) -> int | None:
    if not text:
        return DAYS
    fits = text.isascii() and text.isdecimal() and len(text) < 5
    return int(text) if fits and 1 <= int(text) <= MAX_DAYS else None


def _own(conn: Connection, asked: "Asked", days: int) -> str:
    since = usage.first_moment(asked.now, days, asked.zone)
    scope = Scope(owners=(identity.principal_of(conn, asked.person),), since=since)
    code = "usage_day" if days == 1 else "usage_days"
    title = say(code, asked.language, days=days, zone=asked.zone)
    models = usage.by(conn, scope, "model")
    block = _block(title, sum(models, Tally()), asked)
    if len(models) < 2:
        return block
    lines = [
        "- "
        + say(
            "usage_model",
            asked.language,
            model=t.key,
            calls=t.calls,
            read=f"{t.input:,}",
            written=f"{t.output:,}",
            usd=_cost(t, asked),
        )
        for t in models[:MODELS]
    ]
    return "\n".join([block, *lines])


def _block(title: str, tally: Tally, asked: "Asked") -> str:
    language = asked.language
    if not tally.calls:
        return f"{title} {say('usage_none', language)}"
    share = f"{100 * tally.hit_share:.0f}"
    lines = [
        say("usage_calls", language, calls=tally.calls),
        say("usage_read", language, tokens=f"{tally.input:,}", share=share),
        say("usage_written", language, tokens=f"{tally.output:,}"),
        say("usage_cost", language, usd=_cost(tally, asked)),
    ]
    if tally.compared and (tally.read or tally.written):
        code = "usage_saved" if tally.saved >= 0 else "usage_lost"
        lines.append(say(code, language, usd=dollars(abs(tally.saved))))
    return "\n".join([title, "", *(f"- {line}" for line in lines)])


def _cost(tally: Tally, asked: "Asked") -> str:
    """Dollars; what is unknown is said to be so, never 0 (MDL-3)."""
    if tally.calls == tally.unpriced:
        return say("usage_unknown", asked.language)
    if tally.unpriced:
        usd, count = dollars(tally.usd), tally.unpriced
        return say("usage_partly", asked.language, usd=usd, count=count)
    return dollars(tally.usd)


def dollars(usd: float) -> str:
    """To the cent; amounts below ten cents to a hundredth of a cent."""
    return f"${usd:,.2f}" if usd >= 0.1 or usd == 0 else f"${usd:.4f}"
