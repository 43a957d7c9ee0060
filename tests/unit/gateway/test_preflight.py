"""What stops a start, and how it is said."""

import os
import sys
from pathlib import Path

import pytest

from gateway import preflight
from gateway.problems import OperatorError
from tests.pace import cpu_seconds

NOBODY = 65534


def distribution(folder: Path, name: str, record: str = "", top_level: str = "") -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    if record:
        (info / "RECORD").write_text(record)
    if top_level:
        (info / "top_level.txt").write_text(top_level)


def files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()


def test_this_environment_is_fine(tmp_path: Path):
    assert preflight.check(tmp_path / "data") == []
    assert not (tmp_path / "data").exists()
    preflight.require(tmp_path)


def test_a_foreign_owner_of_our_names_is_refused(tmp_path: Path):
    distribution(tmp_path, "swarmgate", "channels/base.py,sha256=x,1\ngateway/app.py,,\n")
    distribution(tmp_path, "channels", "channels/consumer.py,sha256=x,1\nchannels/db.py,,\n")
    distribution(tmp_path, "other", "other/channels/x.py,,\nchannels_redis/core.py,,\n")
    distribution(tmp_path, "Old_Gateway", top_level="gateway\n")
    distribution(tmp_path, "single", "swarm_presets.py,sha256=x,1\n")
    files(tmp_path, "channels/consumer.py", "swarm_presets.py", "gateway/__init__.py")
    problems = [str(p) for p in preflight.foreign_owners([str(tmp_path), str(tmp_path), "/none"])]
    assert problems == [
        f"{tmp_path}/Old_Gateway-1.0.dist-info: the distribution Old_Gateway owns our package name "
        "`gateway`; pip uninstall Old_Gateway, or give Swarmgate an environment of its own",
        f"{tmp_path}/channels-1.0.dist-info: the distribution channels owns our package name "
        "`channels`; pip uninstall channels, or give Swarmgate an environment of its own",
        f"{tmp_path}/single-1.0.dist-info: the distribution single owns our package name "
        "`swarm_presets`; pip uninstall single, or give Swarmgate an environment of its own",
    ]


def test_an_old_python_is_refused():
    (problem,) = preflight.python_version((3, 10))
    assert problem.message == "Python 3.10 is too old"
    assert "3.11 or newer" in problem.cure
    assert list(preflight.python_version((3, 11))) == []
    assert list(preflight.python_version((4, 0))) == []


def test_a_data_folder_of_another_user_is_refused(tmp_path: Path):
    tmp_path.chmod(0o700)
    (problem,) = preflight.data_folder(tmp_path / "deep" / "data", NOBODY, frozenset({NOBODY}))
    assert "is not writable" in problem.message
    assert problem.file == str(tmp_path)
    assert problem.key == "data_dir"


def test_files_left_by_a_run_as_root_are_refused(tmp_path: Path):
    tmp_path.chmod(0o777)
    secret = tmp_path / "web-secret"
    secret.write_text("x")
    secret.chmod(0o600)
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "notes.txt").chmod(0o666)
    (problem,) = preflight.data_folder(tmp_path, NOBODY, frozenset({NOBODY}))
    assert problem.file == str(secret)
    assert "an earlier run as another user made it" in problem.message
    assert "chown -R" in problem.cure
    assert list(preflight.data_folder(tmp_path, os.geteuid(), frozenset())) == []


def test_a_file_in_place_of_the_data_folder_is_refused(tmp_path: Path):
    (tmp_path / "data").write_text("x")
    with pytest.raises(OperatorError, match="data: data_dir: is no folder"):
        preflight.require(tmp_path / "data")


def test_it_costs_little():
    assert cpu_seconds(lambda: list(preflight.foreign_owners(sys.path))) < 0.1
