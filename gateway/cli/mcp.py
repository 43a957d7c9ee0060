"""`mcp`: our tools for another program, over its pipes or over HTTP on this machine."""

import asyncio
import os
from typing import Annotated, Literal

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config
from gateway.cli.output import finish
from gateway.problems import OperatorError, Problem
from gateway.settings.settings import Settings


def mcp(
    tier: Annotated[
        int,
        typer.Option(
            min=1, max=3, help="1: past conversations; 2: also markets; 3: also a person's data."
        ),
    ] = 2,
    http: Annotated[
        int | None,
        typer.Option(
            "--http",
            min=1,
            max=65_535,
            metavar="PORT",
            help="Serve on 127.0.0.1, with a token; default: standard input and output.",
        ),
    ] = None,
    user: Annotated[
        str,
        typer.Option(
            metavar="ID", help="Whose data: telegram:123, web:alice …; default: no one's."
        ),
    ] = "",
    approval_tools: Annotated[
        bool,
        typer.Option("--approval-tools", help="Also tools that need a yes, asked by the client."),
    ] = False,
    language: Annotated[
        str | None, typer.Option(help="en or zh; default: as locale.language has it.")
    ] = None,
    config: Config = None,
) -> None:
    """Serve tools to another program by the Model Context Protocol: tools only, no agent. Beside a running gateway."""

    def command() -> int:
        from gateway import preflight, telemetry

        settings = settings_for(config)
        logs = telemetry.start(quiet=True)
        logs.redactor.known(settings.secrets())
        preflight.require(settings.data_dir)
        _package()
        from gateway.mcp.http import VARIABLE, token_of
        from gateway.mcp.serve import Wanted, allowed, serve

        wanted = Wanted(tier, approval_tools, user, _language(language, settings), http)
        allowed(settings, wanted)
        if http is not None:
            settings.data_dir.mkdir(parents=True, exist_ok=True)
            token = token_of(settings.data_dir, os.environ.get(VARIABLE, ""))
            wanted = Wanted(tier, approval_tools, user, wanted.language, http, token)
        asyncio.run(serve(settings, wanted))
        return 0

    raise typer.Exit(finish(command))


def _package() -> None:
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        cure = "pip install 'swarmgate[mcp]'"
        raise OperatorError([Problem("the package for MCP is not installed", cure)])


def _language(asked: str | None, settings: Settings) -> Literal["en", "zh"]:
    if asked not in (None, "en", "zh"):
        raise OperatorError([Problem(f"{asked!r} is no language here", "write en or zh")])
    return "zh" if (asked or settings.locale.language) == "zh" else "en"
