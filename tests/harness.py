"""One turn on a real database with a scripted model: for tests of the runtime and the journal."""

import asyncio
import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, text

from agent_core.compaction.request import compact
from agent_core.events import Event
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import Model
from agent_core.runtime.run import Person
from agent_core.runtime.session import Services, Turn
from agent_core.runtime.team import Agent, Delegation, Limits, Team
from agent_core.storage.statements import load_rows
from agent_core.tools.ask import ask_tools
from agent_core.tools.notes import notes_tools
from agent_core.tools.registry import Registry
from agent_core.tools.spec import Artifact, ToolContext, ToolFailure, ToolOutput, ToolSpec, tool
from agent_core.tools.tasks import task_tools
from agent_core.types import Row, RowKind, ToolUse
from channels.types import Address, Author, Inbound
from gateway.clock import SystemClock
from gateway.engine.begin import Place, begin
from gateway.engine.begun import Begun, Chosen
from gateway.engine.fence import Fence
from gateway.engine.journal import TurnJournal
from gateway.engine.upcoming import hold
from gateway.inbound import conversation, inbox
from gateway.outbound.draft import Draft
from gateway.outbound.outbox import REPLY
from gateway.people import access
from gateway.settings.access import Access
from gateway.storage.db import Database
from gateway.storage.tables import InboxStatus

ALICE = "telegram:1"
BOB = "telegram:2"
PLACE = Place("UTC", "auto")


def judged(
    conn: Connection, policy: Access, person: str, name: str, now: dt.datetime
) -> access.Verdict:
    """Somebody writes: what `judge` says of them as they stand."""
    return access.judge(conn, policy, person, name, now, access.standing(conn, person))


def place(chat: int = 1) -> Address:
    return Address("telegram", "777", str(chat))


def message(
    words: str, *, key: str = "m:1:1", author: str = "1", chat: int = 1, private: bool = True
) -> Inbound:
    return Inbound(
        place(chat), key, Author(author), words, dt.datetime.now(dt.UTC), private=private
    )


async def post(db: Database, inbound: Inbound) -> int:
    """Store a message as the intake does, without judging it."""
    author = f"{inbound.address.channel}:{inbound.author.id}"

    def work(conn: Connection) -> int:
        now = dt.datetime.now(dt.UTC)
        lane = conversation.ensure(
            conn, inbound.address, private=inbound.private, owner=author, now=now
        )
        return inbox.insert_row(conn, inbound, lane.id, author, InboxStatus.NEW, now) or 0

    return await db.write(work)


async def begin_next(db: Database, chat: int = 1) -> Begun | None:
    now = dt.datetime.now(dt.UTC)
    return await db.write(
        lambda conn: begin(
            conn, hold(conn, str(place(chat))), PLACE, lambda lane: Chosen("test"), now
        )
    )


def agent(name: str = "supervisor", tools: Sequence[str] = (), **more: object) -> Agent:
    limits = Limits(**{"time": 30.0, "tool_rounds": 15, **more.pop("limits", {})})  # type: ignore[arg-type]
    fields = {
        "role": name.title(),
        "prompt": f"You are {name}.",
        "tools": tuple(tools),
        "limits": limits,
    }
    return Agent(name, **fields | more)  # type: ignore[arg-type]


def team(supervisor: Agent | None = None, *agents: Agent, **delegation: int) -> Team:
    lead = supervisor or agent()
    return Team(
        "test",
        "0" * 64,
        lead,
        {a.id: a for a in agents},
        Delegation(**delegation) if delegation else Delegation(),
    )


def call(name: str, call_id: str = "c1", **args: object) -> ToolUse:
    return ToolUse(call_id, name, args)


def delegate(to: str, task: str = "look", call_id: str = "d1", **more: object) -> ToolUse:
    return ToolUse(call_id, f"delegate_to_{to}", {"task": task, **more})


