"""Bob walks every address and every command with Alice's ids in his hands, and finds and changes nothing of hers.

The walk is made of the server's own routes and of the registry of commands, the planting of the tables themselves:
what is added to any of them is walked, or the test says what is missing.
"""

import datetime as dt
import itertools
import json
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import Column, Connection, Table, TypeDecorator, insert, select
from sqlmodel import SQLModel

from gateway.commands.commands import MENU
from gateway.console.plan import ACTIONS, VIEWS
from gateway.console.roles import may
from tests.unit.gateway.front_house import FrontHouse, front_house

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ALICE, BOB = "web:alice", "web:bob"
SEARCH, HERS = (
    "kumquat",
    "quince",
)  # what Bob looks for, and what stands beside it and he never writes
WORDS = f"{SEARCH} {HERS}"
OWNERS = ("owner", "author", "principal", "person_id")
# What belongs to operators, or to nobody; and what others make of the rows that are planted.
NOT_HERS = {
    "console_session",
    "console_audit",
    "preset_eval",
    "web_code",
    "web_ended",
    "trading_halt",
    "pairing",
    "link",
    "link_code",
    "recall_space",
}
NOW = dt.datetime.now(dt.UTC)
_JSON = ("body", "args", "meta", "answer", "condition")
_LISTS = ("options", "approvers", "ids")
_STATES = {
    ("question", "kind"): "approval",
    ("question", "status"): "open",
    ("question", "approvers"): json.dumps([ALICE]),
    ("question", "tool"): "pay",
    ("schedule", "kind"): "remind",
    ("task", "state"): "done",
    ("memory", "kind"): "preference",
    ("trade_order", "status"): "open",
    ("trade_order", "mode"): "paper",
    ("trace", "event"): "final",
    ("turn", "status"): "done",
    ("memory", "scope"): "private",
    ("blob", "media_type"): "text/plain",
}
FIRST = 7_000_000  # of the numbers that planted rows have, so that none is one of Bob's
ABSENT = 7_900_000
ASKED = ("memory", "question", "schedule", "alert", "trade_order")  # whose numbers commands know
APART = ("/chat/sessions", "/login", "/login/again")  # what is made anew, and what is told at times


@dataclass
class Hers:
    """Alice's life here. `ids` are all that lead to it, numbers and texts."""

    session: str
    place: str
    ids: dict[str, str] = field(default_factory=dict)


def tables() -> list[Table]:
    """Those whose rows are somebody's."""
    found = SQLModel.metadata.sorted_tables
    return [t for t in found if owner_of(t) and t.name not in NOT_HERS]


def owner_of(table: Table) -> str | None:
    """The column that says whose a row is."""
    return next((name for name in OWNERS if name in table.c), None)


def kind_of(column: Column[Any]) -> type:
    """What a column holds."""
    own = column.type
    return (own.impl_instance if isinstance(own, TypeDecorator) else own).python_type


def value_of(table: Table, name: str, known: dict[str, Any]) -> Any:
    """A value for a column of a planted row."""
    column = table.c[name]
    kind = kind_of(column)
    if (table.name, name) in _STATES:
        return _STATES[table.name, name]
    if name in known:
        return known[name]
    if name in _JSON:
        return json.dumps({"said": WORDS})
    if name in _LISTS:
        return "[]"
    if kind is str:
        return {"symbol": "NVDA", "codes": "NVDA", "currency": "USD"}.get(name, WORDS)
    made = {
        int: 1,
        float: 1.0,
        bool: False,
        bytes: WORDS.encode(),
        dt.datetime: NOW,
        dt.date: NOW.date(),
    }
    return None if column.nullable else made[kind]


def plant(conn: Connection, hers: Hers) -> None:
    """A row of Alice's in every table whose rows are somebody's and that has none of hers yet."""
    turn = conn.exec_driver_sql(f"select max(id) from turn where principal = '{ALICE}'").scalar()
    known: dict[str, Any] = dict.fromkeys(OWNERS, ALICE)
    known |= {"session_id": hers.session, "call_session": hers.session, "turn_id": turn}
    known |= {"conversation_id": hers.place, "lane": hers.place, "memory_id": FIRST}
    names = [t.name for t in tables()]
    for table in sorted(tables(), key=lambda t: (t.name != "memory", names.index(t.name))):
        (key, *_) = table.primary_key.columns
        number = FIRST + (0 if table.name == "memory" else 1 + names.index(table.name))
        own = known | {key.name: number if kind_of(key) is int else f"t{number}"}
        if table.name in ("session", "turn", "inbox", "outbox", "person"):
            continue  # she has lived
        values = {c.name: value_of(table, c.name, own) for c in table.columns}
        conn.execute(insert(table), values)


def like(known: str) -> str:
    """Another id with the same kind of letter in each place."""
    return known.translate(str.maketrans("0123456789abcdef", "1234567890bcdefa"))


def rows_of(conn: Connection, person: str) -> dict[str, list[Any]]:
    """Every row of a person."""
    found = {}
    for table in tables():
        mine = table.c[owner_of(table) or ""] == person
        found[table.name] = sorted(map(repr, conn.execute(select(table).where(mine))))
    return found


