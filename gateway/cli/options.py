"""Options that many commands share."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.config import VARIABLE

Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        envvar=VARIABLE,
        show_default=False,
        help="Settings file; default: ./swarmgate.yaml, else the embedded defaults.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
