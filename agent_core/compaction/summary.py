"""Summaries of the rows behind a cut (layers 3 and 5): asked for, checked, repaired once, stood in for.

The summary is asked for on top of the conversation's own request, so that the provider's cache is read ("forked");
where that does not fit or is answered with a tool call, the rows are written out in chunks, each with the summary so
far. A later summary is made from the earlier one and what came since, never from itself again (CMP-31, C-27).

Lossless copy: the rows, and the earlier summary in its checkpoint. Tool pairs: nothing is cut here, the caller chose
the cut. The original: the rows behind the cut, by the archive reference in the head (MSC-10, CMP-7).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent_core.compaction import asking, mechanical, prompts, serialise, validate
from agent_core.compaction.decisions import Anchor, Fact, Profile, Summary
from agent_core.compaction.validate import Items, Verdict
from agent_core.errors import ContextTooLong, ModelBadRequest, ModelError
from agent_core.models import tokens
from agent_core.models.stream import StreamLimits
from agent_core.ports import Model, ModelRequest
from agent_core.types import Row, Usage, user

LIMITS = StreamLimits(first_token=30.0, idle=30.0, total=300.0)  # CMP-24
CHUNK_SHARE = 0.6  # of the summariser's window, for the record itself
LEAST_CHUNK = 500  # tokens: a chunk that a provider still finds too long is halved down to this

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """One summary to make.

    Attributes:
        request: the request that the conversation would send next; the summary is asked for on top of it, so that the
            provider's cache of it is read. None: the rows are written out in requests of their own.
        rows: the rows that the summary will stand for, from the previous cut to the new one, in order.
        previous: the summary in force, which the new one replaces (CMP-31).
        facts: facts whose numbers and symbols must not be lost (CMP-16).
        anchors: excerpts of high score, likewise.
        topic: what a person or the model asked to keep most of (CMP-29).
        profile: "structured", "brief" (500 characters) or "short" (100).
        limit_tokens: tokens of a structured summary at most, by estimate (C-7: a tenth of T).
        window: tokens of the summarising model's window.
        shown: texts that will stand beside the summary anyway; None: those of `facts` and `anchors`.
        ratio: real tokens for each estimated one (TOK-10).
    """

    request: ModelRequest | None
    rows: Sequence[Row]
    previous: Summary | None = None
    facts: tuple[Fact, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    topic: str = ""
    profile: Profile = "structured"
    limit_tokens: int = 4_000
    window: int = 64_000
    shown: tuple[str, ...] | None = None
    ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Made:
    """A summary, and what the trace tells of it (CMP-26).

    `text` is "" where there is none: the rows stay as they are (CMP-14). `profile` is "mechanical" where no model's
    words could be used. `usage` is the sum over `attempts` model calls; `model` made the last. `chunks` is how many
    parts the rows were read in. `problem` says in a few words what went wrong, "" for nothing. `missing` are numbers
    and symbols that the model left out and that were added. `forked`: made on the conversation's own request.
    """

    text: str
    profile: Profile
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    chunks: int = 1
    attempts: int = 0
    problem: str = ""
    missing: tuple[str, ...] = ()
    forked: bool = False


async def summarise(
    job: Job, model: Model, *, limits: StreamLimits = LIMITS, fallback: bool = True
) -> Made:
    """Make the summary. Never raises a ModelError; cancellation passes through and leaves nothing behind.

    Args:
        job: what to summarise.
        model: who is asked.
        limits: seconds; `idle` between two chunks of an answer, `total` for the whole job, all calls together.
        fallback: whether a summary without a model stands in where the model gives none; else `Made.text` is "" and
            the caller keeps everything as it was (CMP-14).
    """
    maker = _Maker(job, asking.Calls(model, limits))
    if not model.info.summarises:
        return maker.stand_in(wanted=fallback)
    clock = asyncio.timeout(limits.total)
    try:
        async with clock:
            said = await maker.make()
    except TimeoutError:
        if not clock.expired():
            raise
        maker.note(f"no summary within {limits.total:g} s")
        said = ""
    made = maker.made(said) if said else maker.stand_in(wanted=fallback)
    if tokens.of_text(made.text) >= maker.source > 0 and made.profile != "mechanical":
        made = maker.stand_in(wanted=fallback)  # what was added made it too large
    if made.problem:
        log.warning(  # CMP-15
            "summary_problem", extra={"problem": made.problem, "profile": made.profile}
        )
    return made


class _Maker:
    """One job in progress: what was asked, what came back, and how far the rows were read."""

    def __init__(self, job: Job, calls: asking.Calls) -> None:
        self.job = job
        self.calls = calls
        texts = [f.text for f in job.facts] + [a.text for a in job.anchors]
        self.shown = tuple(texts) if job.shown is None else job.shown
        self.items = validate.required(texts)
        self.earlier = job.previous.text if job.previous else ""
        self.source = serialise.size_of(job.rows) + tokens.of_text(self.earlier)
        self.running = self.earlier  # what the chunks read so far came to
        self.unread: Sequence[Row] = job.rows
        self.chunks = 1
        self.forked = False
        self.repaired = False
        self.problems: list[str] = []

    def note(self, problem: str) -> None:
        self.problems.append(problem)

    async def make(self) -> str:
        """The summary as the model wrote it, checked and repaired; "" where there is none."""
        try:
            if said := await self._on_request():
                self.forked = True
                return said
        except (ContextTooLong, ModelBadRequest) as e:
            self.note(f"forked: {type(e).__name__}")
        except ModelError as e:
            self.note(type(e).__name__)
            return ""
        try:
            return await self._in_chunks()
        except ModelError as e:
            self.note(type(e).__name__)
            return ""

    def made(self, said: str) -> Made:
        """The model's summary in its form and limit, with what it left out."""
        job = self.job
        said = validate.fitted(said, job.profile, job.limit_tokens)
        missing = self.items.missing((said, *self.shown))
        if missing:
            lines = self.items.lines(missing)
            added = mechanical.noted(lines, said)
            said = mechanical.add(said, added)
        return self._made(said, job.profile, missing)

    def stand_in(self, *, wanted: bool) -> Made:
        """What can be said without a model: the summary so far, and the rows that no answer covers."""
        said = mechanical.update(self.running, self.unread, self.job.limit_tokens) if wanted else ""
        if said and tokens.of_text(said) >= self.source:
            self.note("larger than its source")
            said = ""
        return self._made(said, "mechanical" if said else "none", ())

    def _made(self, said: str, profile: Profile, missing: tuple[str, ...]) -> Made:
        calls = self.calls
        return Made(
            text=said,
            profile=profile,
            model=calls.answered_by,
            usage=calls.usage,
            chunks=self.chunks,
            attempts=calls.attempts,
            problem="; ".join(dict.fromkeys(self.problems)),
            missing=missing,
            forked=self.forked,
        )

    async def _on_request(self) -> str:
        """Asked on top of the conversation's own request: same system, tools and marks, so the same cached prefix."""
        base = self.job.request
        if base is None:
            return ""
        told = prompts.forked(
            self._instruction(), updating=bool(self.earlier), until=serialise.begins(self.job.rows)
        )
        most = max(base.max_tokens, self._output())
        request = replace(base, messages=(*base.messages, user(told)), max_tokens=most)
        estimate = tokens.mixed(request.system, request.messages, request.tools)
        if estimate * self.job.ratio + most > self._window():
            self.note("forked: does not fit")
            return ""
        return await self._checked(request)

    async def _in_chunks(self) -> str:
        """The rows written out, chunk by chunk, each with the summary so far; the last answer is the summary."""
        budget = max(int(CHUNK_SHARE * self._window() / self.job.ratio) - self._told(), LEAST_CHUNK)
        waiting = deque(serialise.chunks(serialise.pieces(self.job.rows), budget))
        done = 0
        while waiting:
            chunk = waiting.popleft()
            self.unread = serialise.rows_of([chunk, *waiting])
            request = self._request(chunk, done + 1, done + 1 + len(waiting))
            try:
                said = await self._checked(request, last=not waiting)
            except ContextTooLong:
                size = tokens.of_text(chunk.text)
                if size <= LEAST_CHUNK:
                    raise
                waiting.extendleft(reversed(serialise.chunks(chunk.pieces, size // 2 + 1)))
                continue
            done += 1
            self.chunks = done + len(waiting)
            if not waiting:
                return said
            self.running = self._carried(said, chunk)
        return ""

    def _carried(self, said: str, chunk: serialise.Chunk) -> str:
        """What the next chunk is told of those before it."""
        if said:
            return validate.fitted(said, self.job.profile, self.job.limit_tokens)
        return mechanical.update(self.running, chunk.rows, self.job.limit_tokens)

    async def _checked(self, request: ModelRequest, *, last: bool = True) -> str:
        """One answer that can be used, after one repair where it has gaps; "" where it cannot.

        A chunk in the middle is not repaired for gaps: what its rows still lack is checked at the end.
        """
        answer = await self.calls.ask(request)
        verdict = self._verdict(answer)
        if verdict.fine or (not verdict.unusable and not last):
            return answer.text
        self.note(verdict.problem)
        if self.repaired:
            return "" if verdict.unusable else answer.text
        if verdict.unusable and self._is_forked(request):
            return ""  # the next attempt is the written-out form, which has no tools to call
        self.repaired = True
        again = await self.calls.ask(asking.again(request, answer, verdict))
        second = self._verdict(again)
        if second.unusable:
            return "" if verdict.unusable else answer.text
        if not second.fine:
            self.note(f"repaired: {second.problem}")
        return again.text

    def _is_forked(self, request: ModelRequest) -> bool:
        base = self.job.request
        return base is not None and request.messages[: len(base.messages)] == base.messages

    def _verdict(self, answer: asking.Answer) -> Verdict:
        if answer.refused:
            return Verdict(answer.refused)
        job = self.job
        return validate.check(
            answer.text,
            profile=job.profile,
            items=self.items,
            shown=self.shown,
            limit=job.limit_tokens,
            source_tokens=self.source,
        )

    def _request(self, chunk: serialise.Chunk, at: int, of: int) -> ModelRequest:
        told = prompts.written_out(self._instruction(), chunk.text, self.running, (at, of))
        return ModelRequest(prompts.SYSTEM, (user(told),), max_tokens=self._output())

    def _instruction(self) -> str:
        job = self.job
        return prompts.instruction(
            job.profile,
            topic=job.topic,
            # A word of English has about 5 letters and a blank, so 3 tokens by `mixed`; a Chinese one two characters.
            limit_words=max(job.limit_tokens // 3, 50),
            keep=Items.missing(self.items, self.shown),
        )

    def _told(self) -> int:
        """Tokens of a request beside its record."""
        return tokens.of_text(self._instruction()) + max(
            self.job.limit_tokens, tokens.of_text(self.running)
        )

    def _window(self) -> int:
        return min(self.job.window, self.calls.model.info.context_window)

    def _output(self) -> int:
        """Tokens that the answer may have: twice the limit, since estimates err and a repair is dearer."""
        return min(self.calls.model.info.max_output_tokens, max(1_024, 2 * self.job.limit_tokens))
