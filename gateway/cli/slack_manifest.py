"""`swarmgate slack-manifest`: the manifest that creates the Slack app in one paste."""

import sys
from typing import Annotated

import typer

STEPS = """\
1. https://api.slack.com/apps → Create New App → From a manifest → pick the workspace, paste the text below, Create.
2. Install App → Install to Workspace; copy the Bot User OAuth Token (xoxb-…) into SLACK_BOT_TOKEN.
3. {third}
在 https://api.slack.com/apps 选择 Create New App → From a manifest，粘贴下面的内容，然后安装到工作区。"""
SOCKET = (
    "Basic Information → App-Level Tokens → Generate, scope connections:write; copy it (xapp-…) into "
    "SLACK_APP_TOKEN."
)
HTTP = "Basic Information → Signing Secret: copy it into SLACK_SIGNING_SECRET; set channels.slack.mode to webhook."


def slack_manifest(
    name: Annotated[str, typer.Option(help="What the bot is called.")] = "Swarmgate",
    public_url: Annotated[
        str | None,
        typer.Option(help="Where Slack reaches the gateway; without it, Socket Mode is used."),
    ] = None,
) -> None:
    """Print the manifest that creates the Slack app. On a terminal, what to do with it comes first."""
    from channels.slack.manifest import manifest

    if sys.stdout.isatty():
        typer.echo(STEPS.format(third=SOCKET if public_url is None else HTTP), err=True)
    typer.echo(manifest(name=name, public_url=public_url))
