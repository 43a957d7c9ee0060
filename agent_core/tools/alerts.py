"""alert: a condition on a price, a move or an indicator, of which the person is told in the same chat."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agent_core.book import Alert
from agent_core.finance import alert_rules, alert_words
from agent_core.finance.alert_rules import Rule
from agent_core.finance.alert_words import BadRule
from agent_core.finance.sources.chain import Sources
from agent_core.symbols import Symbol
from agent_core.tools import answers_other, series
from agent_core.tools.series import STALE, Series, dump, joined
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

CREDIBILITY: Literal["objective fact"] = "objective fact"
BLIND = "blind"  # in a condition: prices have ended, and the person was told
GRAMMAR = {
    "en": "write a condition such as: above 400, below 300, up 5%, down 5% today, rsi below 30, above sma200",
    "zh": "条件的写法例如：高于 400、跌破 300、涨 5%、当日跌 5%、RSI 低于 30、高于 sma200",
}
_OFF = {"en": "alerts cannot be kept here", "zh": "这里无法保存提醒"}
_PAST = {
    "en": "an alert looks ahead, and this preset looks at {day}; choose another preset",
    "zh": "提醒只看将来，而当前预设停留在 {day}，请换一个预设",
}


@dataclass(frozen=True, slots=True)
class NewAlert:
    """An alert before it is kept; `remarks` is what a person must know of it, "" for nothing."""

    symbol: Symbol
    text: str
    condition: dict[str, Any]
    state: str
    last_close: float
    series: Series
    remarks: str = ""


class Alerts(Protocol):
    """Keeps alerts. `turn_id` tells the conversation, and the person who is told there."""

    async def add(self, owner: str, turn_id: int, new: NewAlert, language: str) -> Alert:
        """Keep it; durable then. Raises ToolFailure where the person has too many, or nobody can be told."""
        ...

    async def mine(self, owner: str, turn_id: int) -> Sequence[Alert]:
        """The owner's alerts of this conversation that are not over, in the order in which they were made."""
        ...

    async def remove(self, owner: str, turn_id: int, alert_id: int) -> bool:
        """Take one off; False where the owner has none with this id here."""
        ...


def alert_tools(sources: Sources, book: Alerts | None) -> list[ToolSpec]:
    """The tool of this file. Without a book it says that none can be kept."""

    @tool(
        title={"en": "Alerts", "zh": "价格提醒"},
        timeout=30,
        concurrency_safe=False,
        idempotent=False,
        effect="write",
        credibility=CREDIBILITY,
        output=answers_other.Alerts,
    )
    async def alert(
        ctx: ToolContext,
        action: Literal["list", "add", "remove"] = "list",
        symbol: str | None = None,
        condition: str | None = None,
        repeat: bool = False,
        number: int | None = None,
    ) -> ToolOutput:
        """The person's price alerts in this chat: they are told here once a condition comes true.

        Add one only when the person asks for it. Closes and latest prices are compared, not every tick.

        Args:
            action: list, add (needs symbol and condition) or remove (needs number).
            symbol: Code or name in English or Chinese.
            condition: above 400; below 300; up 5% or down 5% (from the last price); down 5% today (in one day); rsi
                below 30; above sma200; sma20 above sma50.
            repeat: Tell each time, not only once.
            number: Number of the alert to remove.
        """
        if book is None:
            raise ToolFailure(_OFF[ctx.language])
        if action == "add":
            return await _add(sources, book, ctx, symbol, condition, repeat=repeat)
        if action == "remove":
            return await _remove(book, ctx, number)
        return _listed(ctx, await book.mine(ctx.owner, ctx.turn_id))

    return [alert]


