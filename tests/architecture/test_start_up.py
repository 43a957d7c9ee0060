"""Start-up time and idle memory are product features: what is not used is not imported."""

import subprocess
import sys

import pytest

HEAVY = {
    "anthropic",
    "discord",
    "genai_prices",
    "google.genai",
    "matplotlib",
    "numpy",
    "openai",
    "pydantic_settings",
    "rich",
    "slack_bolt",
    "slack_sdk",
    "talipp",
    "telegram",
    "typer",
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
        "import gateway.settings, gateway.preflight, gateway.cli.run",
        "from gateway import telemetry; telemetry.start()\nimport gateway.app",
    ],
)
def test_starting_imports_no_sdk(code: str):
    assert not HEAVY & imported_by(code)


def test_help_imports_no_part_of_the_gateway():
    loaded = imported_by("import gateway.cli.main")
    assert not {"gateway.app", "sqlalchemy", "aiohttp", "structlog", "rich"} & loaded
