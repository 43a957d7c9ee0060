"""The journal of a turn: what steers messages in, waits for a person, and ends the turn, each in one transaction."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from agent_core.budget.ledger import Settled
from agent_core.storage.statements import add_usage, close_turn
from agent_core.types import (
    ArtifactRef,
    Checkpoint,
    Message,
    NewRow,
    Row,
    RowKind,
    TurnStatus,
    Usage,
)
from channels.types import OURS, Step
from gateway.engine.begin import words
from gateway.engine.fence import Fence
from gateway.engine.session_journal import SessionJournal
from gateway.inbound import inbox
from gateway.inbound.media import Brought
from gateway.inbound.router import route
from gateway.inbound.turn_files import TurnFiles
from gateway.outbound import outbox
from gateway.outbound.draft import Draft
from gateway.questions import waiting
from gateway.questions.decided import cancel_questions
from gateway.questions.questions import Desk
from gateway.storage.clean_rows import clean_artifacts, clean_blob, clean_row, clean_steps
from gateway.turns.budget import Parked, TurnBudget


class TurnJournal(SessionJournal):
    """The journal of a turn's own session: it also steers, and its end closes the inbox rows and sets the reply.

    `fresh` says (once) that rows may have arrived since it was last asked, so an idle `steer` costs no transaction.
    `steps` tells what was done for the reply, which keeps it. `since` is when the process began: what was sent before
    is backlog, also when the platform hands it over late. `calls` tells words that call a skill or a template: a turn
    of their own. `files` brings in what came along with messages; until it is set, they are only named. `status` is how
    the turn has ended; `lacks_room`: it has not, but waits for a pot.
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
        checkpoints: tuple[Checkpoint, ...] = (),
        budget: TurnBudget | None = None,
        condensed: Callable[[], None] = lambda: None,
        calls: Callable[[str], bool] = lambda _: False,
    ) -> None:
        super().__init__(
            fence,
            session_id=session_id,
            turn_id=turn_id,
            owner=owner,
            rows=rows,
            desk=desk,
            checkpoints=checkpoints,
            budget=budget,
            condensed=condensed,
        )
        self.lacks_room = False
        self._horizon = horizon
        self._reply = reply
        self._fresh = fresh
        self._steps = steps
        self._since = since
        self._author = author or owner
        self._preface = preface
        self.ready: tuple[int, Draft] | None = None
        self.more = True
        self._calls = calls
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
            brought[missing.id] = self._clean(await self.files.bring(missing))

    async def _steer(self, brought: Mapping[int, Brought]) -> tuple[list[Row], inbox.Item | None]:
        """Take what may be steered in, up to a row whose files are still to be brought in, which is returned."""
        missing: list[inbox.Item | None] = [None]
        letters: list[tuple[int, Draft] | None] = []
        booked: list[Settled | None] = [None]

        def work(conn: Connection, after: int) -> list[Row]:
            missing[0] = None
            letters.clear()
            rows: list[NewRow] = []
            taken: list[Brought] = []
            for item in self._steerable(inbox.new_rows(conn, self._fence.conversation_id, after=0)):
                if item.attachments and self.files is not None and item.id not in brought:
                    missing[0] = item
                    break
                inbox.take(conn, [item.id], self._turn_id)
                taken += [brought[item.id]] if item.id in brought else []
                rows.append(self._steered(conn, item, brought.get(item.id), letters))
            booked[0] = self._heard(conn, taken)
            return self._write(conn, after, rows, None, "") if rows else []

        added = await self._commit(work, lambda: self._brought(letters, booked[0]))
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
        row = NewRow(RowKind.USER, Message("user", blocks), ref=str(item.id), meta=brought.meta)
        return clean_row(self._fence.redactor, row)

    def _clean(self, brought: Brought) -> Brought:
        """What a message's files became, its stored texts without secrets."""
        blobs = tuple(clean_blob(self._fence.redactor, blob) for blob in brought.blobs)
        return replace(brought, blobs=blobs)

    async def open(self, row: NewRow, brought: Brought | None) -> None:
        """Write the turn's first row, which waited for its files, with their bytes and what is said of them."""
        letters: list[tuple[int, Draft] | None] = []
        booked: list[Settled | None] = [None]
        first = clean_row(self._fence.redactor, row)
        kept = None if brought is None else self._clean(brought)

        def work(conn: Connection, after: int) -> list[Row]:
            letters.clear()
            if kept is not None and self.files is not None:
                letters.append(self.files.store(conn, kept, self._fence.clock.now()))
            booked[0] = self._heard(conn, [kept] if kept else [])
            return self._write(conn, after, [first], None, "")

        await self._commit(work, lambda: self._brought(letters, booked[0]))

    def _heard(self, conn: Connection, brought: Sequence[Brought]) -> Settled | None:
        """Record and book what voice messages cost to hear, all that come into this transaction at once."""
        used = [one.usage for one in brought if one.usage is not None]
        if not used:
            return None
        usage, ears = sum(used, Usage()), brought[0].ears
        add_usage(
            conn,
            turn_id=self._turn_id,
            session_id=self._session_id,
            owner=self._owner,
            model=ears,
            usage=usage,
            now=self._fence.clock.now(),
        )
        if self._budget is None:
            return None
        return self._budget.settle(conn, self._session_id, usage, model=ears, last=False)

    def _brought(self, letters: Sequence[tuple[int, Draft] | None], booked: Settled | None) -> None:
        """Rows with files are committed."""
        self._send(letters)
        if self._budget is not None:
            self._budget.settled(self._session_id, booked)

    def _send(self, letters: Sequence[tuple[int, Draft] | None]) -> None:
        for letter in letters:
            if self.files is not None:
                self.files.send(letter)

    def _steerable(self, items: Sequence[inbox.Item]) -> list[inbox.Item]:
        taken: list[inbox.Item] = []
        for item in items:
            if item.author != self._author or item.kind in OURS:
                continue  # other people's rows are turns of their own, and the news of tasks are no words (BGT-4)
            is_own_turn = route(item.text, item.kind).to != "turn" or self._calls(item.text)
            if self._is_backlog(item) or is_own_turn or item.again:
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
        if not asked and self._budget is not None and self._budget.lacks:
            return await self._wait_for_room(self._budget)
        waits: list[bool] = []

        def work(conn: Connection, after: int) -> list[Row]:
            del after
            waits.append(waiting.wait(conn, self._turn_id, asked))
            if self._budget is not None:
                self._budget.pause(conn)
            return []

        await self._commit(work, None if self._budget is None else self._budget.paused)
        if waits[-1]:
            self.status = TurnStatus.WAITING
        return waits[-1]

    async def _wait_for_room(self, budget: TurnBudget) -> bool:
        """Leave the turn, open as it is, until a pot has room: every start, and whoever makes room, tries it again."""
        outcome: list[Parked] = []

        def work(conn: Connection, after: int) -> list[Row]:
            del after
            outcome.append(budget.park(conn))
            inbox.clear_attempts(conn, self._turn_id)  # no restart has broken it so far
            return []

        await self._commit(work)
        budget.parked(outcome[-1])
        self.lacks_room = outcome[-1] == "waits"
        return self.lacks_room

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
        rows = [clean_row(self._fence.redactor, row) for row in rows]
        said = [r.message for r in self.stored if r.turn_id == self._turn_id]
        said += [row.message for row in rows]
        reply = replace(
            self._reply,
            text=self._fence.redactor.text(self._preface(said) + text),
            artifacts=clean_artifacts(self._fence.redactor, artifacts),
            steps=clean_steps(self._fence.redactor, self._steps()),
        )
        error_id = rows[-1].meta.get("error_id") if rows else None
        stored: list[tuple[int | None, bool]] = []
        silent = reply.silent and status is TurnStatus.DONE
        rewritten: list[tuple[int, Draft]] = []
        booked: list[Settled | None] = [None]

        def work(conn: Connection, after: int) -> list[Row]:
            now = self._fence.clock.now()
            added = self._write(conn, after, rows, usage, model)
            if status is not TurnStatus.DONE and self._desk is not None:
                rewritten[:] = cancel_questions(
                    conn, self._fence.conversation_id, self._turn_id, now
                )
            close_turn(conn, self._turn_id, status, now, error_id)
            inbox.close_turn_rows(conn, self._turn_id)
            more = inbox.is_any_open(conn, self._fence.conversation_id)
            if self._budget is not None:  # late, since others wait for the pots until the commit
                booked[0] = self._budget.settle(
                    conn, self._session_id, usage, model=model, last=True
                )
            stored.append((None if silent else outbox.put(conn, reply, now), more))
            return added

        def then() -> None:
            if self._budget is not None:
                self._budget.settled(self._session_id, booked[0])
            row_id, self.more = stored[-1]
            self.status = status
            self.ready = None if row_id is None else (row_id, reply)
            for letter in rewritten:
                if self._desk is not None:
                    self._desk.posted(*letter, True)

        await self._commit(work, then)
