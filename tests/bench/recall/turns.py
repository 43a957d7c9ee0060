"""What a turn gains by memory: whole turns, from a person's message to its answer, in three houses turn by turn.

One house knows nobody, one has rows of its own person in the index, one has the same among a crowd's. The answers come
at once from a scripted model, so what differs is what the databases cost. What is recalled, and its scores, must not
differ between the last two. The three take each question one after the other, in an order that changes: what else the
machine does falls on all of them.
"""

import asyncio
import datetime as dt
import random
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from sqlalchemy import Connection, create_engine

from agent_core.memory.found import FoundRow, find_rows
from agent_core.memory.question import question
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.storage.recall_index import index_new_rows
from agent_core.storage.statements import append_rows, ensure_session
from agent_core.types import Context, Message, NewRow, RowKind, Text, Usage
from channels.base import Receipt
from channels.types import Outbound
from gateway.storage.schema import open_database, prepare
from tests.bench.recall.crowd import add_crowd
from tests.bench.recall.sets import Corpus
from tests.house import START, House, settings
from tests.loopback import Loopback

OWNER, AUTHOR = "telegram:1", "1"
ROWS = 10_000  # that the person has
SESSION = 200  # rows of one of the person's earlier conversations
CHAT = 10  # turns of one conversation that is measured
WARM = 6  # turns that are not counted
GAIN_MS = 5.0
ANSWER = Answer(
    "Here is a short answer in one paragraph, as a chat has many of them.",
    usage=Usage(1, 1, usd=0.0),
)
OFTEN = settings(sessions={"rate_limit": {"messages_per_minute": 1_000_000}})


@dataclass(frozen=True, slots=True)
class Size:
    """Rows that are indexed: of the person, of others."""

    own: int = 0
    crowd: int = 0


EMPTY, OWN, CROWDED = "empty", "own rows", "among others"


@dataclass
class Spent:
    """What the turns of one house took, in ms each, and what was recalled for them."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    recalled: list[str] = field(default_factory=list)
    scores: list[list[FoundRow]] = field(default_factory=list)

    def over(self, other: "Spent") -> list[float]:
        """Milliseconds that each turn took longer than the same one in another house."""
        return [mine - its for mine, its in zip(self.wall, other.wall, strict=True)]


class Platform(Loopback):
    """Loopback that says when an answer is there. No previews: they are no part of what memory costs."""

    def __init__(self) -> None:
        super().__init__(previews=False)
        self.answered = asyncio.Event()

    async def send(self, out: Outbound, receipt: Receipt) -> None:
        await super().send(out, receipt)
        self.answered.set()


def fill(path: Path, size: Size, corpora: Sequence[Corpus]) -> None:
    """A database with so many rows, through the product's own tables and index."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as conn:
        prepare(conn)
        _tell(conn, [line.text for corpus in corpora for line in corpus.lines], size.own)
        conn.commit()
        add_crowd(conn, size.crowd, transcripts=True)
        conn.commit()
    engine.dispose()


def _tell(conn: Connection, lines: Sequence[str], rows: int) -> None:
    """Conversations of the person and the assistant, stored and indexed; the lines again where they are too few."""
    said = [lines[n % len(lines)] for n in range(rows)]
    for number, first in enumerate(range(0, rows, SESSION), 1):
        session, at = f"earlier {number}", START - dt.timedelta(hours=number)
        made = [
            NewRow(RowKind.ASSISTANT, Message("assistant", (Text(text),)))
            if n % 2
            else NewRow(RowKind.USER, Message("user", (Text(text),)))
            for n, text in enumerate(said[first : first + SESSION])
        ]
        ensure_session(conn, session, OWNER, at)
        append_rows(conn, session, 0, 0, made, at)
        while index_new_rows(conn, session, lambda _: "private"):
            pass


async def measure(
    folder: Path, corpora: Sequence[Corpus], turns: int, sizes: dict[str, Size]
) -> dict[str, Spent]:
    """So many turns in a house of each size."""
    spent = {name: Spent() for name in sizes}
    asked = [q.text for corpus in corpora for q in corpus.questions]
    dice = random.Random(1)
    async with AsyncExitStack() as stack:
        houses = {}
        for name, size in sizes.items():
            path = folder / f"{name}.db"
            await asyncio.to_thread(fill, path, size, corpora)
            db = await open_database(f"sqlite:///{path}")
            stack.push_async_callback(db.close)
            house = House(db, ScriptedModel(lambda _: ANSWER), rules=OFTEN, channel=Platform())
            houses[name] = await stack.enter_async_context(house)
        for number, words in enumerate(dice.sample(asked, WARM + turns)):
            for name in dice.sample(list(houses), len(houses)):
                counted = spent[name] if number >= WARM else Spent()
                await _turn(houses[name], words, str(number // CHAT), counted)
    return spent


async def _turn(house: House, words: str, chat: str, spent: Spent) -> None:
    """One turn, from the message to the answer; the CPU until nothing of it runs any more."""
    platform, model = house.channel, house.model
    assert isinstance(platform, Platform)
    platform.answered.clear()
    cpu, wall = time.process_time(), time.perf_counter()
    await house.say(words, author=AUTHOR, chat=chat)
    await platform.answered.wait()
    spent.wall.append(1000 * (time.perf_counter() - wall))
    await house.quiet()
    spent.cpu.append(1000 * (time.process_time() - cpu))
    spent.recalled.append(_recalled(model.requests[-1]))
    asked = question(words, (), START)
    spent.scores.append(
        await house.db.read(lambda conn: find_rows(conn, OWNER, "private", asked, limit=32))
    )


def _recalled(request: ModelRequest) -> str:
    blocks = request.messages[-1].blocks
    return "\n".join(b.text for b in blocks if isinstance(b, Context) and b.kind == "recall")


async def measured(
    folder: Path, corpora: Sequence[Corpus], turns: int, crowd: int
) -> dict[str, object]:
    """Fill, measure and print; returns the figures."""
    sizes = {EMPTY: Size(), OWN: Size(ROWS), CROWDED: Size(ROWS, crowd)}
    began = time.perf_counter()
    spent = await measure(folder, corpora, turns, sizes)
    figures = report(spent, sizes)
    print(f"{time.perf_counter() - began:.0f} s in all")
    return figures


def report(spent: dict[str, Spent], sizes: dict[str, Size]) -> dict[str, object]:
    """Print the table; returns the figures for the last line."""
    heads = ("own rows", "others", "p50 ms", "p95 ms", "CPU ms", "gain p50")
    print(f"{'a turn in a house':<20}" + "".join(f"{head:>11}" for head in heads))
    figures: dict[str, object] = {}
    for name, size in sizes.items():
        own, gain = spent[name], median(spent[name].over(spent[EMPTY]))
        p50, p95, cpu = median(own.wall), quantiles(own.wall, n=20)[-1], median(own.cpu)
        times = "".join(f"{value:>11.2f}" for value in (p50, p95, cpu, gain))
        print(f"{name:<20}{size.own:>11,}{size.crowd:>11,}{times}")
        figures[name] = {"p50_ms": p50, "p95_ms": p95, "cpu_ms": cpu, "gain_ms": gain}
    own, crowded = spent[OWN], spent[CROWDED]
    same = own.recalled == crowded.recalled and own.scores == crowded.scores
    with_something = sum(map(bool, crowded.recalled))
    print(
        f"{with_something} of {len(crowded.recalled)} turns were told what was recalled;"
        f" with other people's rows it is {'the same, and so is every score' if same else 'NOT the same'}"
    )
    return figures | {"same": same}
