"""`models`: entries, defaults, prices and use from the command line (MDL-2, MDL-3)."""

import datetime as dt
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection

from agent_core.storage.prepared import together
from agent_core.storage.statements import add_usage, ensure_session, opening_turn
from agent_core.types import Usage
from gateway.cli.admin import transact
from gateway.settings.settings import load
from tests.unit.gateway.test_cli import Command, swarmgate

__all__ = ["swarmgate"]

PLAIN = "version: 1 # one\nmodels:\n  default: demo # the planner\n"


@pytest.fixture
def file(swarmgate: Command) -> Path:
    path = swarmgate.folder / "swarmgate.yaml"
    path.write_text(PLAIN)
    return path


def test_a_provider_of_ones_own_is_added_named_priced_and_listed(
    swarmgate: Command, file: Path
) -> None:
    """MDL-2: add, default, fallback, cost, list."""
    swarmgate("models", "add", "mine/large", "--base-url", "http://127.0.0.1:9/v1")
    swarmgate("models", "default", "mine/large")
    swarmgate("models", "fallback", "mine/small", "demo")
    options = ("--input-per-1m", "0.5", "--output-per-1m", "2", "--cache-read-per-1m", "0.05")
    swarmgate("models", "cost", "mine/large", *options, "--context-window", "32000")
    rows = {row["id"]: row for row in swarmgate.json("models", "list")}
    large = rows["mine/large"]
    assert (large["use"], large["context_window"]) == ("default", 32_000)
    assert (large["input_per_mtok"], large["output_per_mtok"]) == (0.5, 2.0)
    assert rows["mine/small"]["use"] == "fallback 1"
    assert file.read_text().startswith(
        "version: 1 # one\nmodels:\n  default: mine/large # the planner\n"
    )


def test_a_ready_provider_needs_its_name_alone_and_no_key_is_ever_written(
    swarmgate: Command, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-very-secret")
    swarmgate("models", "add", "deepseek")
    swarmgate("models", "add", "deepseek/deepseek-reasoner", "--api-key-env", "MY_KEY")
    text = file.read_text()
    assert 'deepseek: {api_key: "${MY_KEY:-}", model: deepseek-reasoner}' in text
    said = swarmgate("models", "add", "deepseek", "--api-key-env", "sk-very-secret", code=2)
    assert "sk-very-secret" not in said + file.read_text()
    assert "is not the name of a variable" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add", "nowhere"], "nowhere is no ready provider; name its --base-url"),
        (["add", "x", "--base-url", "zz"], "models.providers.x.base_url: is not an address"),
        (["add", "x", "--kind", "y", "--base-url", "http://h"], "must be 'anthropic', 'openai'"),
        (["default", "opnai/x"], "there is no provider 'opnai'; did you mean openai?"),
        (["default", "gpt"], "'gpt' is not a model"),
        (["default", "openai/x"], "openai/x needs an API key; set OPENAI_API_KEY"),
        (["fallback"], "name the models in order, or write --none"),
        (["fallback", "demo", "--none"], "name the models in order, or write --none"),
        (["cost", "demo"], "say what it costs; such as --input-per-1m 0.5"),
        (["cost", "a/b", "--input-per-1m", "-1"], "--input-per-1m"),
        (["usage", "--by", "shoe"], "there is no sum by shoe"),
        (["usage", "--days", "0"], "--days"),
    ],
)
def test_a_wrong_edit_changes_nothing_and_says_why(
    swarmgate: Command, file: Path, arguments: list[str], said: str
) -> None:
    assert said in swarmgate("models", *arguments, code=2)
    assert file.read_text() == PLAIN
    assert [p.name for p in swarmgate.folder.iterdir() if "swarmgate" in p.name] == [file.name]


def test_without_a_file_there_is_nothing_to_edit(swarmgate: Command) -> None:
    said = swarmgate("models", "default", "demo", code=2)
    assert said == (
        "swarmgate: there is no settings file here; make one with `swarmgate init`, or name one with -c\n"
    )


def test_fallbacks_can_be_taken_away(swarmgate: Command, file: Path) -> None:
    swarmgate("models", "fallback", "demo")
    swarmgate("models", "fallback", "--none")
    assert "fallback: []" in file.read_text()


def test_gemini_without_its_package_is_told_how_to_get_it(
    swarmgate: Command, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    swarmgate("models", "default", "gemini/gemini-2.5-flash")
    monkeypatch.setitem(sys.modules, "google", None)
    monkeypatch.delitem(sys.modules, "google.genai", raising=False)
    assert "install it: pip install 'swarmgate[gemini]'" in swarmgate("models", "list", code=2)


def fill(conn: Connection) -> None:
    """Three calls of two people in two presets; one without a known price."""
    now = dt.datetime.now(dt.UTC)
    for n, (owner, preset) in enumerate([("telegram:1", "solo"), ("telegram:2", "desk")], 1):
        ensure_session(conn, f"s{n}", owner, now)
        opened = opening_turn(
            turn_id=n, session_id=f"s{n}", principal=owner, preset=preset, horizon=0, now=now
        )
        together(conn, [opened])
    priced = Usage(100, 50, 800, 100, 0.002, 0, 0.005)
    unpriced = Usage(10, 5, usd=None, usd_uncached=None)
    for turn, owner, model, used, days in [
        (1, "telegram:1", "anthropic/c", priced, 0),
        (1, "telegram:1", "qwen/q", unpriced, 0),
        (2, "telegram:2", "anthropic/c", priced, 40),
    ]:
        at = now - dt.timedelta(days=days)
        add_usage(
            conn, turn_id=turn, session_id=f"s{turn}", owner=owner, model=model, usage=used, now=at
        )


def test_use_is_summed_by_model_user_preset_and_day(swarmgate: Command, file: Path) -> None:
    """MDL-2, MDL-3: an unknown price is unknown, not 0; per user and per preset totals."""
    transact(load(None, {}), fill)
    rows = {row["id"]: row for row in swarmgate.json("models", "usage", "--days", "90")}
    claude, qwen = rows["anthropic/c"], rows["qwen/q"]
    assert (claude["calls"], claude["input_tokens"], claude["output_tokens"]) == (2, 2_000, 100)
    assert claude["cache_share"] == 0.8
    assert claude["usd"] == pytest.approx(0.004)
    assert claude["saved_usd"] == pytest.approx(0.006)
    assert (qwen["usd"], qwen["saved_usd"], qwen["unpriced_calls"]) == (None, None, 1)
    users = swarmgate.json("models", "usage", "--days", "90", "--by", "user")
    assert {r["id"]: (r["calls"], r["usd"]) for r in users} == {
        "telegram:1": (2, None),
        "telegram:2": (1, pytest.approx(0.002)),
    }
    presets = swarmgate.json("models", "usage", "--days", "90", "--by", "preset")
    assert {r["id"]: r["calls"] for r in presets} == {"solo": 2, "desk": 1}
    assert len(swarmgate.json("models", "usage", "--days", "90", "--by", "day")) == 2
    assert len(swarmgate.json("models", "usage", "--days", "7", "--by", "user")) == 1
    table = swarmgate("models", "usage", "--days", "90")
    assert "80%" in table
    assert "unknown" in table


def test_no_use_is_said(swarmgate: Command) -> None:
    assert swarmgate("models", "usage") == "no model call yet\n"
    assert swarmgate.json("models", "usage") == []
