"""Start-up time and idle memory are product features: what is not used is not imported."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "akshare",
    "anthropic",
    "asyncinotify",
    "baostock",
    "ccxt",
    "currency_converter",
    "ddgs",
    "discord",
    "exchange_calendars",
    "fontTools",
    "genai_prices",
    "google.genai",
    "jinja2",
    "jsonschema",
    "lxml",
    "matplotlib",
    "mcp",
    "numpy",
    "openai",
    "openpyxl",
    "opentelemetry",
    "pandas",
    "prometheus_client",
    "pyarrow",
    "pydantic_settings",
    "pypdf",
    "reportlab",
    "rich",
    "slack_bolt",
    "slack_sdk",
    "talipp",
    "telegram",
    "trafilatura",
    "typer",
    "uvicorn",
    "watchfiles",
    "yfinance",
}


def imported_by(code: str) -> set[str]:
    show = "\nimport sys; print(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code + show], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import gateway.settings.settings, gateway.preflight, gateway.cli.run",
        "from gateway import telemetry; telemetry.start()\nimport gateway.process",
    ],
)
def test_starting_imports_no_sdk(code: str):
    assert not HEAVY & imported_by(code)


PLATFORMS = {
    "telegram": ("telegram", "token: '1:a'"),
    "slack": ("slack_sdk", "bot_token: xoxb-a, app_token: xapp-a"),
    "discord": ("discord", "token: MTIz.b.c"),
}
SDKS = {"telegram", "slack_sdk", "slack_bolt", "discord"}


@pytest.mark.parametrize(
    "name", [*(pytest.param(name, marks=pytest.mark.slow) for name in PLATFORMS), "all"]
)
def test_only_the_sdks_of_enabled_channels_are_imported(name: str, tmp_path: Path) -> None:
    """Building the channels is all that a start does with them before it connects."""
    wanted = PLATFORMS if name == "all" else {name: PLATFORMS[name]}
    lines = [f"  {key}: {{enabled: true, {values}}}\n" for key, (_, values) in wanted.items()]
    config = tmp_path / "swarmgate.yaml"
    config.write_text("version: 1\nchannels:\n" + "".join(lines))
    config.chmod(0o600)
    loaded = imported_by(
        "from pathlib import Path\n"
        "import gateway.process\n"
        "from gateway.platforms import Wiring, platform_channels\n"
        "from gateway.settings.settings import load\n"
        "from gateway.commands.commands import Commands\n"
        "wiring = Wiring(None, object.__new__(Commands), None)\n"
        f"made = platform_channels(load(Path({str(config)!r}), {{}}), wiring)\n"
        f"assert [c.name for c in made] == {list(wanted)!r}"
    )
    assert loaded & SDKS == {sdk for sdk, _ in wanted.values()}
    # httpx, which python-telegram-bot is built on, imports its own command line where rich is installed.
    assert (HEAVY - SDKS - {"rich"}) & loaded == set()


def test_help_imports_no_part_of_the_gateway():
    loaded = imported_by("import gateway.cli.main")
    assert not {"gateway.process", "sqlalchemy", "aiohttp", "structlog", "rich"} & loaded


def test_the_words_of_recall_load_one_language():
    """The stemmer's package imports all of its languages when it is imported itself, for 3 MB."""
    loaded = imported_by(
        "from agent_core import words; words.warm(); assert words.stem('bonds') == 'bond'"
    )
    languages = {name for name in loaded if name.endswith("_stemmer")}
    assert languages == {"snowballstemmer_by_language.english_stemmer"}
