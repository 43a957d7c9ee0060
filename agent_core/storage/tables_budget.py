"""The tables of money: one row for each pot, key and period, and what running calls have set aside in them."""

from sqlalchemy import BigInteger, Column, Text, UniqueConstraint, false, text
from sqlmodel import Field

from agent_core.storage.tables import BigId, Stored


def _count() -> Column[int]:
    return Column(BigInteger, nullable=False, server_default=text("0"))


class BudgetPot(Stored, table=True):
    """What was spent of one pot in one period, and what is set aside for calls that run (DESIGN.md 7).

    `key` is a person, a chat, a turn, or empty for the installation; `period` a local day or month, or empty. Money is
    whole nano-dollars. `unpriced` counts calls whose price is unknown: they are in no sum (MDL-3). `raised`: how often
    an operator has granted the pot once more; `asked` is the turn that asked for it, 0 for none; `denied` that it was
    refused. `warned`: people were told that it goes to its end.
    """

    __tablename__ = "budget_pot"  # pyright: ignore[reportAssignmentType]
    __table_args__ = (UniqueConstraint("kind", "key", "period", name="budget_pot_key"),)

    id: int | None = Field(default=None, sa_column=Column(BigId, primary_key=True))
    kind: str
    key: str
    period: str
    usd: int = Field(default=0, sa_column=_count())
    usd_held: int = Field(default=0, sa_column=_count())
    tokens: int = Field(default=0, sa_column=_count())
    tokens_held: int = Field(default=0, sa_column=_count())
    runs: int = Field(default=0, sa_column=_count())
    unpriced: int = Field(default=0, sa_column=_count())
    raised: int = Field(default=0, sa_column=_count())
    asked: int = Field(default=0, sa_column=_count())
    denied: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    warned: bool = Field(default=False, sa_column_kwargs={"server_default": false()})


class BudgetHold(Stored, table=True):
    """What the next or running model call of one session has set aside, while its turn lasts.

    There is one for each session of a turn: that is the key which a call that is made again carries. `n` rises with
    each change, so that a transaction that is tried again changes nothing twice. `pots`: ids of BudgetPot, in order. A
    `turn_id` below 0 stands for a job beside all turns.
    """

    __tablename__ = "budget_hold"  # pyright: ignore[reportAssignmentType]

    turn_id: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    session_id: str = Field(sa_column=Column(Text, primary_key=True))
    n: int = Field(default=0, sa_column=_count())
    pots: str = Field(sa_column=Column(Text, nullable=False))
    usd: int = Field(default=0, sa_column=_count())
    tokens: int = Field(default=0, sa_column=_count())
