"""Files that nobody should run: each is one clear error, and costs little."""

import time
from pathlib import Path

import pytest

from swarm_presets.loader import load_folder
from swarm_presets.problems import Problem
from tests.unit.swarm_presets.catalogue import TOOLS

DESK = "version: 1\nname: desk\nsupervisor: {prompt: {file: own.md}}\n"


def only(folder: Path) -> Problem:
    found = load_folder(folder, tools=TOOLS).problems
    assert len(found) == 1, found
    return found[0]


def test_five_megabytes_are_refused_unread(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text("a: " + "x" * 5_000_000)
    start = time.process_time()
    assert only(tmp_path).message == "the file is too large"
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("name", ["../own.md", "/etc/hosts", "a/../../own.md", "..\\own.md"])
def test_a_prompt_file_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "own.md").write_text("Secret.")
    folder = tmp_path / "presets"
    folder.mkdir()
    (folder / "desk.yaml").write_text(DESK.replace("own.md", name))
    found = only(folder)
    assert (found.code, found.cure) == ("SW206", "write a path inside the presets folder")


def test_a_link_to_a_prompt_outside_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text("Secret.")
    folder = tmp_path / "presets"
    folder.mkdir()
    (folder / "own.md").symlink_to(tmp_path / "own.md")
    (folder / "desk.yaml").write_text(DESK)
    assert "outside the presets folder" in only(folder).cure


def test_a_link_inside_the_folder_is_fine(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "own.md").write_text("Be brief.")
    (tmp_path / "own.md").symlink_to(tmp_path / "data" / "own.md")
    (tmp_path / "desk.yaml").write_text(DESK)
    loaded = load_folder(tmp_path, tools=TOOLS)
    assert loaded.teams["desk"].supervisor.prompt == "Be brief."


def test_a_preset_that_extends_itself_is_a_circle(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text("version: 1\nname: desk\nextends: desk\nsupervisor: {}\n")
    assert only(tmp_path).code == "SW306"


def test_a_text_that_is_no_yaml_stands_for_the_name_that_it_gives(tmp_path: Path) -> None:
    """A half-written file `mine.yaml` of the preset `solo` must not bring the shipped `solo` back."""
    (tmp_path / "mine.yaml").write_text("version: 1\nname: solo  # ours\nsupervisor: [\n")
    loaded = load_folder(tmp_path, tools=TOOLS)
    assert loaded.broken == {"solo"}
    assert "solo" not in loaded.teams
