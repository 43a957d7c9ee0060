"""The journal of one session: appends and questions, each one fenced transaction, in order.

The fence (fence.py) refuses an older run and waits outages out; here stands what each transaction holds.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection

from agent_core.budget.ledger import Settled, Short
from agent_core.errors import Reload
from agent_core.ports import Answer, Ask, Need, NewBlob
from agent_core.storage.ledger import Hold
from agent_core.storage.sessions import add_checkpoint, load_checkpoints
from agent_core.storage.statements import (
    add_blob,
    add_usage,
    append_rows,
    ensure_session,
    load_blob,
    load_rows,
)
from agent_core.storage.traces import Noted, add_traces
from agent_core.types import (
    ArtifactRef,
    Checkpoint,
    NewRow,
    Row,
    TurnStatus,
    Usage,
)
from gateway.engine.fence import Fence
from gateway.memory.learning_jobs import condensed
from gateway.questions import asking as question_asking
from gateway.questions.questions import Desk
from gateway.storage.clean_rows import clean_blob, clean_checkpoint, clean_row
from gateway.turns.budget import TurnBudget

LONG = 65_536  # bytes of text that are cleaned beside the event loop


class SessionJournal:
    """The journal of one session within a turn; `root` of the turn or a child of it.

    `condensed` is called when a summary is committed that stands for rows from which something is to be learnt.
    """

    def __init__(
        self,
        fence: Fence,
        *,
        session_id: str,
        turn_id: int,
        owner: str,
        rows: Sequence[Row] | None = None,
        parent: str | None = None,
        agent: str | None = None,
        desk: Desk | None = None,
        open_questions: set[int] | None = None,
        checkpoints: tuple[Checkpoint, ...] | None = None,
        budget: TurnBudget | None = None,
        condensed: Callable[[], None] | None = None,
    ) -> None:
        self._condensed = condensed or _nothing
        self._budget = budget
        self._fence = fence
        self._session_id = session_id
        self._turn_id = turn_id
        self._owner = owner
        self._rows: list[Row] | None = None if rows is None else list(rows)
        self._checkpoints = checkpoints
        self._parent = parent
        self._agent = agent
        self._desk = desk
        self._open = set() if open_questions is None else open_questions
        self._one_at_a_time = asyncio.Lock()
        self._noted: list[Noted] = []

    @property
    def session_id(self) -> str:
        """See Journal."""
        return self._session_id

    @property
    def turn_id(self) -> int:
        """See Journal."""
        return self._turn_id

    async def rows(self) -> Sequence[Row]:
        """See Journal."""
        if self._rows is None:
            self._rows = await self._fence.db.read(lambda conn: load_rows(conn, self._session_id))
        return tuple(self._rows)

    async def checkpoints(self) -> Sequence[Checkpoint]:
        """See Journal."""
        if self._checkpoints is None:
            self._checkpoints = await self._fence.db.read(
                lambda conn: load_checkpoints(conn, self._session_id)
            )
        return self._checkpoints

    @property
    def stored(self) -> tuple[Row, ...]:
        """The rows that are known to be committed."""
        return tuple(self._rows or ())

    async def append(
        self,
        rows: Sequence[NewRow],
        *,
        usage: Usage | None = None,
        model: str = "",
        blobs: Sequence[NewBlob] = (),
        checkpoints: Sequence[Checkpoint] = (),
    ) -> Sequence[Row]:
        """See Journal."""
        rows = [clean_row(self._fence.redactor, row) for row in rows]
        checkpoints = [clean_checkpoint(self._fence.redactor, made) for made in checkpoints]
        blobs = [await self._clean_blob(blob) for blob in blobs]
        booked: list[Settled | None] = [None]

        def work(conn: Connection, after: int) -> list[Row]:
            now = self._fence.clock.now()
            added = self._write(conn, after, rows, usage, model)
            if usage is not None and self._budget is not None:
                booked[0] = self._budget.settle(
                    conn, self._session_id, usage, model=model, last=False
                )
            for made in checkpoints:
                add_checkpoint(conn, self._session_id, made, now)
                condensed(conn, self._owner, self._session_id, made, now)
            for blob in blobs:
                add_blob(conn, owner=self._owner, session_id=self._session_id, blob=blob, now=now)
            return added

        def then() -> None:
            self._checkpoints = (*(self._checkpoints or ()), *checkpoints)
            if self._budget is not None:
                self._budget.settled(self._session_id, booked[0])
            if any(made.kind == "summary" for made in checkpoints):
                self._condensed()

        if checkpoints:
            await self.checkpoints()
        return await self._commit(work, then)

    async def _clean_blob(self, blob: NewBlob) -> NewBlob:
        if len(blob.data) < LONG:
            return clean_blob(self._fence.redactor, blob)
        return await asyncio.to_thread(clean_blob, self._fence.redactor, blob)

    def trace(self, event: str, **fields: Any) -> None:
        """See Journal. What was noted stays noted until a commit has taken it along."""
        clean = self._fence.redactor.value(fields)
        self._noted.append(Noted(event, clean, self._fence.clock.now()))

    async def reserve(self, need: Need) -> None:
        """See Journal. Mostly what was set aside with the turn's begin, or with the last answer, is enough."""
        budget = self._budget
        if budget is None or budget.covers(self._session_id, need):
            return
        made: list[Hold | Short] = []

        def work(conn: Connection, after: int) -> list[Row]:
            del after
            made.append(budget.reserve(conn, self._session_id, need))
            return []

        await self._commit(work, lambda: budget.reserved(self._session_id, made[-1]))
        budget.check(made[-1], need)

    async def may_pay(self, model: str, priced: bool) -> bool:
        """Whether the pots have something left for a call beside the model's own, whose cost nobody knows before."""
        budget = self._budget
        if budget is None:
            return True
        return budget.may_use(model, priced) and await self._fence.db.read(budget.has_left)

    async def steer(self) -> Sequence[Row]:
        """See Journal. A child session is never steered."""
        return ()

    async def finish(
        self,
        rows: Sequence[NewRow],
        status: TurnStatus,
        text: str,
        artifacts: Sequence[ArtifactRef] = (),
        *,
        usage: Usage | None = None,
        model: str = "",
    ) -> None:
        """See Journal. A child session only appends."""
        del status, text, artifacts
        await self.append(rows, usage=usage, model=model)

    async def ask(self, ask: Ask) -> Answer:
        """See Journal. The question row and its message are one commit.

        The turn waits in one of its own (`wait`), since sub-agents beside this one may still be at work.
        """
        desk = self._desk
        if desk is None:
            raise RuntimeError("nobody can be asked in this journal")
        found: list[tuple[Answer, question_asking.Letters]] = []

        def work(conn: Connection, after: int) -> list[Row]:
            del after
            put = question_asking.put(
                conn,
                ask,
                desk,
                conversation_id=self._fence.conversation_id,
                session_id=self._session_id,
                turn_id=self._turn_id,
                owner=self._owner,
                now=self._fence.clock.now(),
            )
            found.append(put)
            return []

        await self._commit(work)
        answer, letters = found[-1]
        if answer.state == "open":
            self._open.add(answer.question)
        for letter in letters:
            desk.posted(*letter, False)
        return answer

    async def wait(self) -> bool:
        """See Journal. Only a turn's own journal waits."""
        return False

    def child(self, call_id: str, agent: str) -> "SessionJournal":
        """See Journal."""
        return SessionJournal(
            self._fence,
            session_id=f"{self._session_id}/{call_id}",
            turn_id=self._turn_id,
            owner=self._owner,
            parent=self._session_id,
            agent=agent,
            desk=self._desk,
            open_questions=self._open,
            budget=self._budget,
        )

    async def blob(self, blob_id: str) -> bytes:
        """See Journal."""
        found = await self._fence.db.read(lambda conn: load_blob(conn, self._owner, blob_id))
        if found is None:
            raise KeyError(blob_id)
        return found[0]

    def _write(
        self,
        conn: Connection,
        after: int,
        rows: Sequence[NewRow],
        usage: Usage | None,
        model: str,
    ) -> list[Row]:
        now = self._fence.clock.now()
        if after == 0 and self._parent is not None:
            ensure_session(
                conn, self._session_id, self._owner, now, parent=self._parent, agent=self._agent
            )
        if usage is not None:
            add_usage(
                conn,
                turn_id=self._turn_id,
                session_id=self._session_id,
                owner=self._owner,
                model=model,
                usage=usage,
                now=now,
            )
        return append_rows(conn, self._session_id, self._turn_id, after, rows, now)

    async def _commit(
        self, work: Callable[[Connection, int], list[Row]], then: Callable[[], None] | None = None
    ) -> list[Row]:
        """Run `work` fenced, one at a time, and `then` once it is committed, also when its answer was lost.

        A cancelled caller waits for the commit, so that memory and table agree.
        """
        task = asyncio.ensure_future(self._commit_in_order(work, then or _nothing))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait([task])
            raise

    async def _commit_in_order(
        self, work: Callable[[Connection, int], list[Row]], then: Callable[[], None]
    ) -> list[Row]:
        async with self._one_at_a_time:
            known = list(await self.rows())
            after = known[-1].seq if known else 0
            noted = tuple(self._noted)

            def with_traces(conn: Connection) -> list[Row]:
                added = work(conn, after)
                add_traces(
                    conn,
                    turn_id=self._turn_id,
                    session_id=self._session_id,
                    owner=self._owner,
                    events=noted,
                )
                return added

            try:
                added = await self._fence.write(with_traces, self._session_id, after)
            except Reload:
                del self._noted[: len(noted)]
                then()
                raise
            self._rows = [*known, *added]
            del self._noted[: len(noted)]
            then()
            return added


def _nothing() -> None:
    """Nothing follows a commit."""
