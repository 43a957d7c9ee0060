"""`models`: which are configured, with their windows and prices."""

import typer

from gateway.cli.config import settings_for
from gateway.cli.options import Config, Json
from gateway.cli.output import finish, show
from gateway.settings_models import Models

app = typer.Typer(help="Models: list.", no_args_is_help=True)

_COLUMNS = ("id", "use", "key", "context_window", "input_per_mtok", "output_per_mtok")


@app.command("list")
def listing(as_json: Json = False, config: Config = None) -> None:
    """The models of the settings: their use, whether a key is set, window (tokens), price (USD per million tokens)."""

    def command() -> int:
        models = settings_for(config).models
        show([_row(name, use, models) for name, use in _named(models)], _COLUMNS, as_json=as_json)
        return 0

    raise typer.Exit(finish(command))


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
