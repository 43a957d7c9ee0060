"""What is kept of a backtest in the book of who asked for it (RMB-2): an event, and the profile of each symbol."""

from agent_core.book import Event, Portfolio, Profile
from agent_core.tools.backtest import CREDIBILITY
from agent_core.tools.backtest_answer import STANCE, Trial, line
from agent_core.tools.spec import ToolContext

SOURCE = "run_backtest"


async def record(book: Portfolio, ctx: ToolContext, trial: Trial) -> bool:
    """Write the event, and renew the profiles; the owner is whose turn it is."""
    now = ctx.clock.now()
    said = line(ctx.language, trial)
    codes = tuple(one.symbol.id for one in trial.found)
    await book.put(ctx.owner, Event("backtest", said, now, codes, SOURCE, CREDIBILITY))
    for code in codes:
        profile = Profile(code, said, now, _signal(ctx.language, trial, code), SOURCE, CREDIBILITY)
        await book.put(ctx.owner, profile)
    return True


def _signal(language: str, trial: Trial, code: str) -> str:
    """Which side the strategy held at the end of the window: a fact about the test, and its date with it."""
    words = STANCE["zh" if language == "zh" else "en"]
    side = words[trial.outcome.run.stance[code]]
    day = trial.outcome.figures.last
    if language == "zh":
        return f"{day}：{trial.label} {side}"
    return f"{side} on {day} by {trial.label}"
