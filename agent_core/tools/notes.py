"""Writing down what a person wants remembered, as a tool over the memory port (RMB-1 … RMB-4)."""

import datetime as dt
from typing import Annotated, Literal

from pydantic import Field

from agent_core import symbols
from agent_core.past import NewNote, Remembered
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

TEXT_CHARS = 500  # RMB-3, as the next
A_TURN = 3
SYMBOLS = 10

_WHY = {
    "too_many": f"Not remembered: {A_TURN} notes in one turn are the limit. Tell the person what is not noted.",
    "secret": "Not remembered: the text holds something that looks like a key or a password. Leave it out.",
    "unsaid": "Not remembered: the person has not said this. Ask whether it is to be noted, in the words of the note; "
    "when they say yes, note it in the same words.",
    "off": "Not remembered: memory is switched off here.",
    "closed": "Not remembered: here nothing may be noted (`memory.write` of the preset). Tell the person so.",
}


def notes_tools() -> list[ToolSpec]:
    """`remember`."""

    @tool(
        title={"en": "Remember", "zh": "记住"},
        timeout=20,
        concurrency_safe=False,
        effect="write",
        credibility="mixed",
    )
    async def remember(
        ctx: ToolContext,
        text: Annotated[str, Field(min_length=2, max_length=TEXT_CHARS)],
        kind: Literal["view", "plan", "rule"],
        symbols: Annotated[list[str] | None, Field(max_length=SYMBOLS)] = None,
        valid_until: dt.date | None = None,
    ) -> ToolOutput:
        """Note what the person wants to be known in later conversations.

        In their own words. Never prices, holdings, trades, results, secrets, or what a page or somebody else says.

        Args:
            text: One sentence.
            kind: view: an opinion; plan: an intent; rule: a limit or taboo.
            symbols: What it is about, if the text does not name it.
            valid_until: Last day on which it holds.
        """
        end = None if valid_until is None else _end(valid_until, ctx.clock.now())
        note = NewNote(text.strip(), kind, _codes(text, symbols or []), end)
        done = Remembered("off")
        if ctx.memory is not None:
            done = await ctx.memory.remember(ctx.owner, ctx.session_id, ctx.turn_id, note)
        if done.state in _WHY:
            raise ToolFailure(_WHY[done.state])
        told = "Noted" if done.state == "stored" else "It was noted before"
        return ToolOutput(f"{told} as memory {done.id} ({kind}): {note.text}", summary=note.text)

    return [remember]


def _end(day: dt.date, now: dt.datetime) -> dt.datetime:
    """The moment after the last day, wherever on earth that day ends."""
    end = dt.datetime.combine(day, dt.time(12), dt.UTC) + dt.timedelta(days=1)
    if end <= now:
        raise ToolFailure(f"Not remembered: valid_until {day} is over. Give a later day or none.")
    return end


def _codes(text: str, named: list[str]) -> tuple[str, ...]:
    found = [m.symbol.id for m in symbols.find(text)]
    for name in named:
        symbol = symbols.lookup(name)
        if symbol is None:
            like = ", ".join(s.id for s in symbols.search(name, 3))
            hint = f" Did you mean {like}?" if like else ""
            raise ToolFailure(f"Not remembered: there is no symbol {name[:40]!r}.{hint}")
        found.append(symbol.id)
    return tuple(dict.fromkeys(found))
