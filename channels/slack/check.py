"""What an operator can mend about a Slack app before it runs."""

import time

from channels.errors import BadCredentials
from channels.flood import FloodGate
from channels.slack.calls import Calls
from channels.slack.config import SlackConfig
from channels.slack.manifest import missing_scopes


async def findings(config: SlackConfig) -> list[str]:
    """What is wrong, each with its cure in one line; empty when all is well.

    Raises ChannelError when Slack cannot be asked.
    """
    calls = Calls(config, FloodGate(time.monotonic))
    try:
        _, scopes = await calls.identity()
    except BadCredentials as e:
        return [str(e)]
    finally:
        await calls.close()
    return missing_scopes(scopes)
