"""Whatever the web chat, the hooks, the console and the API are sent, they answer in their shape and stay up."""

import base64
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.console.plan import ACTIONS, VIEWS
from gateway.hooks.proof import signature
from tests.property.mutations import JUNK, Recorded, damaged, dumped, mutated
from tests.property.storing import Bench, bench, errors
from tests.property.test_fuzz_platforms import FULL, QUICK
from tests.unit.gateway.front_house import Answer, FrontHouse, front_house

SECRET = "whsec_" + base64.b64encode(b"a key of the charting service").decode()
HOOK = {"secret": SECRET, "as": "web:bob", "say": "Judge {ticker}.", "per_minute": 1_000}
KEY = "6e2f7a52-3f5e-4a7e-9a39-0b6b5f6d4a01"
POSTED = {"ticker": "AAPL", "close": 231.5, "deep": {"a": [1, {"b": "Buy now!"}]}}
PRESET = "version: 1\nname: mine\nextends: solo\n"
BODIES: dict[str, Any] = {
    "/halt": {"reason": "strange prices"},
    "/budgets/raise": {"kind": "user_day", "person": "web:bob"},
    "/approvals/{id}/decide": {"verdict": "approved"},
    "/presets/{name}/check": {"text": PRESET},
    "/presets/{name}/save": {"text": PRESET, "base": ""},
    "/presets/{name}/extend": {"name": "mine"},
    "/people/approve": {"code": "ABCD-1234"},
    "/people/{id}/access": {"access": "allowed"},
    "/people/{id}/forget": {"confirm": "web:nobody"},
}
ACTS = Recorded((a.path, BODIES.get(a.path, {})) for a in ACTIONS)
PARTS = st.one_of(
    st.sampled_from(["1", "s1", "solo", "trading-desk", "web%3Abob", "x" * 300, "%00", "%FF"]),
    st.sampled_from(["%ED%A0%80", "..%2F..", "%2e%2e", "9" * 400, "-1", "r1-r9", "a%00.js", "%25"]),
    st.sampled_from(["x" * 300 + ".css", "%F0%9F%91%8D.js", "*", "a%20b", "%5c..%5c", "_"]),
    st.text(min_size=1, max_size=8).map(lambda text: quote(text, safe="", errors="replace")),
)
WORDS = st.one_of(JUNK.filter(lambda junk: isinstance(junk, str)), st.text(max_size=9))
WORDS = st.one_of(WORDS, st.sampled_from(["9" * 2_000, "1", "error", "2026-01-01"]))


def well(answer: Answer, logged: list[str]) -> None:
    """It was answered, and a refusal has its shape."""
    assert answer.status < 500, (answer, logged)
    assert logged == []
    if answer.status >= 400 and answer.kind == "application/json" and answer.body:
        said = answer.json()
        assert isinstance(said["error"], str)


def chat_holds(on: Bench, folder: Path, url: str, profile: settings) -> None:
    with errors() as logged:
        house: FrontHouse = on.enter(front_house(folder, url, still=True))
        bob, alice = house.person("bob"), house.person("alice")
        hers, his = on.run(house.session(alice)), on.run(house.session(bob))
        recorded: Recorded[Any] = Recorded(
            [
                {"session": his, "key": KEY, "text": "hello"},
                {"session": hers, "key": KEY, "text": "hello"},
                {"session": his, "key": KEY, "text": "hello", "files": ["ab" * 32], "again": KEY},
                {"session": his, "key": KEY, "data": "stop:1", "message_id": "m1"},
            ]
        )
        body = st.one_of(mutated(recorded).map(dumped), damaged(Recorded(map(dumped, recorded))))
        kinds = st.sampled_from(
            ["application/json"] * 6 + ["text/plain", "x; charset=zzz", "a/b;;="]
        )
        kinds = st.one_of(kinds, st.just("application/json; charset=nothing"))

        @profile
        @given(st.sampled_from(["/chat/messages", "/chat/presses"]), kinds, body)
        def holds(path: str, kind: str, body: bytes) -> None:
            answer = on.timed(house.send("POST", path, bob | {"Content-Type": kind}, body))
            well(answer, logged.take())
            assert answer.status in (202, 400, 404, 413)

        holds()
        authors = {author for (author,) in on.run(house.rows("select distinct author from inbox"))}
        assert authors <= {"web:bob"}


