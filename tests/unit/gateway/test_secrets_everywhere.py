"""Planted secrets: written by a person, a model and tools, they are in no sink (SCR-2 … SCR-4, FIX-4)."""

import asyncio
import json
import sqlite3
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent_core.compaction.decisions import Summary, checkpoint
from agent_core.models.scripted import Answer
from agent_core.ports import NewBlob
from agent_core.storage.statements import blob_id, load_rows
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolContext, ToolOutput, tool
from agent_core.types import (
    ArtifactRef,
    Context,
    Message,
    NewRow,
    RowKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    assistant,
)
from channels.errors import Gone
from channels.types import Address, Author, Inbound, Kind
from gateway.metrics.exposition import Exposition, Moment
from gateway.metrics.meter import Meter
from gateway.metrics.tracing import traces_to
from gateway.redact import MASK, Redactor
from gateway.storage.clean_rows import clean_blob, clean_inbound, clean_row
from gateway.storage.db import Database
from gateway.storage.schema import open_database
from tests.harness import ALICE, agent, call, team
from tests.house import START, House, on_sqlite
from tests.pace import cpu_seconds
from tests.unit.gateway.test_cli import Command, swarmgate
from tests.unit.gateway.test_journal import Office

__all__ = ["swarmgate"]
TELEGRAM = "7123456789:AAE" + "x1" * 16
PLANTED = {
    "telegram": TELEGRAM,
    "openai": "sk-proj-" + "A1b2" * 8,
    "slack": "xoxb-123456789012-abcdefghijkl",
    "discord": "M" + "T" * 23 + ".GabcDe." + "z" * 38,
    "bearer": "Bearer abcdef0123456789.xyz",
    "address": "https://alice:hunter2secret@db.example.com/x",
    "field": '{"api_key": "correct-horse-battery"}',
}
HIDDEN = {**PLANTED, "bearer": "abcdef0123456789.xyz", "address": "hunter2secret"}
HIDDEN["field"] = "correct-horse-battery"
ALL = " | ".join(PLANTED.values())


def leaks(text: str) -> list[str]:
    return [name for name, secret in HIDDEN.items() if secret in text]


def everything(file: Path) -> str:
    """Every value of every table as text."""
    conn = sqlite3.connect(file)
    tables = [row[0] for row in conn.execute("select name from sqlite_master where type = 'table'")]
    values = [
        value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        for table in tables
        for row in conn.execute(f"select * from {table}")
        for value in row
    ]
    conn.close()
    return "\n".join(values)


def leaky() -> Registry:
    """A registry with a tool whose answers, short and long, hold secrets."""

    @tool(title={"en": "Leak", "zh": "泄露"})
    async def leak(ctx: ToolContext, key: str = "", long: bool = False) -> ToolOutput:
        """Answer with secrets.

        Args:
            key: Anything.
            long: Whether the answer is long.
        """
        said = f"{'x ' * 6_000 if long else ''}{ALL}"
        return ToolOutput(said, summary=f"see {TELEGRAM}", meta={"token": "t" * 20, "url": ALL})

    return Registry([leak])


def test_the_planted_secrets_are_seen_by_the_test() -> None:
    assert leaks(ALL) == list(HIDDEN)


