"""Reading a set again: what an edit does not touch is taken over, and nothing else is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from swarm_presets.files import Reader
from swarm_presets.loader import PresetSet, load_folder
from swarm_presets.problems import render
from tests.unit.swarm_presets.catalogue import TOOLS

BASE = "version: 1\nname: base\nabstract: true\nsupervisor: {prompt: {file: lead.md}, tools: [chart]}\n"
CHILD = "version: 1\nname: desk-%d\nextends: base\nsupervisor: {limits: {tool_rounds: 3}}\n"
ALONE = "version: 1\nname: alone-%d\nsupervisor: {prompt: P., tools: [chart]}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A base with a prompt file and three children, and ninety-six presets that stand alone."""
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "lead.md").write_text("Lead.")
    for number in range(3):
        (tmp_path / f"desk-{number}.yaml").write_text(CHILD % number)
    for number in range(96):
        (tmp_path / f"alone-{number}.yaml").write_text(ALONE % number)
    return tmp_path


def read(folder: Path, reader: Reader | None = None, tools: frozenset[str] = TOOLS) -> PresetSet:
    return load_folder(folder, tools=tools, shipped=False, reader=reader)


def test_after_an_edit_only_what_it_touches_is_worked_out_anew(folder: Path) -> None:
    """Reload to live: of a hundred presets one is parsed, checked and compiled, the others are the same objects."""
    reader = Reader()
    first = read(folder, reader)
    assert len(first.fresh) == 100
    assert read(folder, reader).fresh == frozenset()
    (folder / "alone-7.yaml").write_text(ALONE % 7 + "title: Seven\n")
    after = read(folder, reader)
    assert after.fresh == {"alone-7"}
    same = [name for name in first.trees if after.trees[name] is first.trees[name]]
    assert len(same) == 99
    assert after.teams["alone-7"].title == "Seven"
    assert after.teams["desk-1"] is first.teams["desk-1"]


FAMILY = {"base", "desk-0", "desk-1", "desk-2"}


def write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


EDITS: list[tuple[str, Callable[[Path], object], set[str]]] = [
    ("a base", write("base.yaml", BASE + "title: Base\n"), FAMILY),
    ("a base that is wrong now", write("base.yaml", BASE + "titel: Base\n"), FAMILY),
    ("the same, still wrong", lambda _: None, FAMILY),
    ("a base that is right again", write("base.yaml", BASE), FAMILY),
    ("a prompt file", write("lead.md", "Lead well."), FAMILY),
    ("a prompt file that is gone", lambda folder: (folder / "lead.md").unlink(), FAMILY),
    ("a prompt file that is back", write("lead.md", "Lead."), FAMILY),
    ("a second preset of a name", write("twin.yaml", ALONE % 1), {"alone-1"}),
    ("the first of them alone", lambda folder: (folder / "twin.yaml").unlink(), {"alone-1"}),
    (
        "a child without its parent",
        lambda folder: (folder / "base.yaml").unlink(),
        FAMILY - {"base"},
    ),
    ("a preset that is gone", lambda folder: (folder / "alone-2.yaml").unlink(), FAMILY - {"base"}),
    ("a base that is back", write("base.yaml", BASE), FAMILY),
    ("a comment", write("desk-1.yaml", CHILD % 1 + "# later\n"), {"desk-1"}),
]


def test_edit_by_edit_a_set_is_what_a_new_reading_makes_of_it(folder: Path) -> None:
    """The same teams, trees and findings, whatever was right or wrong before."""
    reader = Reader()
    read(folder, reader)
    for what, edit, touched in EDITS:
        edit(folder)
        again, anew = read(folder, reader), read(folder)
        assert again.fresh == touched, what
        assert render(again.problems) == render(anew.problems), what
        assert again.broken == anew.broken, what
        digests = {name: team.digest for name, team in again.teams.items()}
        assert digests == {name: team.digest for name, team in anew.teams.items()}, what
        assert again.trees.keys() == anew.trees.keys(), what


def test_a_tool_that_is_gone_is_missed_by_presets_that_did_not_change(folder: Path) -> None:
    reader = Reader()
    read(folder, reader)
    found = read(folder, reader, TOOLS - {"chart"})
    assert len(found.fresh) == 100
    assert {p.code for p in found.problems} == {"SW203"}