def hooks_hold(on: Bench, folder: Path, url: str, profile: settings) -> None:
    with errors() as logged:
        house: FrontHouse = on.enter(front_house(folder, url, still=True, hooks={"charts": HOOK}))
        bob = house.person("bob")
        on.run(house.say(bob, on.run(house.session(bob)), "here I am"))
        bodies = Recorded([dumped(POSTED), b"", b"just text"])
        body = st.one_of(mutated(Recorded([POSTED])).map(dumped), damaged(bodies))
        odd = st.sampled_from(
            ["", "0", "-1", "9" * 3_000, "\u0663", "x", "v1,", "v1,====", "m" * 300]
        )

        @profile
        @given(body, st.one_of(st.none(), st.tuples(odd, odd, odd)))
        def holds(body: bytes, forged: tuple[str, str, str] | None) -> None:
            stamp = str(int(time.time()))
            proof = (signed := str(hash(body))), stamp, signature(SECRET, signed, stamp, body)
            names = ("webhook-id", "webhook-timestamp", "webhook-signature")
            headers = dict(zip(names, forged or proof, strict=True))
            answer = on.timed(house.send("POST", "/hooks/charts", headers, body))
            well(answer, logged.take())
            assert answer.status in ((401,) if forged else (200, 202, 413, 429))

        holds()
        authors = {author for (author,) in on.run(house.rows("select distinct author from inbox"))}
        assert authors == {"web:bob"}


def pages_hold(on: Bench, folder: Path, url: str, profile: settings) -> None:
    """Every address of the server, with anything in the place of ids and queries, for who is in and who is not."""
    with errors() as logged:
        house: FrontHouse = on.enter(front_house(folder, url, still=True))
        views = [("GET", f"/api/v1{view.path}") for view in VIEWS]
        tails = ("/console/{tail}", "/console/static/{tail}", "/api/v1/{tail}")
        known = [
            (m, p.partition("{tail")[0] + "{tail}" * ("{tail" in p)) for m, p in house.routes()
        ]
        paths = Recorded([*views, *known, *(("GET", tail) for tail in tails)])
        people = [
            {},
            house.person("bob"),
            house.program("admin"),
            {"Cookie": "swarmgate-1=\udcff.1.a.b"},
        ]
        people += [
            {"Cookie": f"swarmgate-{house.front.server.local_url.rpartition(':')[2]}=é.1.a.é"}
        ]
        query = st.dictionaries(st.sampled_from(["words", "turn", "session", "days", "x"]), WORDS)

        @profile
        @given(st.sampled_from(paths), st.lists(PARTS, min_size=3, max_size=3), query, st.data())
        def holds(
            route: tuple[str, str], parts: list[str], query: dict[str, str], data: Any
        ) -> None:
            method, path = route
            left = iter(parts)
            pieces = [next(left) if part.startswith("{") else part for part in path.split("/")]
            asked = "&".join(f"{k}={quote(v, errors='replace')}" for k, v in query.items())
            who = data.draw(st.sampled_from(people))
            method = "GET" if method == "*" else method
            answer = on.timed(house.send(method, f"{'/'.join(pieces)}?{asked}", who))
            well(answer, logged.take())

        holds()


def actions_hold(on: Bench, folder: Path, url: str, profile: settings) -> None:
    with errors() as logged:
        house: FrontHouse = on.enter(front_house(folder, url, still=True))
        headers = house.program("admin") | {"Content-Type": "application/json"}
        bodies = Recorded([body for _, body in ACTS])
        body = st.one_of(
            mutated(bodies).map(dumped), damaged(Recorded(dumped(one) for one in bodies))
        )

        @profile
        @given(st.sampled_from(ACTS), st.one_of(st.none(), body), PARTS)
        def holds(act: tuple[str, Any], body: bytes | None, part: str) -> None:
            path, usual = act
            pieces = [part if piece.startswith("{") else piece for piece in path.split("/")]
            sent = dumped(usual) if body is None else body
            answer = on.timed(house.send("POST", f"/api/v1{'/'.join(pieces)}", headers, sent))
            well(answer, logged.take())
            assert answer.kind == "application/json"

        holds()


WAYS = {"chat": chat_holds, "hooks": hooks_hold, "pages": pages_hold, "actions": actions_hold}


@pytest.mark.parametrize("way", list(WAYS))
def test_no_body_and_no_address_breaks_the_server(way: str, tmp_path: Path) -> None:
    with bench() as on:
        WAYS[way](on, tmp_path, "sqlite", QUICK)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", list(WAYS))
def test_no_body_and_no_address_breaks_the_server_at_length(
    way: str, database_url: str, tmp_path: Path
) -> None:
    """On PostgreSQL too, which takes fewer texts than SQLite."""
    with bench() as on:
        WAYS[way](on, tmp_path, database_url, FULL)
