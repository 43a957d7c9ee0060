"""Learning from a conversation, in the background: extract, compare, store, refresh the layers above (MEM-5 … MEM-14).

Each piece of work ends in one transaction: what was learnt, what waits for a model, the marker that says it was done,
and the end of the job itself. A kill in between repeats the piece, and the dedup knows what is there already. A model
that fails raises; the caller keeps the job and tries later.
"""

import asyncio
import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from agent_core.errors import ModelError
from agent_core.memory import dedup, extract, layers
from agent_core.memory.asking import Bill
from agent_core.memory.dedup import Offered, offer
from agent_core.memory.extract import Candidate, OwnWords, Record
from agent_core.memory.jobs import compare_job, memory_of, refresh_job
from agent_core.memory.lifecycle import enforce_cap
from agent_core.ports import Clock, Model
from agent_core.storage import memories, pending
from agent_core.storage.memories import MARKER, Memory, NewMemory
from agent_core.storage.pending import Job
from agent_core.storage.statements import add_usage, has_session
from agent_core.types import Row

T = TypeVar("T")
Done = Callable[[Connection], None]


class Store(Protocol):
    """Transactions, as the gateway's database has them."""

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction, and return once it is durable."""
        ...

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction that only reads."""
        ...


@dataclass(frozen=True, slots=True)
class Material:
    """What is learnt from.

    Attributes:
        owner, scope: whose memory it is, and where it is recalled.
        session_id: of which `rows` are, those of the owner's own turns without what was taken back, in order.
        head_after: None for a whole session; else only rows with a higher `seq` are read, as the head of a compaction.
    """

    owner: str
    scope: str
    session_id: str
    rows: Sequence[Row]
    head_after: int | None = None

    @property
    def source(self) -> str:
        """Where the memories will say that they come from (MEM-16)."""
        return f"chat_log:{self.session_id}"

    def refresh(self) -> Job:
        """The job that looks at the layers above."""
        return refresh_job(self.owner, self.scope, self.session_id)


