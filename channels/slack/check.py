"""What an operator can mend about a Slack app before it runs."""

import time

from channels.checkup import Finding, fail
from channels.errors import BadCredentials
from channels.flood import FloodGate
from channels.slack.calls import Calls
from channels.slack.config import SlackConfig
from channels.slack.manifest import missing_scopes

NO_SOCKET = (
    "Slack refuses the app token: https://api.slack.com/apps → your app → Basic Information → App-Level Tokens, "
    "make one with connections:write, then set channels.slack.app_token"
)


async def findings(config: SlackConfig) -> list[Finding]:
    """Asks auth.test, and in Socket Mode for a connection, which is not opened.

    Raises ChannelError when Slack cannot be asked.
    """
    calls = Calls(config, FloodGate(time.monotonic))
    try:
        said, scopes = await calls.identity()
        bot = Finding(
            "ok",
            f"{said.get('user', 'the app')} in {said.get('team', 'its workspace')}, {config.mode}",
        )
        return [bot, *map(fail, missing_scopes(scopes)), *await _socket(calls, config)]
    except BadCredentials as e:
        return [fail(str(e))]
    finally:
        await calls.close()


async def _socket(calls: Calls, config: SlackConfig) -> list[Finding]:
    if config.mode != "socket":
        return []
    try:
        await calls.call("apps.connections.open", token=config.app_token)
    except BadCredentials:
        return [fail(NO_SOCKET)]
    return []
