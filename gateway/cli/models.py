"""`models`: which are configured, their windows, prices and use; and edits of the settings file about them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import finish, out, show
from gateway.problems import OperatorError, Problem
from gateway.settings.models import Models

if TYPE_CHECKING:
    from gateway.budgets.usage import Tally
    from gateway.settings.settings import Settings

app = typer.Typer(help="Models: list, add, default, fallback, cost, usage.", no_args_is_help=True)

_COLUMNS = ("id", "use", "key", "context_window", "input_per_mtok", "output_per_mtok")
_USED = ("id", "calls", "input_tokens", "output_tokens", "cache_share", "usd", "saved_usd")
_VARIABLE = re.compile(
    r"[A-Z_][A-Z0-9_]{0,63}"
)  # upper case alone: a pasted key passes for no name
_RESTART = "a running gateway takes it up when it is started again"
Price = Annotated[float | None, typer.Option(min=0, help="US dollars per million tokens.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="<provider>/<model>, auto or demo.")]


@app.command("list")
def listing(as_json: Json = False, config: Config = None) -> None:
    """The models of the settings: their use, whether a key is set, window (tokens), price (USD per million tokens)."""

    def command() -> int:
        models = settings_for(config).models
        show([_row(name, use, models) for name, use in _named(models)], _COLUMNS, as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="<provider> or <provider>/<model>.")],
    base_url: Annotated[
        str | None, typer.Option(help="Its address, such as http://host/v1.")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="anthropic, openai or gemini.")] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="The variable that holds its key (never the key itself).")
    ] = None,
    config: Config = None,
) -> None:
    """Add a provider of models, or change one: a ready one by its name alone, any other with its --base-url."""

    def command() -> int:
        provider, _, model = name.partition("/")
        values = _entry(provider, model, base_url, kind, api_key_env)
        _edit(config, lambda root: _put(root, ("models", "providers", provider), values))
        out(f"models.providers.{provider} is set; {_RESTART}")
        return 0

    raise typer.Exit(finish(command))


@app.command()
def default(name: Name, config: Config = None) -> None:
    """The model that answers where a chat has chosen none."""

    def command() -> int:
        _edit(config, lambda root: _put(root, ("models",), {"default": name}))
        out(f"models.default is {name}; {_RESTART}")
        return 0

    raise typer.Exit(finish(command))


@app.command()
def fallback(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="In order of preference.")
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="No model stands in.")] = False,
    config: Config = None,
) -> None:
    """The models that answer, in this order, when the default one cannot."""

    def command() -> int:
        if bool(names) == none:
            raise OperatorError([Problem("name the models in order, or write --none")])

        def change(root: Any) -> None:
            from gateway.settings.edit import flow

            _put(root, ("models",), {"fallback": flow(names or [])})

        _edit(config, change)
        out(f"models.fallback is {', '.join(names or []) or 'empty'}; {_RESTART}")
        return 0

    raise typer.Exit(finish(command))


@app.command()
def cost(
    name: Annotated[str, typer.Argument(metavar="NAME", help="<provider>/<model>.")],
    input_per_1m: Price = None,
    output_per_1m: Price = None,
    cache_read_per_1m: Price = None,
    cache_write_per_1m: Price = None,
    context_window: Annotated[int | None, typer.Option(min=1, help="Tokens.")] = None,
    config: Config = None,
) -> None:
    """What a model costs, and its window; wins over what is known about it."""

    def command() -> int:
        given = {
            "input_per_mtok": input_per_1m,
            "output_per_mtok": output_per_1m,
            "cache_read_per_mtok": cache_read_per_1m,
            "cache_write_per_mtok": cache_write_per_1m,
            "context_window": context_window,
        }
        values: dict[str, object] = {
            key: _plain(value) for key, value in given.items() if value is not None
        }
        if not values:
            raise OperatorError([Problem("say what it costs", "such as --input-per-1m 0.5")])
        _edit(config, lambda root: _put(root, ("models", "overrides", name), values))
        said = ", ".join(f"{key} {value}" for key, value in values.items())
        out(f"models.overrides of {name}: {said}; {_RESTART}")
        return 0

    raise typer.Exit(finish(command))


@app.command()
def usage(
    days: Annotated[int, typer.Option(min=1, max=3660, help="Today included.")] = 30,
    by: Annotated[str, typer.Option(help="model, user, preset or day.")] = "model",
    as_json: Json = False,
    config: Config = None,
) -> None:
    """What model calls have used and cost, and what caching saved. An unknown price is said, never counted as 0."""

    def command() -> int:
        if by not in {"model", "user", "preset", "day"}:
            raise OperatorError([Problem(f"there is no sum by {by}", "model, user, preset or day")])
        rows = [_used(tally) for tally in _tallies(settings_for(config), days, by)]  # type: ignore[arg-type]
        if as_json:
            show(rows, _USED, as_json=True)
        else:
            show([_shown(row) for row in rows], _USED, as_json=False, empty="no model call yet")
        return 0

    raise typer.Exit(finish(command))


def _edit(config: Path | None, change: Callable[[Any], None]) -> None:
    """Edit the settings file; raises an OperatorError where there is none, or where the edit is wrong."""
    import os

    from gateway.cli.config import find
    from gateway.settings.edit import edit

    path = find(config)
    if path is None:
        cure = "make one with `swarmgate init`, or name one with -c"
        raise OperatorError([Problem("there is no settings file here", cure)])
    edit(path, change, os.environ)


def _put(root: Any, keys: tuple[str, ...], values: dict[str, object]) -> None:
    from gateway.settings.edit import put

    put(root, keys, values)


def _plain(value: float) -> float | int:
    """A number as a person would write it."""
    return int(value) if float(value).is_integer() else value


def _entry(
    provider: str, model: str, base_url: str | None, kind: str | None, variable: str | None
) -> dict[str, object]:
    """The values of a provider's entry. Raises an OperatorError for what cannot be one."""
    from agent_core.models.catalog import PROVIDERS
    from gateway.settings.edit import quoted

    ready = PROVIDERS.get(provider)
    if ready is None and base_url is None and kind is None:
        cure = f"name its --base-url; ready ones are {', '.join(PROVIDERS)}"
        raise OperatorError([Problem(f"{provider} is no ready provider", cure)])
    if variable is not None and not _VARIABLE.fullmatch(variable):
        cure = "write the variable's name, such as MY_API_KEY; keys are never written to the file"
        raise OperatorError([Problem("--api-key-env is not the name of a variable", cure)])
    values: dict[str, object] = {}
    if kind is not None:
        values["kind"] = kind
    if base_url is not None:
        values["base_url"] = base_url
    if variable := variable or (ready.key_env if ready else None):
        values["api_key"] = quoted(f"${{{variable}:-}}")
    if model:
        values["model"] = model
    return values


