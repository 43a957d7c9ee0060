"""The wheel holds the four packages, all their data, and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.architecture.sources import PACKAGES, ROOT, tracked

DATA = (".csv", ".csv.gz", ".yaml", ".md", ".html", ".js", ".css", ".mako")


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What a wheel built from this tree holds. Built without isolation: tests have no network."""
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = target.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_it_holds_the_four_packages_only(names: set[str]):
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    assert len(tops) == len(PACKAGES) + 1


def test_every_file_of_the_packages_is_in_it(names: set[str]):
    files = {str(path) for path in tracked() if path.parts[0] in PACKAGES}
    assert files - names == set()


def test_data_files_are_in_it(names: set[str]):
    kinds = {ending for ending in DATA if any(name.endswith(ending) for name in names)}
    assert kinds == set(DATA)
    for name in (
        "agent_core/finance/data/NOTICE",
        "channels/web/static/index.html",
        "gateway/cli/starter/settings.yaml",
        "gateway/migrations/env.py",
        "swarm_presets/presets/solo.yaml",
        "swarm_presets/presets/trading-desk.yaml",
    ):
        assert name in names


def test_it_installs_the_command(names: set[str]):
    (entry,) = (name for name in names if name.endswith("entry_points.txt"))
    assert entry.startswith("swarmgate-")


def test_licences_are_in_it(names: set[str]):
    assert {Path(name).name for name in names if "/licenses/" in name} >= {"LICENSE", "NOTICE"}
