"""The view: what a model sees of a transcript, a pure function of rows and checkpoints (ASM-14, DESIGN.md 5).

Same inputs, same bytes; nothing reads a clock; rows are never changed. Tool results stand right behind their call, in
call order, whatever the order in which they were stored; a result whose call is not shown is not shown, and a call
whose result was left out shows a mark that names it (TPR-1). A call that has no result yet is left to the provider's
normaliser, which runs last.

A view is immutable. `extended` makes the next one from it: new rows cost only themselves (the rest is copied as
pointers), token estimates are made once for each part.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from agent_core.compaction.decisions import Summary, range_ref
from agent_core.compaction.head import head
from agent_core.compaction.shown import shown
from agent_core.compaction.standing import Standing
from agent_core.models.tokens import of_message
from agent_core.types import Checkpoint, Context, Message, Row, RowKind, ToolResult

PartKind = Literal["head", "row", "results", "note"]
HEAD_TURN = 0  # the head belongs to no turn


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a view.

    `kind`: "head" stands for the rows behind the cut (turn 0, no seqs); "row" is a person's or a model's row;
    "results" are the answers to the calls of the part before it, `seqs` in call order; "note" are words of the runtime:
    a NOTE row, or a mark where rows were dropped (no seqs). `tokens` is an estimate (`mixed`), `chars` the length of
    its texts.
    """

    message: Message
    turn_id: int
    seqs: tuple[int, ...]
    tokens: int
    kind: PartKind
    chars: int


_Known = dict[tuple[PartKind, tuple[int, ...]], Part]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A part, and the results of its calls. Its place never changes, whenever the results come."""

    lead: Part
    results: Part | None = None
    row: Row | None = None


class View:
    """What a model sees of `rows` under `checkpoints`. Made by `of` and `extended` alone.

    Attributes:
        rows: every row of the transcript, in order of `seq`; gaps are allowed.
        checkpoints: in the order in which they were made.
        tokens: the sum of the parts' estimates.
    """

    def __init__(self, draft: "_Draft") -> None:
        self.rows: tuple[Row, ...] = tuple(draft.rows)
        self.checkpoints: tuple[Checkpoint, ...] = draft.checkpoints
        self.standing: Standing = draft.standing
        self.tokens: int = draft.tokens
        self._draft = draft

    @classmethod
    def of(cls, rows: Sequence[Row], checkpoints: Sequence[Checkpoint] = ()) -> "View":
        """The view of a whole transcript."""
        return cls(_Draft.of(tuple(checkpoints), rows, {}))

    def extended(self, rows: Sequence[Row], checkpoints: Sequence[Checkpoint] = ()) -> "View":
        """Equal to `View.of` of everything. `rows` come after those of this view, by seq.

        Raises ValueError where they do not. Checkpoints, and rows behind the cut, are read anew with all rows; parts
        that they do not touch are kept.
        """
        last = self.rows[-1].seq if self.rows else 0
        for row in rows:
            if row.seq <= last:
                raise ValueError(f"row {row.seq} does not come after row {last}")
            last = row.seq
        if checkpoints or (rows and rows[0].seq < self.until):
            known: _Known = {(p.kind, p.seqs): p for p in self.parts}
            every = (*self.checkpoints, *checkpoints)
            return View(_Draft.of(every, (*self.rows, *rows), known))
        draft = self._draft.copy()
        draft.add(rows)
        return View(draft)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The messages with where they come from, in order."""
        return tuple(
            part
            for entry in self._draft.entries
            for part in (entry.lead, entry.results)
            if part is not None
        )

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The messages alone."""
        return tuple(part.message for part in self.parts)

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """The turn of each message."""
        return tuple(part.turn_id for part in self.parts)

    @cached_property
    def visible(self) -> tuple[Row, ...]:
        """Rows that are neither undone nor hidden, also those behind the cut."""
        return tuple(row for row in self.rows if _is_visible(row, self.standing))

    @property
    def summary(self) -> Summary | None:
        """The summary in force."""
        return self.standing.summary

    @property
    def until(self) -> int:
        """Rows with a smaller seq are behind the cut; 1 without a summary."""
        return self.standing.cut

    def row(self, seq: int) -> Row | None:
        """The row with this seq."""
        return _row_at(self.rows, seq)

    def shown(self, seq: int) -> Message | None:
        """A row's message under the decisions about it, wherever it stands; None where there is no such row."""
        row = self.row(seq)
        return None if row is None else shown(row, self.standing)


