"""Every secret of the settings is a word of its own, told, logged and broken in all ways, and is in no sink."""

import base64
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import SecretStr
from sqlalchemy.exc import OperationalError

from gateway.console.plan import VIEWS
from gateway.redact import MASK, Redactor
from gateway.settings.fields import Section
from gateway.telemetry import Telemetry, _Bridge
from tests.unit.gateway.console_house import ADMIN, settings_in
from tests.unit.gateway.front_house import OPEN, FrontHouse, front_house
from tests.unit.gateway.test_secrets_everywhere import everything

HOOK = "hook/secret+of=charts-5d1f"
PASSWORD = "pass/word+of=the-database-77"
PLANTED: dict[str, Any] = {
    "http": {"console_token": ADMIN, "port": 0},
    "hooks": {"charts": {"secret": HOOK, "as": "web:alice", "say": "Judge."}},
    "channels": {
        "telegram": {"token": "123456:telegram-token-word", "webhook_secret": "telegram-hook-word"},
        "slack": {
            "bot_token": "slack-bot-word",
            "app_token": "slack-app-word",
            "signing_secret": "slack-signing-word",
        },
        "discord": {"token": "discord-token-word"},
    },
    "models": {
        "default": "demo",
        "providers": {
            "openai": {"api_key": "model key/word+9"},
            "mine": {"api_key": "mine-key-word"},
        },
    },
    "trading": {
        "alpaca": {
            "key": "alpaca-key-word",
            "secret": "alpaca-secret-word",
            "live_key": "alpaca-live-key-word",
            "live_secret": "alpaca-live-secret-word",
        }
    },
    "data": {"stooq": {"api_key": "data-key-word"}},
    "mcp": {
        "servers": {
            "files": {"command": "none", "env": {"MY_TOKEN": "mcp-env-word"}, "enabled": False}
        }
    },
}


def secrets_in(value: object, place: str = "") -> Iterator[tuple[str, str]]:
    """(place, value) of every secret of the settings, by a walk of the test's own."""
    if isinstance(value, SecretStr):
        yield place, value.get_secret_value()
    elif isinstance(value, Section):
        for name, below in value:
            yield from secrets_in(below, f"{place}.{name}")
    elif isinstance(value, dict):
        for name, below in value.items():
            yield from secrets_in(below, f"{place}.{name}")
    elif isinstance(value, list | tuple):
        for below in value:
            yield from secrets_in(below, place)


def forms(word: str) -> list[str]:
    """How a secret may look in a sink."""
    data = word.encode()
    encoded = (base64.b64encode(data), base64.urlsafe_b64encode(data))
    return [word, quote(word, safe=""), quote(word), *(e.decode().rstrip("=") for e in encoded)]


def leaks(text: str, words: list[str]) -> list[str]:
    return [word for word in words if any(form in text for form in forms(word))]


def all_said(words: list[str]) -> str:
    return "\n".join(form for word in words for form in forms(word))


def test_the_password_of_a_database_is_a_secret_by_itself(tmp_path: Path) -> None:
    """A driver that cannot connect quotes it without the rest of the address."""
    address = f"postgresql://gate:{quote(PASSWORD, safe='')}@db.example.org/gate"
    known = Redactor(settings_in(tmp_path, database=address).secrets())
    for said in (address, PASSWORD, quote(PASSWORD, safe="")):
        assert (
            leaks(known.text(f'connection failed for user "gate": {said} is wrong'), [PASSWORD])
            == []
        )


@pytest.mark.slow
async def test_no_secret_of_the_settings_is_in_any_sink(tmp_path: Path) -> None:
    out = io.StringIO()
    telemetry = Telemetry(out, out, as_json=True, level=logging.DEBUG)
    bridge = _Bridge(telemetry)
    logging.getLogger().addHandler(bridge)
    try:
        async with front_house(tmp_path, **OPEN | PLANTED) as house:
            telemetry.redactor.known(house.settings.secrets())
            words = sorted({word for _, word in secrets_in(house.settings)})
            assert len(words) >= 16
            assert set(words) <= house.settings.secrets()
            told = await live(house, words)
            told += [(path, text) async for path, text in pages(house)]
    finally:
        logging.getLogger().removeHandler(bridge)
    assert len(told) > 2 * len(VIEWS)
    for place, text in told:
        assert leaks(text, words) == [], place
    assert "request_failed" in out.getvalue()
    assert leaks(out.getvalue(), words) == [], "the log"
    kept = everything(tmp_path / "data" / "swarmgate.db")
    assert leaks(kept, words) == [], "the database, and so every backup of it"
    assert MASK in kept


async def live(house: FrontHouse, words: list[str]) -> list[tuple[str, str]]:
    """A person says them all, a hook brings them, a reply cannot be sent because of them, a page breaks over them."""
    alice = house.person("alice")
    place = await house.session(alice)
    await house.say(alice, place, f"remember these: {all_said(words)}")
    await house.say(alice, place, f"/remind in 2 hours {all_said(words)}")
    await house.quiet()
    body = json.dumps({"all": words}).encode()
    hook = house.program("admin") | {"webhook-id": "x", "Content-Type": "application/json"}
    answers = [await house.send("POST", "/hooks/charts", hook, body)]
    log = logging.getLogger("gateway.test")
    log.warning("said %s", all_said(words), extra={"reason": all_said(words), "all": words})
    answers += [await broken(house, words)]
    shown = await house.history(alice, place)
    return [("chat", json.dumps(shown, ensure_ascii=False)), *(("answer", a.text) for a in answers)]


async def broken(house: FrontHouse, words: list[str]) -> Any:
    """An address whose database says them all."""

    async def fails(*_: object) -> Any:
        raise OperationalError(all_said(words), {}, OSError(all_said(words)))

    db, read = house.core.db, house.core.db.read
    db.read = fails  # type: ignore[method-assign]
    try:
        return await house.send("GET", "/chat/sessions", house.person("alice"))
    finally:
        db.read = read  # type: ignore[method-assign]


async def pages(house: FrontHouse) -> Any:
    """What operators and their programs read, and what probes answer."""
    ((session,),) = await house.rows("select id from session where parent is null limit 1")
    admin, browser = house.program("admin"), {"Origin": house.url}
    form = f"token={ADMIN}".encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    entered = await house.send("POST", "/console/login", browser | kind, form)
    browser |= {"Cookie": entered.headers["Set-Cookie"].partition(";")[0]}
    parts = {"id": session, "ref": "r1-r9", "name": "trading-desk"}
    for view in VIEWS:
        people = view.path.startswith("/people")
        names = parts | ({"id": "web%3Aalice"} if people else {})
        names |= {"id": "1"} if view.path.startswith("/runs") else {}
        for path in (f"/api/v1{view.path.format(**names)}", f"/console{view.path.format(**names)}"):
            answer = await house.send("GET", path, admin if path.startswith("/api") else browser)
            assert answer.status == 200 or "/evals/" in path, (path, answer)
            yield path, answer.text
    for path in ("/metrics", "/readyz", "/api/v1/openapi.json", "/api/v1/search?words=said"):
        yield path, (await house.send("GET", path, admin)).text