@dataclass(frozen=True, slots=True)
class Learnt:
    """What came of it. `skipped`: why nothing was asked, "" where a model was."""

    skipped: str = ""
    stored: tuple[int, ...] = ()
    known: int = 0
    waiting: int = 0
    layered: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Learner:
    """Learns for any owner.

    Attributes:
        store: transactions.
        clock: time.
        own_words: what the person of a USER row wrote themselves.
        topic_of: what a line sets, such as "stop@NVDA"; "" for nothing. A later value supersedes (MEM-15).
        clean: the text without secrets, the same text where there are none.
    """

    store: Store
    clock: Clock
    own_words: OwnWords
    topic_of: Callable[[str], str] = lambda _: ""
    clean: Callable[[str], str] = lambda text: text

    async def learn(
        self,
        material: Material,
        model: Model,
        *,
        judge: Model | None = None,
        refresh: bool = True,
        done: Done = lambda _: None,
    ) -> Learnt:
        """Learn from a conversation.

        Args:
            material: what is read.
            model: extracts and condenses.
            judge: compares (a fallback provider, where there is one: DED-2); None: `model`.
            refresh: let the layers above be made anew when there is enough that is new (not at an exit: MEM-12).
            done: begins the transaction that ends the job; what it raises undoes all of it.

        Raises a ModelError where the extraction failed: nothing is written then, `done` is not called (MEM-8). A
        comparison that fails leaves a job of its own (DED-3), and so does a refresh.
        """
        record = await asyncio.to_thread(self._record, material)
        skipped = extract.gate(record, head=material.head_after is not None)
        skipped = skipped or await self.store.read(
            lambda conn: self._processed(conn, material, record)
        )
        if skipped:
            await self.store.write(done)
            return Learnt(skipped)
        bill = Bill()
        answer = await bill.ask(model, extract.SYSTEM, extract.asked(record))
        found = await asyncio.to_thread(self._candidates, answer, material, record)
        sure = [(new, await self._verdict(new, judge or model, bill)) for new in found]

        def commit(conn: Connection) -> Learnt:
            now = self.clock.now()
            done(conn)
            results = [self._settle(conn, new, verdict, now) for new, verdict in sure]
            self._mark(conn, material, record, now)
            _pay(conn, bill, material, now)
            learnt = _counted(results)
            if learnt.stored and refresh:
                pending.put(conn, material.refresh(), now)
            return learnt

        return await self.store.write(commit)

    async def compare(self, job: Job, judge: Model, *, done: Done = lambda _: None) -> Offered:
        """Ask about a memory whose comparison failed before. Raises a ModelError; an answer out of form waits too."""
        new = memory_of(job)
        paid_by = Material(new.owner, new.scope, new.source.removeprefix("chat_log:"), ())
        bill = Bill()
        verdict = await self._verdict(new, judge, bill)
        if verdict is None:
            raise ModelError(judge.info.name, "no verdict about a memory")

        def commit(conn: Connection) -> Offered:
            now = self.clock.now()
            done(conn)
            settled = self._settle(conn, new, verdict, now)
            _pay(conn, bill, paid_by, now)
            if settled.state == "stored":
                pending.put(conn, paid_by.refresh(), now)
            return settled

        return await self.store.write(commit)

    async def refresh(self, job: Job, model: Model, *, done: Done = lambda _: None) -> Learnt:
        """Make playbooks and personas out of the latest L1 memories, when it is due (MEM-10). Raises a ModelError."""

        def look(conn: Connection) -> tuple[list[Memory], list[Memory], bool]:
            atoms = memories.live(conn, job.owner, job.scope, layers.L1, limit=layers.ATOMS)
            last = memories.last_marker(conn, job.owner, job.scope, layers.SOURCE)
            above = memories.live(conn, job.owner, job.scope, ("playbook", "persona"))
            seen = memories.marked(conn, job.owner, job.scope, layers.source_hash(atoms))
            return atoms, above, layers.is_due(atoms, last) and not seen

        atoms, above, due = await self.store.read(look)
        if not due:
            await self.store.write(done)
            return Learnt("not due")
        bill = Bill()
        answer = await bill.ask(model, layers.SYSTEM, layers.question(atoms, above))
        material = Material(job.owner, job.scope, str(job.body.get("session", "")), ())

        def commit(conn: Connection) -> Learnt:
            now = self.clock.now()
            done(conn)
            made = self._layered(conn, job, answer, atoms, now)
            _pay(conn, bill, material, now)
            return Learnt(layered=tuple(o.id for o in made if o.state == "stored"))

        return await self.store.write(commit)

    def _record(self, material: Material) -> Record:
        if material.head_after is None:
            return extract.session_record(material.rows, self.own_words)
        return extract.head_record(material.rows, self.own_words, material.head_after)

    def _processed(self, conn: Connection, material: Material, record: Record) -> str:
        seen = memories.marked(conn, material.owner, material.scope, record.digest)
        return "processed before" if seen else ""

    def _candidates(self, answer: str, material: Material, record: Record) -> list[NewMemory]:
        lines = (extract.admitted(c, record) for c in extract.parse(answer))
        return [
            self._new(c, material) for c in lines if c is not None and self.clean(c.text) == c.text
        ]

    def _new(self, candidate: Candidate, material: Material) -> NewMemory:
        return NewMemory(
            material.owner,
            candidate.kind,
            candidate.text,
            material.source,
            material.scope,
            candidate.codes,
            topic_key=self.topic_of(candidate.text),
            meta={"extractor": "session" if material.head_after is None else "head"},
        )

    async def _verdict(self, new: NewMemory, judge: Model, bill: Bill) -> int | None:
        """0: new, as far as is known; an id: a duplicate of it; None: a model must say and cannot (DED-2, DED-3)."""
        kind = [new.kind]
        existing = await self.store.read(
            lambda conn: memories.live(conn, new.owner, new.scope, kind)
        )
        if not existing or dedup.known(new, existing) is not None:
            return 0  # stage 1 decides, in the transaction that writes
        try:
            answer = await bill.ask(judge, dedup.SYSTEM, dedup.question(new, existing))
        except ModelError:
            return None
        return dedup.verdict(answer, existing)

    def _settle(
        self, conn: Connection, new: NewMemory, verdict: int | None, now: dt.datetime
    ) -> Offered:
        if verdict is None:
            settled = offer(conn, new, now)
            if settled.state == "compare":
                pending.put(conn, compare_job(new), now)
            return settled
        if verdict:
            memories.confirm(conn, new.owner, verdict, now)
            return Offered("known", verdict)
        return offer(conn, new, now, compared=True)

    def _mark(self, conn: Connection, material: Material, record: Record, now: dt.datetime) -> None:
        marker = NewMemory(material.owner, MARKER, "", material.source, material.scope)
        memories.mark(conn, marker, record.digest, now)
        enforce_cap(conn, material.owner, material.scope, MARKER, now)

    def _layered(
        self,
        conn: Connection,
        job: Job,
        answer: str,
        atoms: Sequence[Memory],
        now: dt.datetime,
    ) -> list[Offered]:
        """Store what was derived, and that it was, whatever came of it."""
        digest = layers.source_hash(atoms)
        meta: dict[str, Any] = {
            "extractor": layers.SOURCE,
            "layer_version": layers.LAYER_VERSION,
            "source_l1_ids": sorted(m.id for m in atoms),
            "source_hash": digest,
        }
        base = NewMemory(job.owner, MARKER, "", layers.SOURCE, job.scope, meta=meta)
        made = [
            offer(conn, replace(base, kind=d.kind, text=d.text, codes=d.codes), now, compared=True)
            for d in layers.parse(answer, atoms)
            if self.clean(d.text) == d.text
        ]
        memories.mark(conn, base, digest, now)
        return made


def _pay(conn: Connection, bill: Bill, material: Material, now: dt.datetime) -> None:
    """Record what was asked in the account of the session; one that is gone has none."""
    if not has_session(conn, material.session_id):
        return
    turn = material.rows[-1].turn_id if material.rows else 0
    for model, usage in bill.calls:
        add_usage(
            conn,
            turn_id=turn,
            session_id=material.session_id,
            owner=material.owner,
            model=model,
            usage=usage,
            now=now,
        )


def _counted(results: Sequence[Offered]) -> Learnt:
    return Learnt(
        stored=tuple(o.id for o in results if o.state == "stored"),
        known=sum(o.state in ("known", "storm") for o in results),
        waiting=sum(o.state == "compare" for o in results),
    )
