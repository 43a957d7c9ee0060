"""A model for a background task: paid from its owner's pots, and every call in the figures of usage (DESIGN.md 7)."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from sqlalchemy import Connection

from agent_core.models.stream import closing
from agent_core.ports import Chunk, Clock, FinishedChunk, Model, ModelInfo, ModelRequest
from agent_core.storage.statements import add_usage
from gateway.budgets.budgets import Budgets
from gateway.budgets.paid_model import TASKS, PaidModel
from gateway.model_house import DEMO, ModelHouse
from gateway.storage.db import Database, settled
from gateway.tasks import rows as task_rows

log = logging.getLogger(__name__)
ModelOf = Callable[[Any], Awaitable[Model | None]]


class TaskModel:
    """The calls of one task; `row` is its row. One call at a time."""

    def __init__(self, model: Model, db: Database, clock: Clock, row: Any) -> None:
        self._model = model
        self._db = db
        self._clock = clock
        self._row = row

    @property
    def info(self) -> ModelInfo:
        """See Model."""
        return self._model.info

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """See Model. A pot without room is a ModelError, raised before anything is asked."""
        async with closing(self._model.stream(request)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, FinishedChunk):
                    await settled(self._db, lambda conn, end=chunk: self._book(conn, end))  # type: ignore[misc]
                yield chunk

    def _book(self, conn: Connection, end: FinishedChunk) -> None:
        row = task_rows.by_id(conn, self._row.id)
        if row is not None:  # else its owner was forgotten meanwhile
            add_usage(
                conn,
                turn_id=row.turn_id,
                session_id=row.session_id,
                owner=row.owner,
                model=end.model,
                usage=end.usage,
                now=self._clock.now(),
            )

    async def close(self) -> None:
        """See Model: the model belongs to others."""


def task_models(house: ModelHouse, db: Database, budgets: Budgets) -> ModelOf:
    """Gives a task the default model; None where the demo planner answers, or where it cannot be made."""

    async def found(row: Any) -> Model | None:
        try:
            await house.prepare(["auto"])
        except Exception:  # a tool does without, as far as it can
            log.exception("model_not_ready", extra={"task": row.id})
            return None
        if house.default == DEMO:
            return None
        return paid_model(house.get("auto"), db, budgets, row)

    return found


def paid_model(model: Model, db: Database, budgets: Budgets, row: Any) -> Model:
    """A model whose calls the owner of a task pays."""
    number = TASKS.start + int(row.id.removeprefix("t"))
    paid = PaidModel(model, db, budgets, row.owner, number)
    return TaskModel(paid, db, budgets.clock, row)


async def no_model(_row: Any) -> None:
    """Where no model answers for tasks."""
