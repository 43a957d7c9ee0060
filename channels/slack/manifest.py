"""The manifest that creates the app in one paste, and the scopes that it asks for. Imports no SDK."""

import json
from collections.abc import Collection
from typing import Any

# What each is for; the second half is what a person misses without it.
SCOPES = {
    "app_mentions:read": "mentions",
    "assistant:write": "status, title and prompts of assistant threads",
    "channels:history": "threads of public channels, and looking before a message is sent again",
    "channels:read": "public channels",
    "chat:write": "answers",
    "chat:write.public": "answers to /swarm in channels that the bot is not in",
    "commands": "/swarm and shortcuts",
    "files:read": "files that people send",
    "files:write": "charts and reports",
    "groups:history": "threads of private channels",
    "groups:read": "private channels",
    "im:history": "direct messages",
    "im:read": "direct messages",
    "im:write": "opening a direct message after a shortcut",
    "mpim:history": "group messages",
    "mpim:read": "group messages",
    "reactions:write": "marks on messages (received, done)",
    "users:read": "names and languages of people",
}
EVENTS = (
    "app_home_opened",
    "app_mention",
    "assistant_thread_started",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
)
SHORTCUTS = (
    ("swarmgate_status", "global", "Swarmgate: status", "What the bot is doing for you"),
    (
        "swarmgate_new",
        "global",
        "Swarmgate: new session",
        "Begin a new session in the direct message",
    ),
    ("swarmgate_ask", "message", "Ask about this", "Hand this message to the bot"),
    ("swarmgate_stop", "message", "Stop the bot here", "Stop what runs in this thread"),
)
PATH = "/webhooks/slack"


def manifest(*, name: str = "Swarmgate", public_url: str | None = None) -> str:
    """The manifest as JSON; for Socket Mode, or for signed HTTP when a public address is given."""
    return json.dumps(_manifest(name, public_url), indent=2, ensure_ascii=False)


def missing_scopes(granted: Collection[str] | None) -> list[str]:
    """A line for each scope that the token lacks: which, what for, where to click. None when unknown."""
    if granted is None:
        return []
    return [
        f"{scope} ({purpose}): add it at https://api.slack.com/apps → your app → OAuth & Permissions → "
        "Bot Token Scopes, then click Reinstall to Workspace"
        for scope, purpose in SCOPES.items()
        if scope not in granted
    ]


def _manifest(name: str, public_url: str | None) -> dict[str, Any]:
    socket = public_url is None
    base = "" if public_url is None else public_url.rstrip("/") + PATH

    def url(key: str, path: str) -> dict[str, str]:
        return {} if socket else {key: f"{base}/{path}"}

    command = {
        "command": "/swarm",
        "description": "Ask, or give a command: help, status, stop, new …",
        "usage_hint": "help | ask … | stop | new | status",
        "should_escape": False,
    }
    return {
        "display_information": {
            "name": name,
            "description": "Agents with real tools, in your chats",
            "background_color": "#1f2937",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "assistant_view": {"assistant_description": "Ask about markets, reports, portfolios"},
            "bot_user": {"display_name": name, "always_online": True},
            "shortcuts": [
                {"name": title, "type": kind, "callback_id": callback, "description": text}
                for callback, kind, title, text in SHORTCUTS
            ],
            "slash_commands": [{**command, **url("url", "commands")}],
        },
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": {
            "event_subscriptions": {**url("request_url", "events"), "bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True, **url("request_url", "interactive")},
            "org_deploy_enabled": False,
            "socket_mode_enabled": socket,
            "token_rotation_enabled": False,
        },
    }
