"""agent_core.ports.Journal over the database: appends, steering and the end of a turn, each one fenced transaction.

The fence (fence.py) refuses an older run and waits outages out; here stands what each transaction holds.
"""

import asyncio
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from agent_core.errors import Reload
from agent_core.ports import Answer, Ask, NewBlob
from agent_core.storage.statements import (
    add_blob,
    add_usage,
    append_rows,
    close_turn,
    ensure_session,
    load_blob,
    load_rows,
)
from agent_core.types import (
    ArtifactRef,
    Message,
    NewRow,
    Row,
    RowKind,
    TurnStatus,
    Usage,
)
from channels.types import Step
from gateway import inbox, outbox, questions
from gateway.decided import cancel_questions
from gateway.engine.begin import words
from gateway.engine.fence import Fence
from gateway.media import Brought
from gateway.outbox import Draft
from gateway.questions import Desk
from gateway.router import route
from gateway.turn_files import TurnFiles


class SessionJournal:
    """The journal of one session within a turn; `root` of the turn or a child of it."""

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
    ) -> None:
        self._fence = fence
        self._session_id = session_id
        self._turn_id = turn_id
        self._owner = owner
        self._rows: list[Row] | None = None if rows is None else list(rows)
        self._parent = parent
        self._agent = agent
        self._desk = desk
        self._open = set() if open_questions is None else open_questions
        self._one_at_a_time = asyncio.Lock()

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
    ) -> Sequence[Row]:
        """See Journal."""

        def work(conn: Connection, after: int) -> list[Row]:
            for blob in blobs:
                add_blob(
                    conn,
                    owner=self._owner,
                    session_id=self._session_id,
                    blob=blob,
                    now=self._fence.clock.now(),
                )
            return self._write(conn, after, rows, usage, model)

        return await self._commit(work)

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
        """See Journal. The question row and its message are one commit; the turn waits in one of its own (`wait`),
        since sub-agents beside this one may still be at work.
        """
        desk = self._desk
        if desk is None:
            raise RuntimeError("nobody can be asked in this journal")
        found: list[tuple[Answer, tuple[int, Draft] | None]] = []

        def work(conn: Connection, after: int) -> list[Row]:
            del after
            put = questions.put(
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
        answer, letter = found[-1]
        if answer.state == "open":
            self._open.add(answer.question)
        if letter is not None:
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

            try:
                added = await self._fence.write(
                    lambda conn: work(conn, after), self._session_id, after
                )
            except Reload:
                then()
                raise
            self._rows = [*known, *added]
            then()
            return added


class TurnJournal(SessionJournal):
    """The journal of a turn's own session: it also steers, and its end closes the inbox rows and sets the reply.

    `fresh` says (once) that rows may have arrived since it was last asked, so an idle `steer` costs no transaction.
    `steps` tells what was done for the reply, which keeps it. `since` is when the process began: what was sent before
    is backlog, also when the platform hands it over late. `files` brings in what came along with messages; until it is
    set, they are only named. `status` is how the turn has ended.
    """

    def __init__(
        self,
        fence: Fence,
        *,
        session_id: str,
        turn_id: int,
        owner: str,
        rows: Sequence[Row],
        horizon: int,
        reply: Draft,
        fresh: Callable[[], bool],
        steps: Callable[[], Sequence[Step]] = tuple,
        since: dt.datetime | None = None,
        author: str = "",
        preface: Callable[[Sequence[Message]], str] = lambda _: "",
        desk: Desk | None = None,
    ) -> None:
        super().__init__(
            fence, session_id=session_id, turn_id=turn_id, owner=owner, rows=rows, desk=desk
        )
        self._horizon = horizon
        self._reply = reply
        self._fresh = fresh
        self._steps = steps
        self._since = since
        self._author = author or owner
        self._preface = preface
        self.ready: tuple[int, Draft] | None = None
        self.more = True
        self.files: TurnFiles | None = None
        self.status: TurnStatus | None = None

    async def steer(self) -> Sequence[Row]:
        """See Journal: the author's own plain messages, up to their next command."""
        if not self._fresh():
            return ()

        brought: dict[int, Brought] = {}
        rows: list[Row] = []
        while True:
            added, missing = await self._steer(brought)
            rows += added
            if missing is None or self.files is None:
                return rows
            brought[missing.id] = await self.files.bring(missing)

    async def _steer(self, brought: Mapping[int, Brought]) -> tuple[list[Row], inbox.Item | None]:
        """Take what may be steered in, up to a row whose files are still to be brought in, which is returned."""
        missing: list[inbox.Item | None] = [None]
        letters: list[tuple[int, Draft] | None] = []

        def work(conn: Connection, after: int) -> list[Row]:
            missing[0] = None
            letters.clear()
            rows: list[NewRow] = []
            for item in self._steerable(inbox.new_rows(conn, self._fence.conversation_id, after=0)):
                if item.attachments and self.files is not None and item.id not in brought:
                    missing[0] = item
                    break
                inbox.take(conn, [item.id], self._turn_id)
                rows.append(self._steered(conn, item, brought.get(item.id), letters))
            return self._write(conn, after, rows, None, "") if rows else []

        added = await self._commit(work, lambda: self._send(letters))
        return added, missing[0]

    def _steered(
        self,
        conn: Connection,
        item: inbox.Item,
        brought: Brought | None,
        letters: list[tuple[int, Draft] | None],
    ) -> NewRow:
        if brought is None or self.files is None:
            return NewRow(RowKind.USER, Message("user", (words(item),)), ref=str(item.id))
        letters.append(self.files.store(conn, brought, self._fence.clock.now()))
        blocks = (words(brought.item), *brought.blocks)
        return NewRow(RowKind.USER, Message("user", blocks), ref=str(item.id), meta=brought.meta)

    async def open(self, row: NewRow, brought: Brought | None) -> None:
        """Write the turn's first row, which waited for its files, with their bytes and what is said of them."""
        letters: list[tuple[int, Draft] | None] = []

        def work(conn: Connection, after: int) -> list[Row]:
            letters.clear()
            if brought is not None and self.files is not None:
                letters.append(self.files.store(conn, brought, self._fence.clock.now()))
            return self._write(conn, after, [row], None, "")

        await self._commit(work, lambda: self._send(letters))

    def _send(self, letters: Sequence[tuple[int, Draft] | None]) -> None:
        for letter in letters:
            if self.files is not None:
                self.files.send(letter)

    def _steerable(self, items: Sequence[inbox.Item]) -> list[inbox.Item]:
        taken: list[inbox.Item] = []
        for item in items:
            if item.author != self._author:
                continue  # other people's rows are turns of their own
            if self._is_backlog(item) or route(item.text, item.kind).to != "turn":
                break  # it waits for its own time, and what came later must not overtake it
            taken.append(item)
        return taken

    def _is_backlog(self, item: inbox.Item) -> bool:
        late = self._since is not None and item.sent is not None and item.sent < self._since
        return item.id <= self._horizon or late

    async def wait(self) -> bool:
        """See Journal. The inbox rows of the turn stay with it, but nothing is to be done for them."""
        asked = set(self._open)
        self._open.clear()
        waits: list[bool] = []

        def work(conn: Connection, after: int) -> list[Row]:
            del after
            waits.append(questions.wait(conn, self._turn_id, asked))
            return []

        await self._commit(work)
        if waits[-1]:
            self.status = TurnStatus.WAITING
        return waits[-1]

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
        """See Journal. `ready` then names the outbox row; `more` says whether rows wait in the lane."""
        said = [r.message for r in self.stored if r.turn_id == self._turn_id]
        said += [row.message for row in rows]
        text = self._preface(said) + text
        reply = replace(self._reply, text=text, artifacts=artifacts, steps=self._steps())
        error_id = rows[-1].meta.get("error_id") if rows else None
        stored: list[tuple[int, bool]] = []
        rewritten: list[tuple[int, Draft]] = []

        def work(conn: Connection, after: int) -> list[Row]:
            now = self._fence.clock.now()
            added = self._write(conn, after, rows, usage, model)
            if status is not TurnStatus.DONE and self._desk is not None:
                rewritten[:] = cancel_questions(
                    conn, self._fence.conversation_id, self._turn_id, now
                )
            close_turn(conn, self._turn_id, status, now, error_id)
            inbox.close_turn_rows(conn, self._turn_id)
            more = inbox.newest(conn, self._fence.conversation_id) > 0
            stored.append((outbox.put(conn, reply, now), more))
            return added

        def then() -> None:
            row_id, self.more = stored[-1]
            self.status = status
            self.ready = (row_id, reply)
            for letter in rewritten:
                if self._desk is not None:
                    self._desk.posted(*letter, True)

        await self._commit(work, then)


def _nothing() -> None:
    """Nothing follows a commit."""
