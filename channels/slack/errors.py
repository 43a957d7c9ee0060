"""What the client library raises, in the words of channels.errors."""

import asyncio
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError

from channels.errors import (
    Ambiguous,
    BadCredentials,
    ChannelError,
    FloodLimited,
    Gone,
    Refused,
    Unreachable,
)

# Error codes of docs.slack.dev/reference/methods.
TOKEN = {
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_revoked",
    "token_expired",
    "not_allowed_token_type",
    "org_login_required",
    "team_access_not_granted",
}
GONE = {
    "channel_not_found",
    "not_in_channel",
    "is_archived",
    "restricted_action",
    "restricted_action_read_only_channel",
    "restricted_action_thread_locked",
    "user_disabled",
    "user_not_found",
    "cannot_dm_bot",
    "messages_tab_disabled",
    "thread_not_found",
}
# Slack says it did not do it.
AGAIN = {
    "service_unavailable",
    "fatal_error",
    "internal_error",
    "request_timeout",
    "team_added_to_org",
    "messaging_processing_failed",
    "ekm_access_denied",
}
UNFIT = {"invalid_blocks", "invalid_blocks_format", "invalid_attachments", "no_text"}
FLOOD = {"ratelimited", "rate_limited", "message_limit_exceeded"}
DEFAULT_WAIT = 30.0  # Slack always says Retry-After; this is for a proxy that drops it


class Said(Refused):
    """Refused, with Slack's own code."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def code_of(error: BaseException) -> str:
    """Slack's code, or nothing."""
    return error.code if isinstance(error, Said) else ""


def translate(method: str, error: BaseException) -> ChannelError:
    """The channel error for what a call raised."""
    if isinstance(error, SlackApiError):
        return _answered(method, error)
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return Unreachable(f"{method}: no connection to Slack")
    # A time-out or a reset after the request left: only a look can tell.
    kind = "no answer in time" if isinstance(error, asyncio.TimeoutError) else type(error).__name__
    return Ambiguous(f"{method}: {kind}")


def _answered(method: str, error: SlackApiError) -> ChannelError:
    response = error.response
    # The SDK hands over its own response, or aiohttp's when the body was no JSON.
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0) or 0)
    found = getattr(response, "data", None)
    data = found if isinstance(found, dict) else {}
    code = str(data.get("error", ""))
    if status == 429 or code in FLOOD:
        return FloodLimited(_seconds(response.headers.get("Retry-After")))
    if status == 504:
        return Ambiguous(f"{method}: HTTP 504")
    if status >= 500 or code in AGAIN or not code:
        return Unreachable(f"{method}: {code or f'HTTP {status}, not an answer of Slack'}")
    return _refused(method, code, data)


def _refused(method: str, code: str, data: dict[str, Any]) -> ChannelError:
    if code in TOKEN:
        return BadCredentials(_token_advice(code))
    if code in GONE:
        return Gone(f"{method}: {code}")
    if code == "missing_scope":
        return Said(code, _scope_advice(method, data))
    details = data.get("response_metadata", {}).get("messages", [])
    return Said(code, f"{method}: {code} {' '.join(map(str, details[:3]))}".strip())


def _seconds(value: object) -> float:
    try:
        return max(float(str(value)), 0.0)
    except ValueError:
        return DEFAULT_WAIT


def _token_advice(code: str) -> str:
    return (
        f"Slack refuses the token ({code}): copy the Bot User OAuth Token (xoxb-…) and, for Socket Mode, the "
        "App-Level Token (xapp-…, connections:write) from https://api.slack.com/apps"
    )


def _scope_advice(method: str, data: dict[str, Any]) -> str:
    needed = str(data.get("needed", "?"))
    return (
        f"{method} needs the scope {needed}: add it at https://api.slack.com/apps → your app → OAuth & Permissions → "
        "Bot Token Scopes, then click Reinstall to Workspace (or paste the manifest of `swarmgate slack-manifest`)"
    )
