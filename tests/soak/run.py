"""One soak: a crowd talks to gateway processes through bad weather, and they are killed now and then."""

import asyncio
import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_core.types import decode
from tests.scenario.process import Gateway
from tests.scenario.stage import Stage
from tests.soak.crowd import Said, answered, asked, bursts
from tests.soak.twins import SoakModel, SoakTelegram, forget_calls, mark_of

FAILED = "(id "  # at the end of what a person reads when the model cannot answer
IDLE = "10s"  # that the model may be silent
SETTLE_S = 90.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do. `rate`: of each kind of fault. `window`: messages under way at a time. `seconds`: the bound of it.

    `replicas`: gateways on one PostgreSQL; a kill takes any of them.
    """

    messages: int = 20_000
    sessions: int = 2_000
    kills: int = 20
    rate: float = 0.01
    window: int = 64
    seed: int = 1
    seconds: float = 600.0
    database: str | None = None
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class Sample:
    """The first process at a moment: seconds since the beginning, messages answered, MB, open files, starts so far."""

    at: float
    answered: int
    rss_mb: float
    files: int
    starts: int


@dataclass
class Seen:
    """What a run leaves for the checker. `began` and `ended` are monotonic seconds.

    `others`: replicas beside the gateway of the stage.
    `cut`: digests of model calls that had ended, but were not stored when a kill came: they may be made again.
    `broken`: how many kills came while a message was being answered; one that breaks three starts is set aside.
    """

    plan: Plan
    stage: Stage
    telegram: SoakTelegram
    model: SoakModel
    began: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    said: dict[Said, float] = field(default_factory=dict)
    waits: dict[Said, float] = field(default_factory=dict)  # seconds to the first answer
    redelivered: int = 0
    kills: int = 0
    cut: set[str] = field(default_factory=set)
    broken: Counter[Said] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)
    others: list[Gateway] = field(default_factory=list)
    exit_codes: list[int] = field(default_factory=list)
    late: str = ""  # what did not come to its end in time

    @property
    def gateways(self) -> list[Gateway]:
        """All of them."""
        return [self.stage.gateway, *self.others]

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What all of them said."""
        return [line for gateway in self.gateways for line in gateway.lines]


