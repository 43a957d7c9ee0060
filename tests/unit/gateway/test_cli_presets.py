"""The commands around presets: forms of findings, explain, diff, plan, new, schema, migrate."""

import json
from pathlib import Path

import pytest

from swarm_presets.schema import schema_text
from tests.unit.gateway.test_cli import Command

MINE = "version: 1\nname: mine\nextends: solo\nsupervisor: {limits: {time: 5m}}\n"


@pytest.fixture
def swarmgate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    (tmp_path / "presets").mkdir()
    return Command(tmp_path, monkeypatch)


def write(text: str, name: str = "mine") -> None:
    Path("presets", f"{name}.yaml").write_text(text)


def test_findings_come_as_text_json_sarif_and_github(swarmgate: Command) -> None:
    write(MINE.replace("time:", "tmie:"))
    validate = ("presets", "validate", "presets")
    assert "mine.yaml:4:23" in swarmgate(*validate, code=1)
    assert json.loads(swarmgate(*validate, "--format", "json", code=1))[0]["code"] == "SW101"
    sarif = json.loads(swarmgate(*validate, "--format", "sarif", code=1))
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "presets/mine.yaml"
    said = swarmgate(*validate, "--format", "github", code=1)
    assert said.startswith("::error file=presets/mine.yaml,line=4,col=23,")
    assert said.count("\n") == 1


def test_a_warning_is_told_and_is_no_failure(swarmgate: Command) -> None:
    write("version: 1\nname: mine\nsupervisor: {prompt: Use get_market_history., tools: [chart]}\n")
    said = swarmgate("presets", "validate")
    assert "warning[SW403]" in said
    assert "mine" in said.partition("fine: ")[2].split(", ")


def test_of_files_that_are_asked_about_these_alone_are_called_fine(swarmgate: Command) -> None:
    """Also one to be extended; what holds no preset at all is not fine."""
    write(MINE)
    write("version: 1\nname: base\nabstract: true\n", "base")
    assert swarmgate("presets", "validate", "presets/mine.yaml") == "fine: mine\n"
    assert swarmgate("presets", "validate", "presets/base.yaml") == "fine: base\n"
    Path("none").mkdir()
    assert "none: there is no preset in it" in swarmgate("presets", "validate", "none", code=2)
    Path("presets", "lost.yaml").symlink_to("nowhere.yaml")
    assert "no such file" in swarmgate("presets", "validate", "presets/lost.yaml", code=2)


def test_explain_and_diff_name_the_lines(swarmgate: Command) -> None:
    write(MINE)
    said = swarmgate("presets", "explain", "mine")
    assert "time: 5m" in said
    assert "# mine.yaml:4" in said
    rows = swarmgate.json("presets", "explain", "mine")
    assert ("supervisor.limits.time", "mine.yaml", 4) in [
        (r["path"], r["file"], r["line"]) for r in rows
    ]
    said = swarmgate("presets", "diff", "solo", "mine", code=1)
    assert "supervisor.limits.time\n  - 10m" in said
    assert "  + 5m" in said
    assert swarmgate("presets", "diff", "solo", "solo") == "no difference\n"
    rows = swarmgate.json("presets", "diff", "solo", "mine", code=1)
    assert {"id": "supervisor.limits.time", "solo": "10m", "mine": "5m"}.items() <= next(
        r for r in rows if r["id"] == "supervisor.limits.time"
    ).items()
    assert "there is no preset 'nope'" in swarmgate("presets", "explain", "nope", code=2)
    write("version: 1\nname: mine\nextends: sole\n")
    assert "no preset `sole`" in swarmgate("presets", "explain", "mine", code=2)


def test_plan_counts_dollars_where_the_model_has_a_price(swarmgate: Command) -> None:
    write(
        "version: 1\nname: mine\nextends: solo\nsupervisor: {model: anthropic/claude-sonnet-4-5}\n"
    )
    rows = {row["id"]: row for row in swarmgate.json("presets", "plan", "mine")}
    assert rows["supervisor"]["calls"] == 16
    assert rows["run"]["time"] == "600s"
    usd = rows["run"]["usd"]
    assert isinstance(usd, float)
    assert usd > 1
    assert "left open" in swarmgate("presets", "plan", "trading-desk")


def test_a_new_preset_is_fine_at_once_and_overwrites_nothing(swarmgate: Command) -> None:
    said = swarmgate("presets", "new", "my-desk", "--from", "trading-desk")
    assert "my-desk.yaml" in said
    assert "my-desk" in swarmgate("presets", "validate")
    assert Path("presets/swarm.schema.json").read_text() == schema_text()
    assert "exists already" in swarmgate("presets", "new", "my-desk", code=2)
    assert "no name" in swarmgate("presets", "new", "My Desk", code=2)
    assert "no preset" in swarmgate("presets", "new", "other", "--from", "nope", code=2)


def test_the_schema_is_printed_or_written(swarmgate: Command) -> None:
    assert swarmgate("presets", "schema") == schema_text()
    swarmgate("presets", "schema", "-o", "out.json")
    assert Path("out.json").read_text() == schema_text()


def test_migrate_has_nothing_to_do_and_names_what_has_no_version(swarmgate: Command) -> None:
    assert "nothing to do" in swarmgate("presets", "migrate")
    write(MINE.replace("version: 1\n", ""))
    assert "mine.yaml" in swarmgate("presets", "migrate", code=1)
