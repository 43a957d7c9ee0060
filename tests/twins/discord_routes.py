"""The endpoints of the Discord twin's REST API."""

import json
import time

from tests.twins.discord_rest import Rest, Route
from tests.twins.discord_rules import check_commands
from tests.twins.discord_state import (
    HAS_THREAD,
    STARTER,
    TEXT,
    THREAD,
    ApiError,
    Channel,
    Json,
    invalid,
)
from tests.twins.twin import Call


def payload(call: Call) -> Json:
    """The message of a call, which may be a part of a form."""
    if "payload_json" in call.params:
        return dict(json.loads(call.params["payload_json"]))
    return {k: v for k, v in call.params.items() if k not in {"wait", "with_response"}}


def post_message(rest: Rest, call: Call, names: dict[str, str]) -> Json:
    return rest.post(rest.world.channel(names["channel"]), payload(call), call.files)


def edit_message(rest: Rest, call: Call, names: dict[str, str]) -> Json:
    channel = rest.world.channel(names["channel"])
    stored = rest.world.message(names["channel"], names["message"])
    return rest.edit(channel, stored, payload(call), call.files)


def delete_message(rest: Rest, call: Call, names: dict[str, str]) -> None:
    stored = rest.world.message(names["channel"], names["message"])
    if not stored.by_bot:
        raise ApiError(403, 50013, "Missing Permissions")
    stored.deleted = True


def get_message(rest: Rest, call: Call, names: dict[str, str]) -> Json:
    return rest.world.message(names["channel"], names["message"]).body


def list_messages(rest: Rest, call: Call, names: dict[str, str]) -> list[Json]:
    channel = rest.world.channel(names["channel"])
    found = [m for m in channel.messages.values() if not m.deleted and m.only_for is None]
    limit = min(100, int(call.params.get("limit", 50)))
    if "after" in call.params:
        found = [m for m in found if int(m.id) > int(call.params["after"])][:limit]
    elif "before" in call.params:
        found = [m for m in found if int(m.id) < int(call.params["before"])][-limit:]
    else:
        found = found[-limit:]
    return [m.body for m in reversed(found)]


def react(rest: Rest, call: Call, names: dict[str, str]) -> None:
    stored = rest.world.message(names["channel"], names["message"])
    rows = stored.body.setdefault("reactions", [])
    row = next((r for r in rows if r["emoji"]["name"] == names["emoji"]), None)
    if call.method == "PUT" and row is None:
        rows.append({"emoji": {"id": None, "name": names["emoji"]}, "count": 1, "me": True})
    elif call.method == "DELETE" and row is not None:
        rows.remove(row)


def start_typing(rest: Rest, call: Call, names: dict[str, str]) -> None:
    channel = rest.world.channel(names["channel"])
    if channel.person in rest.world.blocked:
        raise ApiError(403, 50007, "Cannot send messages to this user")
    if channel.archived:
        raise ApiError(400, 50083, "Thread is archived")
    channel.typing.append(time.monotonic())