class Soak:
    """A run: half of the messages come while the process is killed again and again, the others in one life of it."""

    def __init__(self, plan: Plan, seen: Seen) -> None:
        self.plan = plan
        self.seen = seen
        self.gateway = seen.stage.gateway
        self._dice = random.Random(f"{plan.seed} run")
        self._open: set[Said] = set()
        self._stored: set[str] = set()
        self._read = self._looked = (
            0  # the last row of a transcript, and how many calls, at the kill before
        )
        self._moved = asyncio.Event()
        self._steady = asyncio.Event()

    async def run(self) -> None:
        """To its end, or to the end of its time."""
        self.seen.telegram.hear(self._hear)
        await asyncio.gather(*(gateway.start() for gateway in self.seen.gateways))
        beside = [asyncio.create_task(work) for work in (self._sample(), self._kill())]
        try:
            async with asyncio.timeout(self.plan.seconds):
                await self._talk()
            await beside[1]
            await self._settle()
        except TimeoutError:
            self.seen.late = f"{len(self._open)} messages were not answered in time"
        finally:
            for task in beside:
                task.cancel()
            outcomes = await asyncio.gather(*beside, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        self.seen.ended = time.monotonic()
        running = [gateway for gateway in self.seen.gateways if gateway.running]
        self.seen.exit_codes = [await gateway.terminate() for gateway in running]

    # What people do ----------------------------------------------------------------------------------------------

    async def _talk(self) -> None:
        telegram = self.seen.telegram
        for burst in bursts(self.plan.seed, self.plan.sessions, self.plan.messages):
            await self._until(lambda: len(self._open) < self.plan.window)
            if len(self.seen.said) >= self.plan.messages // 2:
                await self._steady.wait()
            for said, text in burst:
                self._open.add(said)
                self.seen.said[said] = time.monotonic()
                telegram.say(said.chat, text)
                self._redeliver()
        await self._until(lambda: not self._open)

    def _redeliver(self) -> None:
        """Now and then, hand an update over once more that was confirmed a little while ago.

        Before one that was not, others of its chat might not have been stored: it would come out of order.
        """
        if self._dice.random() >= self.plan.rate:
            return
        updates = self.seen.telegram.state.updates
        confirmed = [n for n in updates.delivered[-200:] if n not in updates.pending]
        if confirmed:
            self.seen.telegram.redeliver(self._dice.choice(confirmed[-20:]))
            self.seen.redelivered += 1

    def _hear(self, chat: int, text: str) -> None:
        """A message of the bot is visible."""
        said = answered(text)
        if said is None and FAILED in text:  # it says that it failed: the oldest one in its chat
            said = min((open_ for open_ in self._open if open_.chat == chat), default=None)
        if said in self._open:
            self._open.discard(said)
            self.seen.waits[said] = time.monotonic() - self.seen.said[said]
            self._moved.set()

    async def _until(self, true: Any) -> None:
        while not true():
            self._moved.clear()
            await self._moved.wait()

    # What happens to the process ---------------------------------------------------------------------------------

    async def _kill(self) -> None:
        """SIGKILL at random moments of the first half."""
        first_half = self.plan.messages // 2
        moments = sorted(self._dice.randrange(first_half) for _ in range(self.plan.kills))
        for moment in moments:
            await self._until(lambda due=moment: len(self.seen.waits) >= min(due, first_half - 1))
            await asyncio.sleep(self._dice.uniform(0.0, 0.5))
            doomed = self._dice.choice(self.seen.gateways)
            await doomed.kill()
            self.seen.kills += 1
            self._note_broken()
            self._note_cut()
            await doomed.start()
        self._steady.set()

    def _note_broken(self) -> None:
        """Which turns has this kill broken? Beside other replicas: at most these."""
        rows = self.gateway.rows("select body from inbox where status = 1")
        self.seen.broken.update(filter(None, (asked(json.loads(r.body)["text"]) for r in rows)))

    def _note_cut(self) -> None:
        """One is dead: which of the calls that ended since the last time were not stored?"""
        query = f"select id, body from transcript where kind = 'assistant' and id > {self._read}"
        for row in self.gateway.rows(query):
            self._read = max(self._read, row.id)
            message = decode(row.body)
            self._stored |= {message.text, *(call.id for call in message.calls)}
        ended = self.seen.model.ended
        new, self._looked = ended[self._looked :], len(ended)
        self.seen.cut |= {a.digest for a in new if mark_of(a) not in self._stored}

    async def _sample(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            forget_calls(self.seen.telegram, self.seen.model)
            if self.gateway.running:
                self._look(self.gateway.pid)

    def _look(self, pid: int) -> None:
        try:
            status = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
            files = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
        except FileNotFoundError:  # killed in this moment
            return
        rss = next((int(x.split()[1]) / 1024 for x in status if x.startswith("VmRSS")), 0.0)
        at, done = time.monotonic() - self.seen.began, len(self.seen.waits)
        self.seen.samples.append(Sample(at, done, rss, files, self.gateway.starts))

    async def _settle(self) -> None:
        """Calm weather; wait until nothing is open any more."""
        for twin in (self.seen.telegram, self.seen.model):
            assert twin.weather is not None
            twin.weather.calm = True
        try:
            await self.seen.stage.settled(SETTLE_S)
        except TimeoutError:
            left = self.seen.stage.open_rows()
            self.seen.late = f"{left} rows were open {SETTLE_S:g} s after the last answer"


def settings(plan: Plan) -> dict[str, Any]:
    """Each message has a turn and an answer of its own, and neither rates nor budgets stand in its way."""
    more: dict[str, Any] = {} if plan.database is None else {"database": plan.database}
    if plan.replicas > 1:
        more["engine"] = {"beat_s": 0.5, "stale_s": 3.0}
    return more | {
        "sessions": {"while_busy": "queue", "rate_limit": {"messages_per_minute": 1_000_000}},
        "budgets": {"user_day": {"usd": 100_000}, "day": {"usd": 1_000_000}},
    }


def replica(stage: Stage, folder: Path) -> Gateway:
    """One more gateway of the same installation, with a data folder of its own."""
    folder.mkdir()
    presets = {"presets_dir": str(stage.gateway.folder / "presets")}
    return Gateway(
        folder, json.loads(json.dumps(stage.gateway.settings | presets)), stage.gateway.env
    )


async def soak(folder: Path, plan: Plan) -> Seen:
    """Run it in an empty folder. The process has ended when this returns; its database is there to be read."""
    async with (
        SoakTelegram(plan.seed, plan.rate) as telegram,
        SoakModel(plan.seed, plan.rate) as model,
    ):
        assert isinstance(telegram, SoakTelegram)
        assert isinstance(model, SoakModel)
        stage = Stage(folder, telegram, model, settings(plan))
        preset = folder / "presets" / "scenario.yaml"
        hurried = preset.read_text("utf-8").replace(
            "limits: {", f"limits: {{idle_timeout: {IDLE}, "
        )
        preset.write_text(hurried, "utf-8")
        beside = [replica(stage, folder / f"replica{n}") for n in range(1, plan.replicas)]
        seen = Seen(plan, stage, telegram, model, others=beside)
        try:
            await Soak(plan, seen).run()
        finally:
            for gateway in seen.gateways:
                await gateway.close()
    return seen
