"""Every code of the validator: a bad file that has exactly it, a good file that differs and has none."""

from pathlib import Path

import pytest

from gateway.redact import Redactor
from swarm_presets.files import Reader
from swarm_presets.loader import PresetSet, load_folder
from swarm_presets.problems import render
from tests.unit.swarm_presets.catalogue import (
    ACTING,
    FIXTURES,
    LEAD,
    MODELS,
    SERVERS,
    SKILLS,
    SOURCES,
    TOOLS,
    price,
)

READER = Reader()  # the shipped presets are the same for each case
CASES = sorted((FIXTURES / "codes").iterdir())
CODES = {case.name.split("-")[0] for case in CASES}
WARNINGS = {"SW401", "SW402", "SW403", "SW404", "SW405", "SW406", "SW407"}


def code_of(case: Path) -> str:
    return case.name.split("-")[0]


def load(case: Path, kind: str) -> PresetSet:
    """What this version does not enforce yet is no finding here, but for the cases about just that."""
    file = case / f"{kind}.yaml"
    return load_folder(
        file if file.exists() else case / kind,
        tools=TOOLS | ACTING | LEAD | SERVERS["files"] | {"load_skill"},
        models=MODELS,
        acting=ACTING,
        price=price,
        lead=LEAD,
        redact=Redactor().text,
        sources=SOURCES,
        skills=SKILLS,
        servers=SERVERS,
        reader=READER,
        schema_only=True,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_file_has_its_finding_and_no_other(case: Path) -> None:
    loaded = load(case, "bad")
    code = code_of(case)
    assert {p.code for p in loaded.problems} == {code}, render(loaded.problems)
    assert bool(loaded.broken) == (code not in WARNINGS)
    for found in loaded.problems:
        assert found.severity == ("warning" if code in WARNINGS else "error")
        assert found.message
        assert found.cure
        assert "\n" not in found.message + found.cure
        assert found.line >= 1
        assert found.column >= 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_good_file_has_none_and_is_usable(case: Path) -> None:
    loaded = load(case, "good")
    assert render(loaded.problems) == ""
    assert not loaded.broken
    assert len(loaded.trees) >= 3


def test_each_code_has_a_case() -> None:
    wanted = "SW001 SW002 SW101 SW102 SW103 SW104 SW105 SW201 SW202 SW203 SW204 SW205 SW206 SW207"
    wanted += " SW208 SW209 SW210"
    meaning = "SW301 SW302 SW303 SW304 SW305 SW306 SW307 SW308 SW309 SW310 SW311"
    assert {*wanted.split(), *meaning.split(), *WARNINGS} == CODES
