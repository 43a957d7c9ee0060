"""`discord-invite`: the address with which an administrator lets the bot into a server."""

from typing import Annotated

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import finish, show_one
from gateway.problems import OperatorError, Problem


def discord_invite(
    application: Annotated[
        str | None,
        typer.Argument(
            metavar="[APPLICATION_ID]",
            help="As under General Information in the developer portal; default: that of the settings' token.",
        ),
    ] = None,
    account: Annotated[
        str | None, typer.Option(help="One of several bots, by its name under `accounts`.")
    ] = None,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Print the address that puts the Discord bot into a server, with the rights it uses."""

    def command() -> int:
        from channels.discord.invite import RIGHTS, invite_url

        wanted = application or _of_settings(config, account)
        try:
            url = invite_url(wanted)
        except ValueError as error:
            cure = (
                "copy Application ID from discord.com/developers/applications, General Information"
            )
            raise OperatorError([Problem(str(error), cure)]) from error
        show_one({"id": wanted, "url": url, "rights": list(RIGHTS)}, url, as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


def _of_settings(config: Config, account: str | None) -> str:
    """The id that the token names. Raises OperatorError."""
    from channels.discord.config import DiscordConfig

    discord = settings_for(config).channels.discord
    if account is not None and account not in discord.accounts:
        known = ", ".join(discord.accounts) or "none"
        raise OperatorError(
            [Problem(f"there is no Discord account {account!r}", f"there are: {known}")]
        )
    bot = discord if account is None else discord.accounts[account]
    found = DiscordConfig(bot.token.get_secret_value()).account if bot.token else ""
    if not found:
        message = "the settings name no Discord bot whose application is known"
        cure = "set channels.discord.token or DISCORD_BOT_TOKEN, or give the application's id"
        raise OperatorError([Problem(message, cure)])
    return found