def ids_of(conn: Connection, hers: Hers) -> dict[str, str]:
    """What names her rows, and beside each what names none and looks the same."""
    session, place = hers.session, hers.place.rpartition(":")[2]
    found = {one: like(one) for one in (session, session[:7], place)}
    found[f"archive://{session}/r1"] = f"archive://{like(session)}/r1"
    found[f"{session[:7]}/r1-r9"] = f"{like(session[:7])}/r1-r9"
    for table in tables():
        (key, *_) = table.primary_key.columns
        mine = table.c[owner_of(table) or ""] == ALICE
        for (value,) in conn.execute(select(key).where(mine)):
            known = str(value)
            if isinstance(value, int) and value >= FIRST:
                found[known] = str(ABSENT + value - FIRST)
            elif isinstance(value, str) and known != ALICE:
                found[known] = like(known)
    return found


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def lived(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[FrontHouse, Hers, dict[str, str]]]:
    """(house, what is Alice's, the headers of Bob's browser)."""
    async with front_house(tmp_path_factory.mktemp("isolation")) as house:
        alice, bob = house.person("alice"), house.person("bob")
        place = await house.session(alice)
        await house.say(alice, place, f"please note: {WORDS}")
        await house.say(alice, place, f"/remind in 2 hours water the {WORDS}")
        path = f"/chat/files?session={place}&name={HERS}.txt"
        kept = await house.send(
            "POST", path, alice | {"Content-Type": "text/plain"}, WORDS.encode()
        )
        assert kept.status == 201, kept
        await house.quiet()
        ((session,),) = await house.rows(f"select id from session where owner = '{ALICE}'")
        hers = Hers(session, f"web:local:{place}")
        await house.core.db.write(lambda conn: plant(conn, hers))
        hers.ids = await house.core.db.read(lambda conn: ids_of(conn, hers))
        yield house, hers, bob


Lived = tuple[FrontHouse, Hers, dict[str, str]]


async def test_alice_has_something_in_every_table_whose_rows_are_somebodys(lived: Lived) -> None:
    house, _, _ = lived
    found = await house.core.db.read(lambda conn: rows_of(conn, ALICE))
    assert [name for name, rows in found.items() if not rows] == []
    alice = house.person("alice")
    place = next(i for i in (await house.send("GET", "/chat/sessions", alice)).json()["sessions"])
    assert HERS in str(await house.history(alice, place["id"])), "what is looked for can be found"


def walks(house: FrontHouse, hers: Hers) -> list[tuple[str, str, str]]:
    """(method, address with an id of hers, the same with one that names nothing) of every route of the server."""
    views = [("GET", f"/api/v1{v.path}") for v in VIEWS] + [
        ("GET", f"/console{v.path}") for v in VIEWS
    ]
    acts = [("POST", f"/api/v1{a.path}") for a in ACTIONS]
    acts += [("POST", f"/console{a.path}") for a in ACTIONS]
    found = []
    for method, path in [*house.routes(), *views, *acts]:
        if path == "/logout":
            continue  # it ends the walk
        pairs = hers.ids.items() if "{" in path else [("", "")]
        for one, other in pairs:
            quoted = [part.replace("/", "%2F").replace(":", "%3A") for part in (one, other)]
            found.append(
                (
                    "GET" if method == "*" else method,
                    *(
                        "/".join(q if p.startswith("{") else p for p in path.split("/"))
                        for q in quoted
                    ),
                )
            )
    return found


@pytest.mark.parametrize("who", ["bob", "nobody"])
async def test_no_address_tells_anything_of_alice_or_changes_it(lived: Lived, who: str) -> None:
    house, hers, bob = lived
    headers = bob if who == "bob" else {"Origin": house.url}
    before = await house.core.db.read(lambda conn: rows_of(conn, ALICE))
    place = hers.place.rpartition(":")[2]
    asked = {
        "session": place,
        "key": str(uuid.uuid4()),
        "text": "hi",
        "data": "ok:1",
        "message_id": "m",
    }
    asked |= {"form": "0" * 64, "confirm": ALICE, "files": list(hers.ids)[:8]}
    body = json.dumps(asked).encode()
    for method, real, made_up in walks(house, hers):
        answers = []
        for path, session in ((real, place), (made_up, "e" * 16)):
            sent = None if method == "GET" else body.replace(place.encode(), session.encode())
            kind = {"Content-Type": "application/json"} if sent else {}
            address = f"{path}?session={session}"
            answer = await house.send(method, address, headers | kind, sent)
            assert HERS not in answer.text, (method, path)
            said = answer.text.replace(path, "PATH").replace(session, "SESSION")
            answers.append((answer.status, said if answer.kind != "text/html" else ""))
        assert real in APART or answers[0] == answers[1], (
            f"{method} {real} tells that there is such a thing"
        )
    assert await house.core.db.read(lambda conn: rows_of(conn, ALICE)) == before


