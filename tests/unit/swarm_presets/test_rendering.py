"""How findings look: the wanted output of the presets guide, exactly."""

import json
from pathlib import Path

from gateway.presets.team_house import load_presets
from gateway.toolbox import toolbox
from swarm_presets.loader import load_folder
from swarm_presets.problems import render, to_json
from tests.house import settings
from tests.unit.swarm_presets.catalogue import ACTING, FIXTURES, TOOLS

EXPECTED = FIXTURES / "broken" / "expected.txt"


def test_all_findings_of_a_broken_file_are_shown_at_once_by_line() -> None:
    loaded = load_folder(FIXTURES / "broken", tools=TOOLS | ACTING, acting=ACTING)
    assert render(loaded.problems) == EXPECTED.read_text("utf-8")
    assert loaded.broken == {"broken-desk"}
    assert loaded.abstract == {"desk-base"}
    assert {"solo", "trading-desk"} <= loaded.teams.keys()


def test_the_ten_errors_are_the_ones_of_the_guide() -> None:
    """With the tools that there are and all that the gateway knows of them, as at the command line."""
    loaded = load_presets(settings(), toolbox(), FIXTURES / "broken")
    assert render(loaded.problems) == EXPECTED.read_text("utf-8")
    codes = "SW201 SW101 SW204 SW203 SW302 SW103 SW101 SW102 SW202 SW002"
    assert [p.code for p in loaded.problems] == codes.split()


def test_json_form_holds_the_same_findings() -> None:
    loaded = load_folder(FIXTURES / "broken", tools=TOOLS | ACTING, acting=ACTING)
    rows = json.loads(to_json(loaded.problems))
    assert rows[0] == {
        "code": "SW201",
        "severity": "error",
        "message": "no preset `desk-bse`",
        "file": "broken.yaml",
        "line": 3,
        "column": 10,
        "cure": "did you mean `desk-base`?",
    }
    assert len(rows) == len(loaded.problems)


def test_carets_stand_below_what_they_mark_after_wide_characters(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(
        "version: 1\nname: desk\nsupervisor: {role: 主管, tools: [chrat]}\n", "utf-8"
    )
    lines = render(load_folder(tmp_path, tools=TOOLS).problems).splitlines()
    assert lines[2].startswith("   3 | supervisor: {role: 主管, tools: [chrat]}")
    # Two Han characters take four columns of a terminal.
    assert lines[3].index("^") == lines[2].index("chrat") + 2


def test_long_lines_and_control_characters_are_tamed(tmp_path: Path) -> None:
    long = "x" * 400
    (tmp_path / "desk.yaml").write_text(
        f'version: 1\nname: desk\nsupervisor: {{role: "\\e{long}", tools: [chrat]}}\n'
        f'"\\e[31mred": 1\n'
    )
    text = render(load_folder(tmp_path, tools=TOOLS).problems)
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) < 260
