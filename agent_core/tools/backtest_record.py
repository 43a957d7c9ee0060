"""What is kept of a backtest in the book of who asked for it (RMB-2): an event, and the profile of each symbol."""

from agent_core.book import Event, Portfolio, Profile
from agent_core.tools.backtest_answer import CREDIBILITY, STANCE, Test, line
from agent_core.tools.spec import ToolContext

SOURCE = "run_backtest"


async def record(book: Portfolio, ctx: ToolContext, test: Test) -> bool:
    """Write the event, and renew the profiles; the owner is whose turn it is."""
    now = ctx.clock.now()
    said = line(ctx.language, test)
    codes = tuple(one.symbol.id for one in test.found)
    await book.put(ctx.owner, Event("backtest", said, now, codes, SOURCE, CREDIBILITY))
    for code in codes:
        profile = Profile(code, said, now, _signal(ctx.language, test, code), SOURCE, CREDIBILITY)
        await book.put(ctx.owner, profile)
    return True


def _signal(language: str, test: Test, code: str) -> str:
    """Which side the strategy held at the end of the window: a fact about the test, and its date with it."""
    words = STANCE["zh" if language == "zh" else "en"]
    side = words[test.outcome.run.stance[code]]
    day = test.outcome.figures.last
    if language == "zh":
        return f"{day}：{test.label} {side}"
    return f"{side} on {day} by {test.label}"
