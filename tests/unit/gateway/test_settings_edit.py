"""Edits of the settings file: comments, order and style stay; a wrong edit changes nothing."""

from pathlib import Path
from typing import Any

import pytest

from gateway.problems import OperatorError, SettingsError
from gateway.settings.edit import edit, flow, put, quoted

ENTRY = {"base_url": "http://127.0.0.1:9/v1", "api_key": quoted("${MINE_KEY:-}")}


def add(root: Any) -> None:
    put(root, ("models", "providers", "mine"), ENTRY)


def changed(folder: Path, text: str, change: Any = add) -> str:
    path = folder / "swarmgate.yaml"
    path.write_bytes(text.encode())
    edit(path, change, {})
    return path.read_bytes().decode()


def added_to(before: str, after: str) -> list[str]:
    """The lines that are new; all others are there in their order."""
    old, new = before.splitlines(), after.splitlines()
    extra = []
    for line in new:
        if old and line == old[0]:
            old.pop(0)
        else:
            extra.append(line)
    assert old == [], after
    return extra


LINE = '{base_url: http://127.0.0.1:9/v1, api_key: "${MINE_KEY:-}"}'


@pytest.mark.parametrize(
    "before",
    [
        "# mine\nversion: 1 # first\n\n# models\nmodels:\n  default: auto # or demo\n\n# channels\n"
        "channels:\n  web: {enabled: true}\n",
        "version: 1\nmodels:\n  providers:\n    deepseek:\n      api_key: x # a\n      # b\n\n# c\n\n"
        "http:\n  port: 1\n",
        "version: 1\nmodels:\n  providers:\n    deepseek:\n      api_key: x\n\n# c\nhttp: {port: 1}\n",
        "version: 1\nmodels:\n  providers:\n    deepseek: {api_key: x} # a\n\n# c\nhttp: {port: 1}\n",
        "version: 1\nmodels:\n  fallback:\n  - demo # a\n  # b\n  providers:\n    a: {}\n# c\nhttp: {port: 1}\n# end\n",
        "version: 1\nmodels:\n    fallback:\n      - demo # a\n\n# c\nhttp:\n    port: 1\n",
        "http: {port: 1}\nversion: 1\n",
    ],
)
def test_an_entry_is_added_and_every_line_stays(tmp_path: Path, before: str) -> None:
    after = changed(tmp_path, before)
    extra = [line.strip() for line in added_to(before, after)]
    assert [line for line in extra if line not in {"models:", "providers:"}] == [f"mine: {LINE}"]


def test_comments_stay_with_the_key_that_they_stand_above(tmp_path: Path) -> None:
    before = "version: 1\nmodels:\n  providers:\n    a:\n      model: x\n\n# about http\nhttp: {port: 1}\n"
    after = changed(tmp_path, before)
    assert after.endswith(f"    mine: {LINE}\n\n# about http\nhttp: {{port: 1}}\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("version: 1\nmodels: {default: auto}\n", "version: 1\nmodels: {default: demo}\n"),
        ("version: 1\nmodels:\n", "version: 1\nmodels:\n  default: demo\n"),
        (
            "version: 1\nmodels: {}\nhttp: {port: 1}\n",
            "version: 1\nmodels:\n  default: demo\nhttp: {port: 1}\n",
        ),
        (
            "version: 1\nmodels:\n  default:   auto   # why\n",
            "version: 1\nmodels:\n  default: demo     # why\n",
        ),
        (
            "version: 1\r\nmodels:\r\n  default: auto\r\n",
            "version: 1\r\nmodels:\r\n  default: demo\r\n",
        ),
        (
            "\ufeffversion: 1\nmodels:\n  default: auto\n",
            "\ufeffversion: 1\nmodels:\n  default: demo\n",
        ),
        (
            "version: 1\ndatabase: null\npresets_dir: 'a'\nmodels:\n  default: \"auto\"\n",
            "version: 1\ndatabase: null\npresets_dir: 'a'\nmodels:\n  default: \"demo\"\n",
        ),
    ],
)
def test_a_value_is_replaced_in_its_place(tmp_path: Path, before: str, after: str) -> None:
    assert changed(tmp_path, before, lambda r: put(r, ("models",), {"default": "demo"})) == after


def test_a_list_is_written_on_its_line(tmp_path: Path) -> None:
    change = lambda r: put(r, ("models",), {"fallback": flow(["demo"])})  # noqa: E731
    text = changed(tmp_path, "version: 1\nmodels:\n  fallback: [] # none\n", change)
    assert text == "version: 1\nmodels:\n  fallback: [demo] # none\n"


def test_a_wrong_edit_changes_nothing_and_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "swarmgate.yaml"
    path.write_text("version: 1\nmodels:\n  default: auto\n")
    with pytest.raises(SettingsError, match=r"swarmgate\.yaml:3:12: models\.default: .*opnai"):
        edit(path, lambda r: put(r, ("models",), {"default": "opnai/x"}), {})
    assert path.read_text() == "version: 1\nmodels:\n  default: auto\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_broken_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "swarmgate.yaml"
    path.write_text("version: [1\n")
    with pytest.raises(OperatorError, match="is not YAML"):
        edit(path, add, {})
    assert path.read_text() == "version: [1\n"


def test_the_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "swarmgate.yaml"
    real.write_text("version: 1\n")
    real.chmod(0o640)
    link.symlink_to(real)
    edit(link, add, {})
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "mine" in real.read_text()


@pytest.mark.parametrize(
    "name", ["gateway/cli/starter/settings.yaml", "deploy/swarmgate.example.yaml"]
)
def test_the_shipped_files_are_edited_line_by_line(tmp_path: Path, name: str) -> None:
    before = (Path(__file__).parents[3] / name).read_text()
    for variable in ("${DATABASE_URL}",):
        before = before.replace(variable, "x")
    after = changed(tmp_path, before)
    assert [line.strip() for line in added_to(before, after)] == [f"mine: {LINE}"]