@dataclass
class Toolbox:
    """Tools that note their calls: `echo` and `slow` are safe, `order` is neither safe nor idempotent.

    `pay` needs an approval.
    """

    calls: list[tuple[str, str]] = field(default_factory=list)
    running: int = 0
    most: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def registry(self) -> Registry:
        own = [self._echo(), self._slow(), self._order(), self._fail(), self._hang(), self._pay()]
        own += [self.study(), self.ship()]
        return Registry([*own, *ask_tools(), *notes_tools(), *task_tools(), compact])

    def _pay(self) -> ToolSpec:
        @tool(
            title={"en": "Pay", "zh": "付款"},
            concurrency_safe=False,
            idempotent=False,
            requires_approval=True,
            effect="trade",
        )
        async def pay(ctx: ToolContext, to: str, amount: int = 1) -> ToolOutput:
            """Pay somebody.

            Args:
                to: Whom.
                amount: How much.
            """
            self.calls.append(("pay", f"{to} {amount}"))
            return ToolOutput(f"paid {amount} to {to}")

        return pay

    def study(self) -> ToolSpec:
        @tool(title={"en": "Study", "zh": "研究"}, timeout=50, background=True)
        async def study(ctx: ToolContext, about: str = "x", how: str = "well") -> ToolOutput:
            """Take long, until the gate opens.

            Args:
                about: What about.
                how: In which way it ends.
            """
            self.calls.append(("study", about))
            ctx.progress(f"reading {about}", 0.4)
            await self.gate.wait()
            if how == "cancelled":
                raise asyncio.CancelledError
            if how == "broken":
                raise RuntimeError("secret internals")
            chart = Artifact(f"{about}.png", "image/png", b"chart of " + about.encode())
            return ToolOutput(f'{{"found": "{about}"}}', f"found {about}", (chart,))

        return study

    def ship(self) -> ToolSpec:
        @tool(
            title={"en": "Ship", "zh": "发货"},
            background=True,
            idempotent=False,
            effect="write",
            concurrency_safe=False,
        )
        async def ship(ctx: ToolContext, what: str = "x") -> ToolOutput:
            """Change something outside, slowly.

            Args:
                what: What to ship.
            """
            self.calls.append(("ship", what))
            await self.gate.wait()
            return ToolOutput(f"shipped {what}")

        return ship

    def _echo(self) -> ToolSpec:
        @tool(title={"en": "Echo", "zh": "回声"})
        async def echo(ctx: ToolContext, words: str = "hi") -> ToolOutput:
            """Say it again.

            Args:
                words: What to say.
            """
            self.calls.append(("echo", words))
            return ToolOutput(f"echo: {words}", summary=words)

        return echo

    def _slow(self) -> ToolSpec:
        @tool(title={"en": "Slow", "zh": "慢"})
        async def slow(ctx: ToolContext, n: int = 0, seconds: float = 0.02) -> ToolOutput:
            """Take a while.

            Args:
                n: Which one.
                seconds: How long.
            """
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(seconds)
            self.running -= 1
            self.calls.append(("slow", str(n)))
            return ToolOutput(f"slow {n}")

        return slow

    def _order(self) -> ToolSpec:
        @tool(
            title={"en": "Order", "zh": "下单"},
            concurrency_safe=False,
            idempotent=False,
            effect="trade",
        )
        async def order(ctx: ToolContext, n: int = 0) -> ToolOutput:
            """Change the world once.

            Args:
                n: Which one.
            """
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0)
            self.running -= 1
            self.calls.append(("order", str(n)))
            return ToolOutput(f"ordered {n}")

        return order

    def _fail(self) -> ToolSpec:
        @tool(title={"en": "Fail", "zh": "失败"})
        async def fail(ctx: ToolContext, how: str = "said") -> ToolOutput:
            """Fail.

            Args:
                how: In which way.
            """
            if how == "said":
                raise ToolFailure("no such thing; try another")
            raise RuntimeError("secret internals")

        return fail

    def _hang(self) -> ToolSpec:
        @tool(title={"en": "Hang", "zh": "挂起"}, timeout=0.05)
        async def hang(ctx: ToolContext) -> ToolOutput:
            """Never end."""
            await self.gate.wait()
            return ToolOutput("late")

        return hang


class Desk:
    """A place to run turns at: database, tools, model and the events of the last turn."""

    def __init__(self, db: Database, script: object, *, chat: int = 1) -> None:
        self.db = db
        self.chat = chat
        self.tools = Toolbox()
        self.model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)  # type: ignore[arg-type]
        self.events: list[Event] = []
        self.naps: list[float] = []
        self.fresh = True
        self.journal: TurnJournal | None = None

    def models(self, name: str) -> Model:
        return self.model

    async def nap(self, seconds: float) -> None:
        self.naps.append(seconds)

    async def turn(self, the_team: Team, on_event: Callable[[Event], None] | None = None) -> Turn:
        """The next turn of the chat, begun and ready to run."""
        begun = await begin_next(self.db, self.chat)
        assert begun is not None
        self.journal = self.journal_of(begun)
        services = Services(self.tools.registry(), self.models, SystemClock(), self.nap)

        def emit(event: Event) -> None:
            self.events.append(event)
            if on_event:
                on_event(event)

        return Turn(services, the_team, self.journal, Person(begun.item.author), emit)

    def journal_of(self, begun: Begun) -> TurnJournal:
        def fresh() -> bool:
            was, self.fresh = self.fresh, False
            return was

        return TurnJournal(
            Fence(self.db, SystemClock(), begun.lane.id, begun.epoch, self.nap),
            session_id=begun.session_id,
            turn_id=begun.turn_id,
            owner=begun.item.author,
            rows=begun.rows,
            horizon=begun.horizon,
            reply=Draft(begun.turn_id, REPLY, begun.item.author, begun.lane.address, ""),
            fresh=fresh,
            checkpoints=begun.checkpoints,
        )

    async def ask(self, words: str, the_team: Team, *, key: str = "m:1:1") -> str:
        """Post, run to the end, and return what the person reads."""
        await post(self.db, message(words, key=key, chat=self.chat))
        turn = await self.turn(the_team)
        await turn.run()
        return self.reply

    @property
    def reply(self) -> str:
        assert self.journal is not None
        assert self.journal.ready is not None
        return self.journal.ready[1].text

    async def rows(self, child: str = "") -> list[Row]:
        assert self.journal is not None
        session = self.journal.session_id + (f"/{child}" if child else "")
        return await self.db.read(lambda conn: load_rows(conn, session))

    async def kinds(self, child: str = "") -> list[RowKind]:
        return [row.kind for row in await self.rows(child)]

    async def count(self, table: str, where: str = "1=1") -> int:
        query = text(f"select count(*) from {table} where {where}")
        return await self.db.read(lambda conn: conn.execute(query).scalar_one())


__all__ = ["ALICE", "BOB", "Answer", "Desk", "ScriptedModel", "agent", "call", "delegate", "team"]
