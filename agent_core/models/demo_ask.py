"""One request to the demo planner, and the errands that it knows: what a text wants, before any tool is called."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from agent_core.models.demo_period import Back, Period

Language = Literal["en", "zh"]
Args = Mapping[str, Any]
HAN = re.compile(r"[\u3400-\u9fff]")


class Want(StrEnum):
    """Kinds of requests about prices, and of talk."""

    HISTORY = "history"
    TREND = "trend"
    CHART = "chart"
    OVERVIEW = "overview"
    SEARCH = "search"
    HELP = "help"
    THANKS = "thanks"


PRICE_WANTS = frozenset({Want.HISTORY, Want.TREND, Want.CHART})
ALONE = frozenset(Want) - PRICE_WANTS  # complete in themselves
FULL_LOOK = frozenset({Want.HISTORY, Want.TREND})


@dataclass(frozen=True, slots=True)
class Errand:
    """A request that one tool carries out.

    `arguments` makes the call's arguments of the ask; None: something is missing, and `lacks` (en, zh) asks for it.
    Where the tool is not offered, `agent` gets the person's words, if there is one; else `instead` is done, and
    `noted` says so; else nothing is, and `preset` names where it is offered. `on_symbols`: it needs a share.
    `acts`: it changes something, so no follow-up repeats it.
    """

    tool: str
    pattern: re.Pattern[str]
    arguments: "Callable[[Ask], Args | None]"
    lacks: tuple[str, str] = ("", "")
    agent: str = ""
    instead: frozenset[Want] = frozenset()
    noted: bool = False
    preset: str = ""
    on_symbols: bool = False
    acts: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. Without `wants` and `errand` it was not understood.

    `query` is a name for which no symbol is known yet. `text` is what was said, `rest` the same without the names of
    symbols. `without` is the tool of an errand that is not offered, where something else is done instead.
    """

    language: Language
    symbols: tuple[str, ...] = ()
    period: Period | Back | None = None
    wants: frozenset[Want] = frozenset()
    no_chart: bool = False
    advice: bool = False
    query: str = ""
    refers: bool = False  # "how is it doing": says nothing but points back
    compares: bool = False
    errand: Errand | None = None
    text: str = ""
    rest: str = ""
    named: bool = True  # its own text names its symbols, or it needs none
    without: str = ""

    @property
    def on_prices(self) -> bool:
        """Whether it needs the prices of symbols."""
        return bool(self.wants & PRICE_WANTS)

    @property
    def on_symbols(self) -> bool:
        """Whether it needs a symbol."""
        return self.on_prices or (self.errand is not None and self.errand.on_symbols)

    @property
    def understood(self) -> bool:
        """Whether there is anything to do or to say."""
        return bool(self.wants or self.errand)

    @property
    def days(self) -> dict[str, str]:
        """`start` and `end` as tools take them."""
        return self.period.args if isinstance(self.period, Period) else {}


def language_of(text: str) -> Language:
    """Chinese where there is a Han character, else English."""
    return "zh" if HAN.search(text) else "en"
