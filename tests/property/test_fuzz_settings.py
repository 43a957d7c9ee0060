"""No settings file, however damaged, ends in anything but settings or a list of what is wrong, with its places."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.problems import SettingsError
from gateway.settings.settings import load
from tests.architecture.sources import ROOT
from tests.property.mutations import Recorded, damaged, mutated
from tests.property.storing import CPU_SECONDS
from tests.property.test_fuzz_platforms import FULL, QUICK

EXAMPLE = (ROOT / "deploy" / "swarmgate.example.yaml").read_text("utf-8")
PLAIN: dict[str, Any] = {
    "version": 1,
    "models": {
        "default": "demo",
        "fallback": ["openai/x"],
        "overrides": {"a/b": {"input_per_mtok": 1}},
    },
    "channels": {"telegram": {"enabled": False, "token": "${TOKEN:-}"}, "web": {"enabled": True}},
    "access": {"default": "pairing", "allow": ["telegram:1"], "roles": {"desk": ["telegram:2"]}},
    "http": {"host": "127.0.0.1", "port": 8080, "public_url": "https://desk.example.org"},
    "console": {"tokens": {"bob": {"token": "bob-token-0123456789abcdef", "role": "viewer"}}},
    "budgets": {"user_day": {"usd": 2.0}, "day": {"usd": 25}},
    "hooks": {"charts": {"secret": "s" * 20, "as": "telegram:1", "say": "Judge {x}."}},
    "schedules": [{"cron": "0 8 * * *", "to": "telegram:7", "say": "hi", "as": "telegram:1"}],
    "groups": {"mention": "required"},
}
ENV = {"TOKEN": "123456:abc", "SWARMGATE__HTTP__PORT": "80", "SWARMGATE__A__B": "{"}
TREES = mutated(Recorded([PLAIN])).map(lambda tree: json.dumps(tree).encode())
YAMLS = mutated(Recorded([PLAIN])).map(
    lambda tree: yaml.safe_dump(tree, allow_unicode=True).encode("utf-8", "replace")
)
BODIES = st.one_of(TREES, YAMLS, damaged(Recorded([EXAMPLE.encode()])))


def problems_of(file: Path) -> list[str]:
    """What is wrong with a file; anything else that is raised is a failure of the test."""
    try:
        load(file, ENV)
    except SettingsError as refused:
        return [str(problem) for problem in refused.problems] or ["nothing is said"]
    return []


def holds(file: Path, body: bytes) -> None:
    file.write_bytes(body)
    began = time.process_time()
    for problem in problems_of(file):
        assert problem != "nothing is said"
        assert "\n" not in problem, "one line each"
        assert ENV["TOKEN"] not in problem
    assert time.process_time() - began < CPU_SECONDS


@pytest.mark.parametrize(
    "profile", [QUICK, pytest.param(FULL, marks=[pytest.mark.slow, pytest.mark.timeout(300)])]
)
def test_any_file_is_settings_or_a_list_of_problems(profile: settings, tmp_path: Path) -> None:
    profile(given(BODIES)(lambda body: holds(tmp_path / "swarmgate.yaml", body)))()
