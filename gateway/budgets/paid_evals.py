"""What the cases of presets cost, in the installation's own pots: they are nobody's messages, and real money.

A case runs on a database that is thrown away, so its worst case is set aside here before it and what it came to is
booked after it. What a case cost of which nothing is known counts as a call without a price.
"""

from sqlalchemy import Connection

from agent_core.budget.ledger import Purse, Settled
from agent_core.budget.pots import Payer, PotKind
from agent_core.ports import Need
from agent_core.storage.ledger import Hold
from agent_core.types import Usage
from gateway.budgets.budgets import Budgets
from gateway.budgets.paid_model import CALL, EVALS, beside_turns, give_back
from gateway.storage.db import Database

INSTALLATION: frozenset[PotKind] = frozenset({"day", "month"})
NOBODY = ""


class EvalPurse:
    """The purse of one run; `number` is its row's."""

    def __init__(self, db: Database, budgets: Budgets, number: int) -> None:
        self._db = db
        self._budgets = budgets
        self._number = EVALS.start + number
        rules = beside_turns(budgets.rules, INSTALLATION)
        payer = Payer(NOBODY, "", -self._number)
        self._purse = Purse(rules, payer, budgets.ids, counted=True, loaded=False)
        self._holds = False

    async def reserve(self, need: Need) -> str:
        """Set a case's worst case aside. Returns why it has no room, "" where it has."""
        if self._purse.is_free(need):
            return ""
        rules = self._purse.rules
        if need.usd is None and rules.unpriced == "refuse":
            return (
                f"{need.model} has no known price, and budgets.unpriced_models refuses such models"
            )
        now = self._budgets.clock.now()
        made = await self._db.write(lambda conn: self._purse.reserve(conn, CALL, need, now))
        if not isinstance(made, Hold):
            return str(self._purse.refusal(made, need, now))
        self._purse.kept(CALL, made, now)
        self._holds = True
        return ""

    async def settle(self, usd: float | None, tokens: int) -> None:
        """Book what the case came to; None for what nobody knows."""
        if not self._holds:
            return
        now, used = self._budgets.clock.now(), Usage(input_tokens=tokens, usd=usd)

        def work(conn: Connection) -> Settled | None:
            return self._purse.settle(conn, CALL, used, now, last=True)

        await self._db.write(work)
        self._purse.kept(CALL, None)
        self._holds = False
        self._budgets.waiters.room()


def give_back_of(conn: Connection, number: int) -> None:
    """What a run of a process that has died had set aside."""
    start = EVALS.start + number
    give_back(conn, range(start, start + 1))
