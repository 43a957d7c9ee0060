"""All commands. Each imports what it needs when it runs, so that `--help` and `--version` are instant."""

from typing import Annotated

import typer

from gateway.cli import (
    approvals,
    archive,
    backup,
    check,
    discord_invite,
    init,
    mcp,
    memory,
    models,
    outbox,
    portfolio,
    presets,
    sessions,
    slack_manifest,
    symbols,
    tasks,
    users,
)
from gateway.cli.options import Config, Json

app = typer.Typer(
    name="swarmgate",
    help="A gateway between chat platforms and agents.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help, without loading rich
    pretty_exceptions_enable=False,
)
app.add_typer(presets.app, name="presets")
app.add_typer(users.app, name="users")
app.add_typer(models.app, name="models")
app.add_typer(sessions.app, name="sessions")
app.add_typer(outbox.app, name="outbox")
app.add_typer(approvals.app, name="approvals")
app.add_typer(archive.app, name="archive")
app.add_typer(memory.app, name="memory")
app.add_typer(portfolio.app, name="portfolio")
app.add_typer(symbols.app, name="symbols")
app.add_typer(tasks.app, name="tasks")
app.command("check")(check.check)
app.command("backup")(backup.backup)
app.command("restore")(backup.restore)
app.command("init")(init.init)
app.command("mcp")(mcp.mcp)
app.command("discord-invite")(discord_invite.discord_invite)
app.command("slack-manifest")(slack_manifest.slack_manifest)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"swarmgate {version('swarmgate')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A gateway between chat platforms and agents."""


@app.command()
def run(config: Config = None) -> None:
    """Run the gateway until SIGTERM or SIGINT."""
    from gateway.cli.run import run as serve

    raise typer.Exit(serve(config))


@app.command()
def demo(config: Config = None) -> None:
    """Run with the embedded defaults and print the address of the web chat. Needs no key."""
    from gateway.cli.run import run as serve

    raise typer.Exit(serve(config, demo=True))


@app.command()
def chat(
    text: Annotated[str | None, typer.Argument(help="One message; without it, a dialogue.")] = None,
    user: Annotated[str | None, typer.Option(help="Who writes; default: your login name.")] = None,
    session: Annotated[str | None, typer.Option(help="Go on with this session.")] = None,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Talk to the bot in this terminal. A piped text is one message."""
    from gateway.cli.chat import talk

    raise typer.Exit(talk(config, user=user, session=session, text=text, as_json=as_json))


@app.command()
def migrate(as_json: Json = False, config: Config = None) -> None:
    """Bring the database to this version's schema."""
    from gateway.cli.migrate import upgrade

    raise typer.Exit(upgrade(config, as_json=as_json))
