"""One turn of one session, from its first row to its one terminal event.

Whatever happens, a turn ends exactly once: with an answer, a notice, or "stopped" (EVT-8). Only
`Fenced`, `Reload` and cancellation leave it open: then another run goes on from the last row.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from agent_core.budget import words
from agent_core.compaction.strategies import Policy as ContextPolicy
from agent_core.compaction.view import View
from agent_core.errors import BudgetExceeded, Fenced, LimitReached, Reload, Waiting
from agent_core.events import Event, TurnEnded
from agent_core.past import Archive, Memory, Recall
from agent_core.ports import Clock, Journal, Model, ModelInfo
from agent_core.runtime import trace
from agent_core.runtime.aliases import aliased
from agent_core.runtime.background import ENDED, brought
from agent_core.runtime.context import compact_now, problem_of
from agent_core.runtime.delegate import delegate_tools, desks_of, plan_of
from agent_core.runtime.flow import PLAN
from agent_core.runtime.internal import put_away
from agent_core.runtime.loop import run_agent, usage_meta, used
from agent_core.runtime.notices import code_of, compacted, notice, shortened
from agent_core.runtime.on_demand import held_back, load_tools
from agent_core.runtime.outcome import unanswered
from agent_core.runtime.output import instructed
from agent_core.runtime.rehearsal import Stage
from agent_core.runtime.remarks import missing
from agent_core.runtime.run import Ended, Person, Run
from agent_core.runtime.team import Team
from agent_core.runtime.watchdog import watched
from agent_core.tasks import Tasks
from agent_core.tools.registry import LOAD_TOOLS, Registry
from agent_core.tools.spec import ToolSpec
from agent_core.types import (
    ArtifactRef,
    Message,
    NewRow,
    Row,
    RowKind,
    ToolResult,
    TurnStatus,
    Usage,
    assistant,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Services:
    """What every turn shares. `model` gives the model of a name ("auto": the settings' default)."""

    registry: Registry
    model: Callable[[str], Model]
    clock: Clock
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    archive: Archive | None = None
    memory: Memory | None = None
    recall: Recall | None = None
    stage: Stage | None = None
    tasks: Tasks | None = None


class Turn:
    """One turn.

    `run` may be cancelled; `stop` then ends it for the person, or leaves it for the next start.
    """

    def __init__(
        self,
        services: Services,
        team: Team,
        journal: Journal,
        person: Person,
        emit: Callable[[Event], None],
        model: str = "",
        policy: ContextPolicy | None = None,
        view: View | None = None,
    ) -> None:
        own = services.registry.of(journal.session_id)
        self._services = replace(services, registry=own, model=_models(services, team, model))
        self._journal = journal
        self._person = person
        self._emit = emit
        self._preset = team.name
        self._refusal = ""
        self._run = self._prepare(team, model)
        self._run.policy = policy or self._run.policy
        self._run.view = view

    def _prepare(self, team: Team, model: str) -> Run:
        agent = instructed(team.supervisor)
        run = Run(
            agent=agent,
            journal=self._journal,
            model=self._services.model(model or agent.model),
            tools={},
            person=self._person,
            clock=self._services.clock,
            emit=self._emit,
            sleep=self._services.sleep,
            archive=self._services.archive,
            memory=self._services.memory,
            recall=self._services.recall,
            model_for=self._services.model,
            stage=self._services.stage,
            tasks=self._services.tasks,
        )
        desks = desks_of(team, run, self._services.registry, self._services.model)
        run.plan = plan_of(team, desks)
        direct = whitelist(self._services.registry, agent.tools, [])
        # A plan delegates by itself; its calls stay in the transcript, which some providers take only beside tools.
        hidden = bool(team.flow and direct)
        run.waiting = held_back(agent, direct)
        if run.waiting:
            direct[LOAD_TOOLS] = load_tools(direct[name] for name in run.waiting)
        run.tools = direct | ({} if hidden else {t.name: t for t in delegate_tools(desks)})
        return run

    @property
    def said(self) -> str:
        """The words streamed so far that are no row yet."""
        return self._run.streamed

    @property
    def view(self) -> View | None:
        """The view of the session as the last request showed it."""
        return self._run.view

    @property
    def model(self) -> ModelInfo:
        """Facts about the model that leads."""
        return self._run.model.info

    def refuse(self, text: str) -> None:
        """Let `run` only say this: the turn cannot run as it was chosen."""
        self._refusal = text

    async def run(self) -> None:
        """Run to the end, or until a person must answer: then the turn is left open, and nothing of it runs.

        Raises Fenced or Reload when the rows belong to somebody else or must be read again.
        """
        if self._refusal:
            stored = await self._journal.rows()
            rows = unanswered(stored, self._journal.turn_id, "this turn could not go on")
            rows.append(NewRow(RowKind.ASSISTANT, assistant(self._refusal), ref="runtime"))
            await self._finish(rows, TurnStatus.FAILED, self._refusal)
            return
        self._begin_trace(await self._journal.rows())
        try:
            self._run.granted = await self._granted()
            while (ended := await self._go()) is None:
                if await self._journal.wait():
                    return
        except (Fenced, Reload):
            raise
        except BudgetExceeded as e:
            await self._report(e)
        except TimeoutError:
            limit = f"{self._run.agent.limits.time:g} s"
            await self._fail("time", LimitReached("limits.time", limit))
        except Exception as e:  # noqa: BLE001 - the person gets a notice with an id, the log the details
            await self._fail(code_of(e), e)
        else:
            await self._answer(ended)

    async def _go(self) -> Ended | None:
        """Run as far as it goes; None when a person must answer. The time of waiting counts for no deadline."""
        limit = self._run.agent.limits.time
        self._run.deadline = self._services.clock.monotonic() + limit
        try:
            async with asyncio.timeout(limit), watched(self._run):
                return await run_agent(self._run)
        except Waiting:
            return None

    def _begin_trace(self, rows: Sequence[Row]) -> None:
        own = [row for row in rows if row.turn_id == self._journal.turn_id]
        said = [row.message.text for row in own if row.kind is RowKind.USER]
        resumed = any(row.kind is RowKind.ASSISTANT and ENDED not in row.meta for row in own)
        trace.begun(
            self._journal,
            "\n".join(said),
            model=self.model.name,
            preset=self._preset,
            resumed=resumed,
        )

    async def compact(self, topic: str) -> None:
        """Compact the session as the person asked, in a turn of its own (CMP-30), of which the view shows nothing."""
        language = self._person.language
        try:
            async with asyncio.timeout(self._run.agent.limits.time):
                done = await compact_now(self._run, topic)
        except (Fenced, Reload):
            raise
        except Exception as e:  # noqa: BLE001 - the person gets a notice with an id, the log the details
            await self._fail(code_of(e), e)
            return
        text = compacted(done.before, done.after, language) if done.summary_made else ""
        text = text or notice("compact_failed" if problem_of(done) else "compact_nothing", language)
        row = NewRow(RowKind.ASSISTANT, assistant(text), ref="runtime", meta={"hidden": True})
        await self._finish([row], TurnStatus.DONE, text)

    async def _granted(self) -> dict[str, ToolSpec]:
        """Tools of the calls that a person's late approval brought into this turn; they may be a sub-agent's."""
        rows = await self._journal.rows()
        calls = [
            call
            for row in rows
            if row.turn_id == self._journal.turn_id and "question" in row.meta
            for call in row.message.calls
        ]
        found = {call.id: self._services.registry.get(call.name) for call in calls}
        return {call_id: spec for call_id, spec in found.items() if spec is not None}

    async def stop(self, said: str = "", *, interrupted: bool = False) -> None:
        """End the turn because a person asked to: open calls are answered, and what was `said` so far stays.

        `interrupted`: by the person's next message, which the notice then names.
        """
        rows = await self._journal.rows()
        closing = unanswered(rows, self._journal.turn_id, "the person stopped this turn")
        text = notice("interrupted" if interrupted else "stopped", self._person.language)
        shown = f"{said.strip()}\n\n_{text}_" if said.strip() else text
        closing.append(NewRow(RowKind.ASSISTANT, assistant(shown), ref="runtime"))
        await self._finish(closing, TurnStatus.STOPPED, shown)

    async def quarantine(self) -> None:
        """End a turn that has stopped the process again and again (hermes#7536)."""
        await self._fail("poison", RuntimeError("three starts ended inside this turn"))

    async def _answer(self, ended: Ended) -> None:
        artifacts = await self._artifacts()
        text, message = self._words(ended)
        lacks = missing(
            await self._journal.rows(), self._journal.turn_id, text, self._person.language
        )
        text += f"\n\n_{lacks}_" if lacks else ""
        text = (f"_{ended.warning}_\n\n" if ended.warning else "") + text + self._told()
        row = NewRow(
            RowKind.ASSISTANT,
            message,
            ref=ended.model,
            meta=usage_meta(ended.last_usage, ended.estimate) | {"reason": ended.reason},
        )
        await self._finish([row], TurnStatus.DONE, text, artifacts, ended)

    def _words(self, ended: Ended) -> tuple[str, Message]:
        """What the person reads and what the transcript keeps; never an empty assistant message (ASM-15)."""
        language = self._person.language
        if ended.reason == "done" and ended.text and ended.message:
            text = ended.verdict.shown or ended.text
            return shortened(text, self._run.agent.writes, language), ended.message
        code = "empty" if ended.reason == "done" else ended.reason
        if ended.text and ended.message:
            if ended.reason in ("doom_loop", "stop_and_report"):
                return ended.text, ended.message
            return f"{ended.text}\n\n_{notice(code, language)}_", ended.message
        text = notice(code, language)
        return text, assistant(text)

    def _told(self) -> str:
        """One line about another model that had to answer, one about what was compacted (CMP-34, CHN-4).

        What was only cleared is in the trace.
        """
        language = self._person.language
        lines = [words.switched(error, language) for error in self._run.switched[:1]]
        summaries = [done for done in self._run.compacted if done.summary]
        if summaries:
            lines.append(compacted(summaries[0].before, summaries[-1].after, language))
        return "".join(f"\n\n_{line}_" for line in lines)

    async def _artifacts(self) -> tuple[ArtifactRef, ...]:
        """Files that tools of this turn made, once each, in order; sub-agents' files come with their results."""
        found: dict[str, ArtifactRef] = {}
        for row in await self._journal.rows():
            if row.turn_id == self._journal.turn_id and row.kind is RowKind.RESULT:
                for block in row.message.blocks:
                    if isinstance(block, ToolResult):
                        found |= {a.blob_id: a for a in block.artifacts}
        return tuple(found.values())

    async def _report(self, error: BudgetExceeded) -> None:
        """Stop, since a pot has no room for the next call: which one, its size, and when it begins anew."""
        text = words.exceeded(error, self._person.language)
        stored = await self._journal.rows()
        rows = unanswered(stored, self._journal.turn_id, "the budget of this turn is used up")
        meta = {"reason": "over_budget"}
        rows.append(NewRow(RowKind.ASSISTANT, assistant(text), ref="runtime", meta=meta))
        await self._finish(rows, TurnStatus.STOPPED, text)

    async def _fail(self, code: str, error: BaseException) -> None:
        error_id = secrets.token_hex(3)
        trace.failed(self._journal, error, code=code, error_id=error_id)
        log.error("turn_failed", exc_info=error, extra={"error_id": error_id, "code": code})
        text = notice(code, self._person.language, error_id)
        stored = await self._journal.rows()
        rows = unanswered(
            stored, self._journal.turn_id, "this turn was ended by an error or a limit"
        )
        rows.append(
            NewRow(RowKind.ASSISTANT, assistant(text), ref="runtime", meta={"error_id": error_id})
        )
        await self._finish(rows, TurnStatus.FAILED, text, error_id=error_id)

    async def _finish(
        self,
        rows: list[NewRow],
        status: TurnStatus,
        text: str,
        artifacts: tuple[ArtifactRef, ...] = (),
        ended: Ended | None = None,
        error_id: str | None = None,
    ) -> None:
        called = ended is not None and ended.message is not None and ended.model != PLAN
        paid = ended.last_usage if ended is not None and called else None
        model = ended.model if ended is not None and called else ""
        stored = await self._journal.rows()
        if status is not TurnStatus.DONE and (lines := brought(stored, self._journal.turn_id)):
            text, artifacts = f"{text}\n\n{lines}", artifacts or await self._artifacts()
        if hidden := put_away(self._run, stored):
            await self._journal.append([], checkpoints=hidden)
        self._end_trace(stored, text, status, paid, model)
        await self._journal.finish(rows, status, text, artifacts, usage=paid, model=model)
        self._emit(TurnEnded(status, text, artifacts, error_id))

    def _end_trace(
        self,
        rows: Sequence[Row],
        text: str,
        status: TurnStatus,
        last: Usage | None,
        model: str,
    ) -> None:
        turn = self._journal.turn_id
        first = next((row.at for row in rows if row.turn_id == turn), None)
        now = self._services.clock.now()
        seconds = 0.0 if first is None else (now - first).total_seconds()
        usage = used(rows, turn) + (last or Usage())
        trace.ended(self._journal, text, usage, seconds=seconds, status=status, model=model)


def _models(services: Services, team: Team, chosen: str) -> Callable[[str], Model]:
    """The models of a team by name; what the person has chosen stands for `auto`, also behind an alias."""

    def base(name: str) -> Model:
        return services.model(chosen or name if name == "auto" else name)

    return aliased(team.models, base, services.clock, services.sleep)


def whitelist(
    registry: Registry, names: tuple[str, ...], extra: list[ToolSpec]
) -> dict[str, ToolSpec]:
    """The tools of an agent by name, in a stable order (delegations last, as the preset lists them)."""
    found = {name: spec for name in sorted(set(names)) if (spec := registry.get(name))}
    return found | {spec.name: spec for spec in extra}