def _tallies(
    settings: "Settings", days: int, by: Literal["model", "user", "preset", "day"]
) -> "list[Tally]":
    import datetime as dt

    from gateway.budgets import usage
    from gateway.cli.admin import transact

    zone = settings.locale.timezone
    since = usage.first_moment(dt.datetime.now(dt.UTC), days, zone)
    return transact(settings, lambda conn: usage.by(conn, usage.Scope(since=since), by, zone))


def _used(tally: "Tally") -> dict[str, object]:
    return {
        "id": tally.key or "-",
        "calls": tally.calls,
        "input_tokens": tally.input,
        "output_tokens": tally.output,
        "cache_read_tokens": tally.read,
        "cache_write_tokens": tally.written,
        "cache_share": round(tally.hit_share, 4),
        "usd": tally.cost,
        "priced_usd": tally.usd,
        "unpriced_calls": tally.unpriced,
        "saved_usd": tally.saved if tally.compared else None,
    }


def _shown(row: dict[str, object]) -> dict[str, object]:
    """A row for people: what is unknown is said to be so."""
    usd = row["usd"]
    unknown = "unknown" if row["unpriced_calls"] == row["calls"] else f"{row['priced_usd']:.4f} + ?"
    return row | {
        "usd": unknown if usd is None else f"{usd:.4f}",
        "saved_usd": "unknown" if row["saved_usd"] is None else f"{row['saved_usd']:.4f}",
        "cache_share": f"{row['cache_share']:.0%}",
    }


def _named(models: Models) -> list[tuple[str, str]]:
    """Model names with their use; `auto` and `demo` stand for themselves."""
    from agent_core.models.catalog import PROVIDERS

    uses = {models.default: "default"}
    for position, name in enumerate(models.fallback, 1):
        uses.setdefault(name, f"fallback {position}")
    for provider, entry in models.providers.items():
        ready = PROVIDERS.get(provider)
        if model := entry.model or (ready.model if ready else ""):
            uses.setdefault(f"{provider}/{model}", "")
    for name in models.overrides:
        uses.setdefault(name, "")
    return list(uses.items())


def _row(name: str, use: str, models: Models) -> dict[str, object]:
    from agent_core.models.catalog import info

    if name in {"auto", "demo"}:
        return {"id": name, "use": use}
    entry = models.providers.get(name.partition("/")[0])
    facts = info(name, models.facts(), entry.kind if entry else "openai")
    price = facts.price
    return {
        "id": name,
        "use": use,
        "kind": entry.kind if entry else None,
        "key": bool(entry and entry.api_key),
        "base_url": entry.base_url if entry else None,
        "context_window": facts.context_window,
        "max_output_tokens": facts.max_output_tokens,
        "vision": facts.vision,
        "input_per_mtok": price and price.input,
        "output_per_mtok": price and price.output,
    }
