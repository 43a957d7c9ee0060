"""Model calls beside any turn, such as learning, in the pots of the person for whom they are made (DESIGN.md 7).

They count in the settings' pots of that person and of the installation, but are no run of anybody; a chat and a preset
have no part in them. Nobody waits for such a call, so where a pot has no room it is put off until that begins anew.
"""

import datetime as dt
import math
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from sqlalchemy import Connection

from agent_core.budget.ledger import Purse, Settled
from agent_core.budget.pots import Payer, PotKind, Rules, resets_at
from agent_core.budget.prices import need_of
from agent_core.errors import ModelError
from agent_core.models.stream import closing
from agent_core.models.tokens import mixed
from agent_core.ports import Chunk, FinishedChunk, Model, ModelInfo, ModelRequest, Need
from agent_core.runtime.paying import CUSHION
from agent_core.storage import ledger
from agent_core.storage.ledger import Hold
from agent_core.storage.pending import Job
from agent_core.types import Usage
from gateway.budgets.budgets import Budgets
from gateway.metrics.observer import PaidBeside
from gateway.storage.db import Database

LEARNING = range(1, 10**12)  # numbers of jobs of learning
TASKS = range(10**12, 10**15)  # of background tasks
EVALS = range(10**15, 2**63)  # of runs of the cases of presets
OWN: frozenset[PotKind] = frozenset({"user_day", "user_month", "day", "month"})
CALL = "call"  # one at a time: the hold of a job's call


class NoRoom(ModelError):
    """A pot has no room for the call. `until`: when it begins anew, None where that helps nothing."""

    def __init__(self, detail: str, until: dt.datetime | None) -> None:
        super().__init__("budget", detail)
        self.until = until


class PaidModel:
    """A model whose calls are paid by `principal`, one at a time.

    Args:
        number: of the job, above 0; a call that a death has cut off is found by it.
    """

    def __init__(
        self, model: Model, db: Database, budgets: Budgets, principal: str, number: int
    ) -> None:
        self._model = model
        self._db = db
        self._budgets = budgets
        rules = beside_turns(budgets.rules)
        payer = Payer(principal, "", -number)
        self._purse = Purse(rules, payer, budgets.ids, counted=True, loaded=False)

    @property
    def info(self) -> ModelInfo:
        """See Model."""
        return self._model.info

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """See Model. Raises NoRoom before anything is asked."""
        estimate = mixed(request.system, request.messages, request.tools)
        need = need_of(self._model, math.ceil(estimate * CUSHION), request.max_tokens)
        paid = not self._purse.is_free(need)
        if paid:
            await self._reserve(need)
        used = Usage()
        try:
            async with closing(self._model.stream(request)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, FinishedChunk):
                        used = chunk.usage
                        self._budgets.observers.fact(PaidBeside(chunk.model, used))
                    yield chunk
        finally:
            if paid:
                await self._settle(used)

    async def close(self) -> None:
        """See Model: the model belongs to others."""

    async def _reserve(self, need: Need) -> None:
        rules = self._purse.rules
        if need.usd is None and any(pot.usd is not None for pot in rules.pots):
            if rules.unpriced == "refuse":
                raise NoRoom(f"{need.model} has no known price", None)
            if rules.unpriced == "warn":
                self._budgets.note_unpriced(need.model)
        now = self._budgets.clock.now()
        made = await self._db.write(lambda conn: self._purse.reserve(conn, CALL, need, now))
        if not isinstance(made, Hold):
            until = resets_at(made.pot.kind, now, rules.zone)
            raise NoRoom(str(self._purse.refusal(made, need, now)), until)
        self._purse.kept(CALL, made, now)

    async def _settle(self, used: Usage) -> None:
        now = self._budgets.clock.now()

        def work(conn: Connection) -> Settled | None:
            return self._purse.settle(conn, CALL, used, now, last=True)

        await self._db.write(work)
        self._purse.kept(CALL, None)
        self._budgets.waiters.room()


def paying(db: Database, budgets: Budgets) -> Callable[[Model, Job], Model]:
    """Lets a job's calls be paid by its owner."""
    return lambda model, job: PaidModel(model, db, budgets, job.owner, job.id)


def beside_turns(rules: Rules, kinds: frozenset[PotKind] = OWN) -> Rules:
    """The pots of these kinds for calls that belong to no turn. Of a pot that goes to its end the next turn tells."""
    shared = (pot for pot in rules.pots if pot.kind in kinds)
    return replace(rules, pots=tuple(replace(pot, runs=None, warn_at=None) for pot in shared))


def give_back(conn: Connection, numbers: range) -> None:
    """What calls of these jobs had set aside in a process that has ended. For whoever knows that none is running."""
    for turn_id, hold in ledger.holds_beside_turns(conn):
        if -turn_id not in numbers:
            continue
        ledger.drop_holds(conn, turn_id)
        ledger.change(conn, hold.pots, held=ledger.NOTHING - hold.amount)
