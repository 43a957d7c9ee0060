"""HTTP mode: signatures, staleness, malformed and oversized bodies, retries."""

import json
import time
from typing import Any
from urllib.parse import urlencode

import pytest

from channels.slack.webhooks import MAX_BODY
from tests.unit.channels.slack_rig import Rig, rig

EVENTS = "/webhooks/slack/events"
FORM = "application/x-www-form-urlencoded"


async def post(
    r: Rig, body: str, path: str = EVENTS, kind: str = "application/json", **headers: str
) -> tuple[int, str]:
    signed = {**r.twin.link.signed(body), "Content-Type": kind, **headers}
    return await r.twin.link.post(f"{r.twin.link.http}{path}", body, signed)


async def test_slack_verifies_the_address() -> None:
    async with rig(mode="http") as r:
        body = json.dumps({"type": "url_verification", "challenge": "3eZbrw"})
        status, text = await post(r, body)
        assert (status, json.loads(text)) == (200, {"challenge": "3eZbrw"})
        status, _ = await post(r, "ssl_check=1&token=x", "/webhooks/slack/commands", FORM)
        assert status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Slack-Signature": "v0=00"},
        {"X-Slack-Signature": ""},
        {"X-Slack-Request-Timestamp": "soon"},
        {"X-Slack-Request-Timestamp": ""},
    ],
)
async def test_an_unsigned_or_forged_body_is_refused(
    headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async with rig(mode="http") as r:
        status, _ = await post(r, "{}", **headers)
        assert status == 401
        assert r.got == []
        assert "slack_request_refused" in caplog.text


@pytest.mark.parametrize("age", [-400, 400])
async def test_a_stale_body_is_refused_although_it_is_signed(age: int) -> None:
    async with rig(mode="http") as r:
        body = "{}"
        headers = r.twin.link.signed(body, at=time.time() - age)
        status, text = await r.twin.link.post(f"{r.twin.link.http}{EVENTS}", body, headers)
        assert (status, text) == (401, "the request is stale")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (EVENTS, "not json"),
        (EVENTS, "[]"),
        (EVENTS, ""),
        ("/webhooks/slack/interactive", "payload=%7B"),
        ("/webhooks/slack/interactive", "nothing"),
        ("/webhooks/slack/interactive", "other=1"),
        ("/webhooks/slack/commands", "nothing"),
    ],
)
async def test_a_malformed_body_is_a_400_and_the_process_stays_up(path: str, body: str) -> None:
    async with rig(mode="http") as r:
        status, _ = await post(r, body, path, FORM)
        assert status == 400
        r.twin.say("D1", "still there?")
        await r.inbound()


async def test_an_oversized_body_is_refused() -> None:
    async with rig(mode="http") as r:
        status, _ = await post(r, "x" * (MAX_BODY + 1))
        assert status == 413


async def test_an_authentic_body_of_no_use_is_taken(caplog: pytest.LogCaptureFixture) -> None:
    async with rig(mode="http") as r:
        shapes: list[tuple[str, dict[str, Any]]] = [
            (EVENTS, {"type": "event_callback", "event": {"type": "message"}}),
            (EVENTS, {"type": "event_callback", "event": "text"}),
            (EVENTS, {"type": "app_rate_limited"}),
        ]
        for path, payload in shapes:
            assert (await post(r, json.dumps(payload), path))[0] == 200
        pressed = urlencode({"payload": json.dumps({"type": "block_actions", "actions": []})})
        assert (await post(r, pressed, "/webhooks/slack/interactive", FORM))[0] == 200
        assert r.got == []
        assert "slack_unusable" in caplog.text


async def test_a_retry_of_what_was_stored_is_one_message() -> None:
    async with rig(mode="http") as r:
        r.twin.fault("/webhooks", times=0)
        delivery = r.twin._deliver("events_api", _event(r))
        await r.twin.settled()
        r.twin.redeliver(delivery)
        await r.inbound(2)
        assert len(r.stored) == 1


async def test_before_the_start_slack_is_asked_to_come_again() -> None:
    async with rig(mode="http", receiving=False) as r:
        await r._serve()
        status, _ = await post(r, json.dumps(_event(r)))
        assert status == 503


async def test_socket_mode_serves_no_routes() -> None:
    async with rig(receiving=False) as r:
        assert list(r.channel.routes()) == []


def _event(r: Rig) -> dict[str, Any]:
    ts = r.twin.state.ts()
    event = {"type": "message", "user": "U1", "channel": "D1", "ts": ts, "text": "hello"}
    return {"type": "event_callback", "team_id": "T1", "event": {**event, "channel_type": "im"}}