async def prepare(
    sources: Sources, ctx: ToolContext, symbol: str, rule: Rule, *, repeat: bool
) -> NewAlert:
    """What is to be kept, with what a person must know of it. Asks for prices.

    Raises ToolFailure for an unknown symbol, for one without prices, and for too few bars for the indicator.
    """
    if ctx.as_of is not None:
        raise ToolFailure(_PAST[ctx.language].format(day=ctx.as_of))
    found = await series.load(sources, ctx, symbol, None, None)
    try:
        begun = await asyncio.to_thread(alert_rules.begin, rule, found.history, repeat=repeat)
    except ValueError as e:
        raise ToolFailure(f"{found.symbol.id}: {e}") from e
    currency = found.history.currency
    text = alert_words.words(found.name(ctx.language), begun.watch, ctx.language, currency)
    so = (
        ""
        if begun.hit is None
        else alert_words.told(begun.watch, begun.hit, ctx.language, currency)
    )
    dead = _dead(ctx, found)
    return NewAlert(
        found.symbol,
        text,
        alert_rules.stored(begun.watch) | ({BLIND: True} if dead else {}),
        "pending" if begun.watch.armed else "fired",
        found.history.close[-1],
        found,
        joined(ctx, [_already(ctx, so), dead]),
    )


def _already(ctx: ToolContext, so: str) -> str:
    if not so:
        return ""
    if ctx.language == "zh":
        return f"条件现在已经成立（{so}）；价格先回到另一侧，之后再次成立时才会提醒"
    return f"this is so already ({so}): it is told when it comes true anew, after it was not so"


def _dead(ctx: ToolContext, found: Series) -> str:
    """Where prices have ended, nothing can come true."""
    last = found.history.as_of
    if ctx.clock.now().date() - last <= STALE:
        return ""
    source = found.history.source
    if ctx.language == "zh":
        return (
            f"{source} 的价格止于 {last}：在有更新的价格来源（data.sources）之前，这条提醒不会触发"
        )
    return f"the prices of {source} end on {last}: until a source has newer ones (data.sources), this cannot come true"


async def _add(
    sources: Sources,
    book: Alerts,
    ctx: ToolContext,
    symbol: str | None,
    condition: str | None,
    *,
    repeat: bool,
) -> ToolOutput:
    try:
        said = alert_words.parse(condition or "", ctx.language)
    except BadRule as e:
        raise ToolFailure(f"{e}; {GRAMMAR[ctx.language]}") from e
    about = symbol or (said.about if said else "")
    if said is None or not about:
        raise ToolFailure(GRAMMAR[ctx.language])
    new = await prepare(sources, ctx, about, said.rule, repeat=repeat or said.repeat)
    kept = await book.add(ctx.owner, ctx.turn_id, new, ctx.language)
    fields = new.series.head(CREDIBILITY) | {
        "number": kept.id,
        "alert": kept.text,
        "state": kept.state,
        "repeat": bool(kept.condition.get("repeat")),
        "last_close": series.price(new.last_close),
        "remark": new.remarks,
    }
    return ToolOutput(dump(fields), f"#{kept.id} {kept.text}")


async def _remove(book: Alerts, ctx: ToolContext, number: int | None) -> ToolOutput:
    if number is None or not await book.remove(ctx.owner, ctx.turn_id, number):
        mine = await book.mine(ctx.owner, ctx.turn_id)
        known = ", ".join(str(one.id) for one in mine) or "—"
        zh = f"这里没有编号为 {number} 的提醒；现有：{known}"
        raise ToolFailure(
            zh if ctx.language == "zh" else f"no alert {number} here; there are: {known}"
        )
    return ToolOutput(dump({"removed": number}), f"#{number} ✗")


def _listed(ctx: ToolContext, mine: Sequence[Alert]) -> ToolOutput:
    rows = [
        {
            "number": one.id,
            "symbol": one.symbol,
            "alert": one.text,
            "state": one.state,
            "repeat": bool(one.condition.get("repeat")),
            "since": f"{one.at:%Y-%m-%d}",
        }
        for one in mine
    ]
    fields: dict[str, object] = {
        "source": "own alerts",
        "as_of": f"{ctx.clock.now():%Y-%m-%d %H:%M} UTC",
        "credibility": CREDIBILITY,
        "alerts": rows,
    }
    zh = f"{len(rows)} 条提醒"
    return ToolOutput(dump(fields), zh if ctx.language == "zh" else f"{len(rows)} alerts")
