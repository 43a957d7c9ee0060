"""`symbols refresh`: fetch the names and codes that enabled data sources have."""

import asyncio
from typing import Annotated

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import err, finish, show

app = typer.Typer(help="Names and codes of shares and coins.", no_args_is_help=True)

_COLUMNS = ("id", "symbols", "problem")


@app.callback()
def _group() -> None:
    """Names and codes of shares and coins."""


@app.command()
def refresh(
    source: Annotated[
        str | None, typer.Option(help="Only this source; else all enabled ones that have a list.")
    ] = None,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Fetch the lists of symbols of enabled data sources. A running gateway takes them up at its next start."""

    def command() -> int:
        from gateway.clock import SystemClock
        from gateway.prices.symbol_refresh import listing_sources, table_of
        from gateway.prices.symbol_refresh import refresh as fetch

        settings = settings_for(config)
        able = listing_sources(settings)
        if not able or (source is not None and source not in able):
            listed = ", ".join(able) or "none of those that are enabled"
            cure = (
                "enable edgar, baostock or ccxt under data.sources"
                if not able
                else "name one of them"
            )
            err(f"swarmgate: sources with a list of symbols: {listed}; {cure}")
            return 1
        done = asyncio.run(fetch(settings, SystemClock(), (source,) if source else able))
        table = str(table_of(settings))
        rows = [
            {"id": r.source, "symbols": r.symbols, "problem": r.problem, "file": table}
            for r in done
        ]
        show(rows, _COLUMNS, as_json=as_json)
        return 1 if any(r.problem for r in done) else 0

    raise typer.Exit(finish(command))