FORMS = {
    "memory": ("search {}", "show {}", "trace {}", "edit {} mine", "forget {}", "history {}"),
    "alert": ("cancel {}", "off {}"),
    "remind": ("cancel {}", "off {}"),
    "status": ("cancel {}",),
    "archive": ("show {}", "search {}"),
    "skills": ("show {}",),
    "link": ("remove {}",),
}
BARE = ("new", "stop", "retry", "undo", "compact")  # they take no id, and end what goes on
BUTTONS = ("ok:{}", "no:{}", "always:{}", "edit:{}", "ask:{}:0", "fill:{}", "stop:{}", "raise:{}")
BUTTONS = (*BUTTONS, "forget:{}:yes", "link:{}:yes", "task:cancel:{}")


def of_commands(ids: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The ids that a command could take: of all numbers those of the tables that commands know."""
    numbers = {str(FIRST + 1 + n) for n, t in enumerate(tables()) if t.name in ASKED} | {str(FIRST)}
    return ((one, other) for one, other in ids.items() if not one.isdecimal() or one in numbers)


def lines(ids: list[str]) -> list[str]:
    """Every command of the menu with every id in every form that it could take one in."""
    found = []
    for name in (*MENU, "why", "usage"):
        if name not in BARE:
            forms = ("{}", *FORMS.get(name, ()))
            found += [f"/{name} {form.format(one)}" for form in forms for one in ids]
    return found


async def replies(house: FrontHouse, place: str) -> list[str]:
    """All that was sent to a session, buttons and files too."""
    query = f"select body from outbox where lane = 'web:local:{place}' order by id"
    return [str(body) for (body,) in await house.rows(query)]


@pytest.mark.timeout(240)
async def test_no_command_and_no_button_tells_anything_of_alice_or_changes_it(lived: Lived) -> None:
    house, hers, bob = lived
    before = await house.core.db.read(lambda conn: rows_of(conn, ALICE))
    real, made_up = await house.session(bob), await house.session(bob)
    known = dict(itertools.islice(of_commands(hers.ids), 40))
    for place, ids in ((real, list(known)), (made_up, list(known.values()))):
        for line in lines(ids):
            await house.say(bob, place, line)
        for data in (button.format(one) for button in BUTTONS for one in ids if len(one) < 20):
            press = {"session": place, "key": str(uuid.uuid4()), "data": data, "message_id": "m1"}
            assert (await house.post("/chat/presses", bob, **press)).status == 202
    for word in (SEARCH, ALICE):
        for line in lines([word]):
            await house.say(bob, real, line)
            await house.say(bob, made_up, line)
    await house.quiet()
    said, said_of_nothing = await replies(house, real), await replies(house, made_up)
    assert len(said) > 300
    assert [text for text in said if HERS in text] == []
    told, not_told = blank(said, known), blank(said_of_nothing, {v: v for v in known.values()})
    assert told - not_told == Counter()
    assert not_told - told == Counter()
    assert await house.core.db.read(lambda conn: rows_of(conn, ALICE)) == before


def blank(texts: list[str], ids: dict[str, str]) -> Counter[str]:
    """The texts with a mark in the place of every id and of what changes by itself."""
    return Counter(_blanked(text, ids) for text in texts)


def _blanked(text: str, ids: dict[str, str]) -> str:
    found = re.sub(r"s?[0-9a-f]{6,}", "ID", text)  # also what was cut short, and Bob's own
    for one in ids:
        found = found.replace(one, "ID")
    return re.sub(r"Uptime: [\d:]+|(here|in all): \w+|\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", found)


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_what_a_role_may_not_see_or_do_is_refused_and_changes_nothing(
    lived: Lived, role: str
) -> None:
    house, hers, _ = lived
    before = await house.core.db.read(lambda conn: rows_of(conn, ALICE))
    program = house.program(role) | {"Content-Type": "application/json"}
    wanted = [("GET", v.path, v.role) for v in VIEWS] + [("POST", a.path, a.role) for a in ACTIONS]
    beyond = [(method, path) for method, path, needs in wanted if not may(role, needs)]
    assert beyond
    for method, path in beyond:
        for one in hers.ids:
            filled = "/".join(
                one.replace("/", "%2F") if p.startswith("{") else p for p in path.split("/")
            )
            body = b'{"confirm": "web:alice"}' if method == "POST" else None
            answer = await house.send(method, f"/api/v1{filled}", program, body)
            assert (answer.status, answer.json()["error"]) == (403, "forbidden"), (method, path)
            assert HERS not in answer.text
    assert await house.core.db.read(lambda conn: rows_of(conn, ALICE)) == before


async def test_the_web_chat_opens_no_console_and_the_console_no_web_chat(lived: Lived) -> None:
    house, _, bob = lived
    for path in ("/api/v1/sessions", "/metrics"):
        assert (await house.send("GET", path, bob)).status == 401
    assert (await house.send("GET", "/console/sessions", bob)).status == 303
    assert (await house.send("GET", "/chat/sessions", house.program("admin"))).status == 401