class _Draft:
    """A view in the making. A view keeps its own and never changes it."""

    def __init__(self, checkpoints: tuple[Checkpoint, ...], standing: Standing) -> None:
        self.checkpoints = checkpoints
        self.standing = standing
        self.rows: list[Row] = []
        self.entries: list[_Entry] = []
        self.tokens = 0
        self.callers: dict[str, tuple[int, ...]] = {}  # call id -> places of the rows that make it
        self.results: dict[str, Row] = {}  # call id -> its newest result
        self.noted: frozenset[tuple[int, int]] = frozenset()
        self.known: _Known = {}

    @classmethod
    def of(
        cls,
        checkpoints: tuple[Checkpoint, ...],
        rows: Sequence[Row],
        known: _Known,
    ) -> "_Draft":
        """Everything anew; `known` are parts that are taken over where they say the same."""
        draft = cls(checkpoints, Standing.of(checkpoints))
        draft.known = known
        draft._begin(rows)
        draft.add(rows)
        draft.known = {}
        return draft

    def copy(self) -> "_Draft":
        """One to go on with; entries and rows are shared, since they never change."""
        new = _Draft(self.checkpoints, self.standing)
        new.rows, new.entries = self.rows.copy(), self.entries.copy()
        new.callers, new.results = self.callers.copy(), self.results.copy()
        new.tokens, new.noted = self.tokens, self.noted
        return new

    def add(self, rows: Iterable[Row]) -> None:
        """Append rows that come after those that are here."""
        for row in rows:
            self.rows.append(row)
            if row.seq >= self.standing.cut and _is_visible(row, self.standing):
                self._take(row)

    def _begin(self, rows: Sequence[Row]) -> None:
        """The head, and the answers behind the cut that the summary keeps raw (CMP-35)."""
        summary = self.standing.summary
        if summary is None:
            return
        behind = {
            seq: row
            for seq in summary.words
            if (row := _row_at(rows, seq)) is not None
            and seq < self.standing.cut
            and _is_visible(row, self.standing)
        }
        for message in head(summary, behind.get):
            self._append(self._part(message, HEAD_TURN, (), "head"))
        for row in behind.values():
            if row.kind is RowKind.ASSISTANT and not row.message.calls:
                self._append_row(row, "row")

    def _take(self, row: Row) -> None:
        if row.kind is RowKind.RESULT:
            self.results[row.ref] = row
            for place in self.callers.get(row.ref, ()):
                self._answer(place)
        elif row.kind is not RowKind.INTENT:
            dropped = self.standing.dropped.find(row.seq)
            if dropped is None:
                self._append_row(row, "note" if row.kind is RowKind.NOTE else "row")
            elif dropped not in self.noted:
                self._note_drop(row, dropped)

    def _append_row(self, row: Row, kind: PartKind) -> None:
        message = shown(row, self.standing)
        if row.message.blocks and not message.blocks:
            return  # it was recalled memory alone
        self._append(self._part(message, row.turn_id, (row.seq,), kind), row)
        if row.kind is not RowKind.ASSISTANT or not message.calls:
            return
        place = len(self.entries) - 1
        for call in message.calls:
            here = self.callers.get(call.id, ())
            if place not in here:
                self.callers[call.id] = (*here, place)
        self._answer(place)

    def _note_drop(self, row: Row, dropped: tuple[int, int]) -> None:
        self.noted |= {dropped}
        ref = range_ref(max(dropped[0], self.standing.cut), dropped[1])
        said = f"[{ref} left out to fit the model's window] (restore_archive gives it back)"
        self._append(self._part(Message("user", (Context(said),)), row.turn_id, (), "note"))

    def _append(self, part: Part, row: Row | None = None) -> None:
        self.entries.append(_Entry(part, None, row))
        self.tokens += part.tokens

    def _answer(self, place: int) -> None:
        """Put the results that are here behind the row that made the calls."""
        entry = self.entries[place]
        assert entry.row is not None  # noqa: S101 - only rows make calls
        found = [self.results[c.id] for c in entry.row.message.calls if c.id in self.results]
        blocks = tuple(
            block
            for row in found
            for block in shown(row, self.standing).blocks
            if isinstance(block, ToolResult)
        )
        if not blocks:
            return
        part = self._part(
            Message("user", blocks), entry.lead.turn_id, tuple(r.seq for r in found), "results"
        )
        self.tokens += part.tokens - (entry.results.tokens if entry.results else 0)
        self.entries[place] = _Entry(entry.lead, part, entry.row)

    def _part(self, message: Message, turn_id: int, seqs: tuple[int, ...], kind: PartKind) -> Part:
        known = self.known.get((kind, seqs))
        if known is not None and known.message == message and known.turn_id == turn_id:
            return known
        return Part(message, turn_id, seqs, of_message(message), kind, _chars(message))


def _chars(message: Message) -> int:
    return sum(
        len(b.content) if isinstance(b, ToolResult) else len(getattr(b, "text", ""))
        for b in message.blocks
    )


def _is_visible(row: Row, standing: Standing) -> bool:
    return row.seq not in standing.undone and not row.meta.get("hidden")


def _row_at(rows: Sequence[Row], seq: int) -> Row | None:
    at = bisect_left(rows, seq, key=lambda row: row.seq)
    return rows[at] if at < len(rows) and rows[at].seq == seq else None