def test_secrets_are_in_no_table_no_request_no_reply_and_no_command(
    swarmgate: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    data = swarmgate.folder / "data"
    data.mkdir(mode=0o700)
    script = [
        Answer(
            f"I use {ALL}",
            thinking=f"the key is {ALL}",
            calls=(call("leak", "c1", key=TELEGRAM), call("leak", "c2", long=True)),
        ),
        f"Your secrets: {ALL}",
        "the second answer",
    ]

    meter, exporter = Meter(), InMemorySpanExporter()
    traces, close = traces_to(SimpleSpanProcessor(exporter))

    async def run() -> tuple[str, list[str]]:
        db = await open_database(f"sqlite:///{data / 'swarmgate.db'}")
        try:
            the_team = team(agent(tools=("leak",)))
            house = House(db, script, the_team=the_team, observers=[meter, traces])
            house.turns.services = replace(house.turns.services, registry=leaky())
            async with house:
                shown = await house.ask(f"my secrets: {ALL}")
                shown += await house.ask(f"/remind in 10m {ALL}")
                requests = repr([r.messages for r in house.model.requests])
                return requests, shown
        finally:
            await db.close()

    requests, shown = asyncio.run(run())
    assert leaks(requests) == []
    assert leaks("\n".join(shown)) == []
    assert leaks(everything(data / "swarmgate.db")) == []
    session = str(swarmgate.json("sessions", "list")[0]["id"])
    for command in (("show", session), ("export", session), ("export", session, "--trace")):
        assert leaks(swarmgate("sessions", *command)) == []
    assert leaks(swarmgate("archive", "show", f"{session}/r1-r99")) == []
    assert leaks(capsys.readouterr().err) == []
    figures, _ = Exposition(meter).text(Moment(None, 0.0, 0, 1), "")
    assert b'swarmgate_tool_calls_total{outcome="ok",tool="leak"} 2.0' in figures
    assert leaks(figures.decode()) == []
    close()
    spans = "".join(span.to_json() for span in exporter.get_finished_spans())
    assert "execute_tool leak" in spans
    assert leaks(spans) == []
    kept = everything(data / "swarmgate.db")
    assert MASK in kept
    assert "db.example.com" in kept  # only the secret goes


@on_sqlite
async def test_what_a_platform_says_of_a_refused_reply_is_kept_clean(db: Database) -> None:
    async with House(db, ["hi"]) as house:
        house.channel.fail("1", Gone(f"404 at https://api.telegram.org/bot{TELEGRAM}/sendMessage"))
        await house.ask("hello")
        kept = await house.one("select error from outbox")
        assert kept == f"404 at https://api.telegram.org/bot{MASK}/sendMessage"


@on_sqlite
async def test_rows_traces_checkpoints_and_blobs_are_written_clean(
    db: Database, tmp_path: Path
) -> None:
    journal = await Office(db).open("hello")
    journal.trace("tool_result", result=ALL, args={"password": "p" * 9, "max_tokens": 12}, n=3)
    data = ALL.encode()
    blob = NewBlob(blob_id(ALICE, data), "a.txt", "text/plain", data)
    picture = NewBlob("ab" * 32, "a.png", "image/png", b"\x89PNG" + TELEGRAM.encode())
    made = checkpoint(Summary(ALL, "structured", keywords=(TELEGRAM,)), until=2)
    row = NewRow(RowKind.RESULT, Message("user", (ToolResult("c", "t", ALL),)), meta={"note": ALL})
    (added,) = await journal.append([row], blobs=[blob, picture], checkpoints=[made])
    assert leaks(repr(added)) == []  # what the run goes on with is what was stored
    assert leaks(repr(await journal.checkpoints())) == []
    stored = await db.read(lambda conn: load_rows(conn, journal.session_id))
    assert stored[-1] == added
    assert leaks((await journal.blob(blob.id)).decode()) == []
    assert await journal.blob(picture.id) == picture.data
    kept = everything(tmp_path / "test.db").replace(picture.data.decode(errors="replace"), "")
    assert leaks(kept) == []
    assert '"max_tokens":12' in kept
    assert "p" * 9 not in kept


def test_every_kind_of_block_is_cleaned_and_the_rest_stays() -> None:
    blocks = (
        Text(ALL),
        Context(ALL, "recall"),
        Thinking(ALL, "signature-of-the-provider"),
        ToolUse("c1", "t", {"deep": [{"text": ALL}], "token": "BTC", "password": "abc"}, None),
        ToolUse("c2", "t", None, f'{{"half": "{ALL}'),
        ToolResult("c1", "t", ALL, artifacts=(ArtifactRef("b", "n", "text/csv", ALL),)),
    )
    row = clean_row(Redactor(), NewRow(RowKind.ASSISTANT, Message("assistant", blocks), ref="m"))
    assert leaks(repr(row)) == []
    clean = row.message.blocks
    assert isinstance(clean[1], Context)
    assert clean[1].kind == "recall"
    assert isinstance(clean[2], Thinking)
    assert clean[2].signature is None  # it was of other words
    assert isinstance(clean[3], ToolUse)
    assert clean[3].args is not None
    assert (clean[3].id, clean[3].args["token"], clean[3].args["password"]) == ("c1", "BTC", MASK)


def test_a_row_without_secrets_is_the_very_same_object() -> None:
    row = NewRow(
        RowKind.ASSISTANT,
        assistant("The price: 12:30, 180.1 (see https://example.com).", call("echo", words="hi")),
        meta={"usage": [1, 2, 3, 4, 0.1]},
    )
    assert clean_row(Redactor(["known-secret"]), row) is row
    blob = NewBlob("x", "a.txt", "text/plain", "kein Geheimnis".encode("utf-16"))
    assert clean_blob(Redactor(), blob) is blob


def test_what_a_person_wrote_is_cleaned_and_what_a_button_carries_is_not() -> None:
    address = Address("telegram", "777", "1")
    told: dict[str, Any] = {"address": address, "key": "k", "author": Author("1"), "at": START}
    said = Inbound(text=ALL, fields=(("amount", TELEGRAM),), **told)
    assert leaks(repr(clean_inbound(Redactor(), said))) == []
    button = Inbound(text=f"approve:{TELEGRAM}", kind=Kind.BUTTON, **told)
    assert clean_inbound(Redactor(), button) is button


def test_a_message_costs_microseconds() -> None:
    """Measured 3 µs for a short message and 0.2 ms for 8,000 characters of JSON."""
    redactor = Redactor([f"known-value-{n}" for n in range(12)])
    row = NewRow(RowKind.USER, Message("user", (Text("how is GOOG doing today? 12:30"),)))
    quotes = json.dumps([{"date": "2026-01-02", "close": 123.45, "name": "a.b:c"}] * 160)[:8_000]
    result = NewRow(RowKind.RESULT, Message("user", (ToolResult("c", "t", quotes),)))
    assert cpu_seconds(lambda: [clean_row(redactor, row) for _ in range(100)]) / 100 < 100e-6
    assert cpu_seconds(lambda: clean_row(redactor, result)) < 3e-3


@pytest.mark.parametrize(
    "hostile",
    [
        "1" * 100_000 + ":" + "a" * 31,
        "api_key=" + "a" * 100_000,
        '"password": "' * 8_000,
        "://" + "a" * 100_000,
        "sk-" * 30_000,
        "token=" * 15_000,
        "bearer " * 14_000,
        "password" + " " * 100_000,
        "M" * 100_000 + ".",
        "eyJ" * 30_000,
        "-----BEGIN PRIVATE KEY-----" * 4_000,
    ],
    ids=range(11),
)
def test_a_hostile_text_costs_no_more_than_its_length(hostile: str) -> None:
    began = time.process_time()
    Redactor().text(hostile)
    assert time.process_time() - began < 1.0
