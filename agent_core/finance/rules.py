"""Trading rules as data: when to enter, when to leave, and how much; JSON that pydantic judges.

    {"entry": {"crosses_above": ["sma(20)", "sma(50)"]},
     "exit": {"any": [{"crosses_below": ["sma(20)", "sma(50)"]}, {"gt": ["rsi(14)", 80]}]},
     "stop_loss_pct": 8, "fraction": 0.5}

A condition has one key: gt or lt (greater, less), crosses_above or crosses_below, each with two operands
(rules_operand.py), or all, any (lists of conditions) or not. It is judged at the close of a bar.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from agent_core.errors import SwarmgateError
from agent_core.finance.rules_operand import Operand, read_operand

COMPARISONS = ("gt", "lt", "crosses_above", "crosses_below")
DEEPEST, MOST = 8, 64  # conditions within conditions, and conditions in all

Term = Annotated[
    Operand | float,
    PlainValidator(read_operand),
    PlainSerializer(lambda term: str(term) if isinstance(term, Operand) else term),
]
Pair = tuple[Term, Term]
Model = TypeVar("Model", bound=BaseModel)
Below100 = Annotated[float, Field(gt=0, lt=100)]


class RulesError(SwarmgateError):
    """Rules or parameters that are none; one line that names the field and the cure."""


class Condition(BaseModel):
    """One condition; exactly one field is set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    every: "tuple[Condition, ...] | None" = Field(None, alias="all", min_length=1)
    some: "tuple[Condition, ...] | None" = Field(None, alias="any", min_length=1)
    negated: "Condition | None" = Field(None, alias="not")
    gt: Pair | None = None
    lt: Pair | None = None
    crosses_above: Pair | None = None
    crosses_below: Pair | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(getattr(self, name) is not None for name in type(self).model_fields) != 1:
            raise ValueError(
                "a condition has one key: gt, lt, crosses_above, crosses_below, all, any or not; "
                "join several with all or any"
            )
        return self

    @property
    def parts(self) -> tuple["Condition", ...]:
        """The conditions within this one."""
        return self.every or self.some or ((self.negated,) if self.negated else ())

    @property
    def pair(self) -> Pair | None:
        """What is compared, where this condition compares."""
        return self.gt or self.lt or self.crosses_above or self.crosses_below

    @property
    def comparison(self) -> tuple[Pair, str]:
        """What is compared, and how. Raises ValueError where this condition holds others."""
        for how in COMPARISONS:
            pair: Pair | None = getattr(self, how)
            if pair is not None:
                return pair, how
        raise ValueError("this condition joins others")

    def walk(self, depth: int = 1) -> Iterator[tuple["Condition", int]]:
        """This condition and all within, each with its depth."""
        yield self, depth
        for part in self.parts:
            yield from part.walk(depth + 1)


class Rules(BaseModel):
    """When to hold a symbol, long or short, and with what share of the equity.

    Attributes:
        entry: Buys at the next open where it holds and no long position is there.
        exit: Sells at the next open; None leaves a position to its stops, or to the opposite entry.
        short_entry: Sells short at the next open.
        short_exit: Buys back at the next open.
        stop_loss_pct: A fall below the entry price, in percent, at which a position is left within the bar.
        take_profit_pct: A rise above it, likewise.
        trailing_stop_pct: A fall below the best price since the entry, as of the bar before, likewise.
        fraction: Share of the equity that positions may take, above 0 and at most 1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    entry: Condition | None = None
    exit: Condition | None = None
    short_entry: Condition | None = None
    short_exit: Condition | None = None
    stop_loss_pct: Below100 | None = None
    take_profit_pct: Annotated[float, Field(gt=0, le=1000)] | None = None
    trailing_stop_pct: Below100 | None = None
    fraction: float = Field(1.0, gt=0, le=1)

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.entry is None and self.short_entry is None:
            raise ValueError("say when to buy: give entry, or short_entry")
        if self.exit is not None and self.entry is None:
            raise ValueError("exit is for long positions; give entry too, or use short_exit")
        if self.short_exit is not None and self.short_entry is None:
            raise ValueError("short_exit is for short positions; give short_entry too, or use exit")
        found = [pair for condition in self.conditions for pair in condition.walk()]
        if len(found) > MOST or max(depth for _, depth in found) > DEEPEST:
            raise ValueError(f"at most {MOST} conditions, {DEEPEST} deep; make the rules simpler")
        return self

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions that are given."""
        given = (self.entry, self.exit, self.short_entry, self.short_exit)
        return tuple(condition for condition in given if condition is not None)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Every price and indicator that is compared, each once, in the order of the rules."""
        pairs = (part.pair for condition in self.conditions for part, _ in condition.walk())
        terms = (term for pair in pairs if pair for term in pair)
        return tuple(dict.fromkeys(term for term in terms if isinstance(term, Operand)))


def read_rules(written: dict[str, Any]) -> Rules:
    """The rules that are written. Raises RulesError."""
    return judged(Rules, written, "rules")


def judged(model: type[Model], written: dict[str, Any], where: str) -> Model:
    """The model of what is written. Raises RulesError whose one line names each bad field and its cure."""
    try:
        return model.model_validate(written)
    except ValidationError as e:
        raise RulesError(
            "; ".join(_complaint(error, where, model) for error in e.errors())
        ) from None


def _complaint(error: ErrorDetails, where: str, model: type[BaseModel]) -> str:
    place = ".".join(str(part) for part in (where, *error["loc"]))
    if error["type"] == "extra_forbidden":
        of = model if len(error["loc"]) == 1 else Condition
        known = [field.alias or name for name, field in of.model_fields.items()]
        near = get_close_matches(str(error["loc"][-1]), known, 1)
        guess = f"did you mean {near[0]}? " if near else ""
        return f"{place}: there is no such field; {guess}use one of {', '.join(known)}"
    if error["type"] == "too_short":
        return f"{place}: give at least one condition"
    message = error["msg"].removeprefix("Value error, ")
    if error["loc"][-2:-1] and error["loc"][-2] in COMPARISONS and error["type"] == "missing":
        message = 'two operands are compared, such as ["close", "sma(20)"]'
    return f"{place}: {message[:1].lower()}{message[1:]}"