def start_thread(rest: Rest, call: Call, names: dict[str, str]) -> Json:
    parent = rest.world.channel(names["channel"])
    if parent.type != TEXT:
        raise ApiError(400, 50024, "Cannot execute action on this channel type")
    if "threads" in parent.denied:
        raise ApiError(403, 50013, "Missing Permissions")
    stored = rest.world.message(parent.id, names["message"])
    if stored.id in rest.world.channels:
        raise ApiError(400, 160004, "A thread has already been created for this message")
    name = str(call.params.get("name", ""))
    if not 1 <= len(name) <= 100:
        raise invalid("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
    thread = open_thread(rest, parent, stored.id, name, rest.world.bot["id"])
    thread.archive_minutes = int(call.params.get("auto_archive_duration", 1440))
    stored.body = {**stored.body, "flags": stored.body["flags"] | HAS_THREAD}
    rest.new_message(thread, stored.body["author"], {"type": STARTER})
    return rest.world.channel_body(thread)


def open_thread(rest: Rest, parent: Channel, thread_id: str, name: str, owner: str) -> Channel:
    """A thread, and the event that tells of it."""
    thread = Channel(thread_id, THREAD, name, parent.guild, parent.id, owner)
    rest.world.channels[thread.id] = thread
    rest.world.guilds[str(parent.guild)].channels.append(thread.id)
    body = {**rest.world.channel_body(thread), "newly_created": True}
    rest.gateway.dispatch("THREAD_CREATE", body, parent.guild)
    return thread


def get_channel(rest: Rest, call: Call, names: dict[str, str]) -> Json:
    return rest.world.channel_body(rest.world.channel(names["channel"]))


def edit_channel(rest: Rest, call: Call, names: dict[str, str]) -> Json:
    channel = rest.world.channel(names["channel"])
    if channel.locked and call.params.get("archived") is False:
        raise ApiError(403, 50013, "Missing Permissions")
    channel.archived = bool(call.params.get("archived", channel.archived))
    channel.name = str(call.params.get("name", channel.name))
    return rest.world.channel_body(channel)


def open_dm(rest: Rest, call: Call, names: dict[str, str]) -> Json:
    return rest.world.channel_body(rest.world.dm(str(call.params["recipient_id"])))


def me(rest: Rest, call: Call, names: dict[str, str]) -> Json:
    return rest.world.bot


def application(rest: Rest, call: Call, names: dict[str, str]) -> Json:
    bot = rest.world.bot
    return {
        "id": bot["id"],
        "name": "Swarm",
        "icon": None,
        "description": "",
        "bot_public": False,
        "bot_require_code_grant": False,
        "owner": rest.world.person("1"),
        "verify_key": "00",
        "flags": 1 << 19 if rest.world.content_intent else 0,
        "interactions_endpoint_url": None,
    }


def gateway_bot(rest: Rest, call: Call, names: dict[str, str]) -> Json:
    limits = {"total": 1000, "remaining": 999, "reset_after": 14400000, "max_concurrency": 1}
    return {"url": rest.gateway.url, "shards": rest.shards, "session_start_limit": limits}


def put_commands(rest: Rest, call: Call, names: dict[str, str]) -> list[Json]:
    commands = call.params.get("", [])
    check_commands(commands)
    if names["application"] != rest.world.bot["id"]:
        raise ApiError(403, 20012, "You are not authorized to perform this action")
    more = {"version": "1", "application_id": names["application"]}
    more |= {"default_member_permissions": None, "integration_types": [0]}  # type: ignore[dict-item]
    rest.world.commands = [{**more, "id": rest.world.ids.next(), **c} for c in commands]
    return rest.world.commands


def get_commands(rest: Rest, call: Call, names: dict[str, str]) -> list[Json]:
    return rest.world.commands


_MESSAGE = "/channels/{channel}/messages/{message}"
ROUTES: tuple[Route, ...] = (
    ("GET", "/gateway/bot", gateway_bot, 200),
    ("GET", "/users/@me", me, 200),
    ("GET", "/oauth2/applications/@me", application, 200),
    ("GET", "/applications/@me", application, 200),
    ("PUT", "/applications/{application}/commands", put_commands, 200),
    ("GET", "/applications/{application}/commands", get_commands, 200),
    ("POST", "/users/@me/channels", open_dm, 200),
    ("GET", "/channels/{channel}", get_channel, 200),
    ("PATCH", "/channels/{channel}", edit_channel, 200),
    ("POST", "/channels/{channel}/typing", start_typing, 204),
    ("POST", "/channels/{channel}/messages", post_message, 200),
    ("GET", "/channels/{channel}/messages", list_messages, 200),
    ("GET", _MESSAGE, get_message, 200),
    ("PATCH", _MESSAGE, edit_message, 200),
    ("DELETE", _MESSAGE, delete_message, 204),
    ("PUT", _MESSAGE + "/reactions/{emoji}/@me", react, 204),
    ("DELETE", _MESSAGE + "/reactions/{emoji}/@me", react, 204),
    ("POST", _MESSAGE + "/threads", start_thread, 201),
)
