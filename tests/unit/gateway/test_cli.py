"""The command line: exit codes, one-line errors, JSON, and a first folder that works as it is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateway.cli.config import find
from gateway.cli.main import app
from gateway.cli.run import plain
from tests.harness import judged

ROOT = Path(__file__).parents[3]


class Command:
    """The command in a folder, with an environment of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)
        for name in list(os.environ):
            if name.endswith(("_API_KEY", "_TOKEN")) or name.startswith("SWARMGATE"):
                monkeypatch.delenv(name)
        self.folder = folder
        self.runner = CliRunner()

    def __call__(self, *arguments: str, code: int = 0, **options: object) -> str:
        umask = os.umask(0o022)
        os.umask(umask)
        result = self.runner.invoke(app, arguments, **options)  # type: ignore[arg-type]
        os.umask(umask)
        assert result.exit_code == code, result.output + repr(result.exception)
        assert "Traceback" not in result.output
        return result.output

    def json(self, *arguments: str, code: int = 0) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = json.loads(self(*arguments, "--json", code=code))
        assert all(row["id"] for row in rows)
        return rows


@pytest.fixture
def swarmgate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(tmp_path, monkeypatch)


def test_a_started_folder_is_fine_as_it_is(swarmgate: Command):
    said = swarmgate("init", "bot")
    assert "cd bot && swarmgate check && swarmgate run" in said
    names = sorted(
        str(p.relative_to(swarmgate.folder / "bot")) for p in Path("bot").resolve().rglob("*")
    )
    assert names == [
        ".env.example", ".gitignore", "data", "presets", "presets/README.md", "swarmgate.yaml",
    ]  # fmt: skip
    said = swarmgate("check", "-c", "bot/swarmgate.yaml")
    assert said.splitlines()[-1].startswith("fine")
    assert "\nfail" not in said


def test_init_overwrites_nothing(swarmgate: Command):
    Path("swarmgate.yaml").write_text("mine")
    said = swarmgate("init", code=2)
    assert said == (
        "swarmgate: swarmgate.yaml: exists already; choose another folder, or move it away\n"
    )
    assert Path("swarmgate.yaml").read_text() == "mine"
    assert not Path("data").exists()


def test_wrong_settings_end_with_2_and_one_line_each(swarmgate: Command):
    Path("swarmgate.yaml").write_text("version: 1\nhtpp: {}\npreset: '${NOPE}'\n")
    said = swarmgate("users", "list", code=2).splitlines()
    assert said == [
        "swarmgate: swarmgate.yaml:2:1: htpp: unknown key; did you mean `http`?",
        "swarmgate: swarmgate.yaml:3:9: preset: the environment variable NOPE is not set; "
        "set NOPE, or write ${NOPE:-} where it may be empty",
    ]


@pytest.mark.parametrize(
    "arguments", [["frobnicate"], ["users"], ["users", "approve"], ["run", "--nope"], ["run", "x"]]
)
def test_wrong_use_ends_with_2(swarmgate: Command, arguments: list[str]):
    swarmgate(*arguments, code=2)


def test_settings_are_found_by_option_then_variable_then_folder(
    swarmgate: Command, monkeypatch: pytest.MonkeyPatch
):
    assert find(None, {}) is None
    Path("swarmgate.yaml").write_text("version: 1\n")
    assert find(None, {}) == Path("swarmgate.yaml")
    assert find(None, {}, here=False) is None
    assert find(None, {"SWARMGATE_CONFIG": "a.yaml"}) == Path("a.yaml")
    assert find(Path("b.yaml"), {"SWARMGATE_CONFIG": "a.yaml"}) == Path("b.yaml")
    monkeypatch.setenv("SWARMGATE_CONFIG", "none.yaml")
    assert "none.yaml: there is no such file" in swarmgate("models", "list", code=2)


def test_users_are_listed_and_shut_out(swarmgate: Command):
    assert swarmgate.json("users", "list") == []
    assert "nobody has the id telegram:5" in swarmgate("users", "revoke", "telegram:5", code=1)
    assert "no such pairing code" in swarmgate("users", "approve", "ABCD-1234", code=1)
    assert (swarmgate.folder / "data" / "swarmgate.db").stat().st_mode & 0o077 == 0


def test_a_pairing_code_lets_its_person_in(swarmgate: Command):
    import datetime as dt

    from gateway.cli.admin import transact
    from gateway.settings.access import Access
    from gateway.settings.settings import load

    now = dt.datetime.now(dt.UTC)
    settings = load(None, {})
    verdict = transact(settings, lambda c: judged(c, Access(), "telegram:5", "Alice", now))
    (row,) = swarmgate.json("users", "list")
    assert row == {"id": "telegram:5", "name": "Alice", "access": "pairing", "code": verdict.code}
    assert "telegram:5 (Alice) may talk now" in swarmgate("users", "approve", str(verdict.code))
    assert "telegram:5 is shut out" in swarmgate("users", "revoke", "telegram:5")
    assert [row["access"] for row in swarmgate.json("users", "list")] == ["revoked"]


SHIPPED = [
    "crypto-desk", "daily-brief", "earnings-note", "macro-fx", "portfolio-review", "research-desk", "risk-committee",
    "screen-and-rank", "single-stock", "solo", "trading-desk", "trading-plan",
]  # fmt: skip


def test_presets_are_listed(swarmgate: Command):
    rows = swarmgate.json("presets", "list")
    assert [row["id"] for row in rows] == [*SHIPPED, "desk-base"]
    unusual = {row["id"]: row["state"] for row in rows if row["state"] != "ready"}
    assert unusual == {"trading-desk": "default", "desk-base": "abstract"}


def test_a_broken_preset_is_a_finding_with_place_and_cure(swarmgate: Command):
    Path("presets").mkdir()
    Path("presets/mine.yaml").write_text("version: 1\nname: mine\ntitel: x\n")
    said = swarmgate("presets", "validate", code=1)
    assert "mine.yaml:3:1" in said
    rows = swarmgate.json("presets", "validate", "presets/mine.yaml", code=1)
    assert [row["line"] for row in rows] == [2, 3]
    assert swarmgate.json("presets", "validate", "presets", code=1) == rows
    assert "mine" in swarmgate("presets", "list", code=1)
    Path("presets/mine.yaml").unlink()
    assert swarmgate("presets", "validate") == f"fine: {', '.join(SHIPPED)}\n"
    assert "no such file" in swarmgate("presets", "validate", "nope.yaml", code=2)


def test_a_broken_skill_or_template_is_a_finding_and_the_rest_is_used(swarmgate: Command):
    """SKL-3: skipped and reported."""
    for folder, text in (
        ("skills", "---\na: [\n---\nDo."),
        ("templates", "---\nfeilds: {}\n---\n."),
    ):
        Path(folder).mkdir()
        Path(folder, "odd.md").write_text(text)
        Path(folder, "good.md").write_text("Do.")
    rows = [r for r in swarmgate.json("check", code=1) if r["id"] == "recipes.file"]
    assert [(Path(r["file"]).parent.name, r["line"]) for r in rows] == [
        ("skills", 2),
        ("templates", None),
        ("templates", None),
    ]
    assert "unknown key `feilds`" in rows[1]["message"]
    assert "the template `good` has the name of a skill" in rows[2]["message"]
    assert all(r["cure"] for r in rows)


def test_models_are_listed_without_their_keys(swarmgate: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "planted-secret")
    Path("swarmgate.yaml").write_text(
        "version: 1\nmodels:\n  default: anthropic/claude-sonnet-4-5\n  fallback: [mine/m]\n"
        "  providers: {mine: {base_url: 'http://127.0.0.1:9/v1'}}\n"
        "  overrides: {mine/m: {context_window: 5000, input_per_mtok: 1, output_per_mtok: 2}}\n"
    )
    rows = {row["id"]: row for row in swarmgate.json("models", "list")}
    assert rows["anthropic/claude-sonnet-4-5"]["use"] == "default"
    assert rows["anthropic/claude-sonnet-4-5"]["key"] is True
    assert rows["mine/m"]["use"] == "fallback 1"
    assert rows["mine/m"]["context_window"] == 5000
    assert rows["mine/m"]["output_per_mtok"] == 2.0
    assert "planted" not in swarmgate("models", "list")


def test_migrate_makes_and_keeps_the_schema(swarmgate: Command):
    assert "from schema none to" in swarmgate("migrate")
    assert "already" in swarmgate("migrate")


def test_check_tells_what_to_mend_and_fixes_folders(swarmgate: Command):
    Path("swarmgate.yaml").write_text(
        "version: 1\npreset: tradng\nhttp: {host: 0.0.0.0, console_token: short-secret}\n"
        "channels: {telegram: {enabled: true, token: '123:short'}}\n"
    )
    rows = swarmgate.json("check", "--offline", code=1)
    found = {str(row["id"]): row for row in rows if row["level"] == "fail"}
    assert set(found) == {
        "settings.data_dir",
        "settings.presets_dir",
        "settings.mode",
        "settings.http.console_token",
        "settings.channels.telegram.token",
        "settings.preset",
    }
    assert found["settings.preset"]["line"] == 2
    assert "short-secret" not in json.dumps(found)
    left = swarmgate.json("check", "--fix", "--offline", code=1)
    assert [row["id"] for row in left if row["fixed"]] == [
        "settings.data_dir",
        "settings.presets_dir",
        "settings.mode",
    ]
    assert Path("data").is_dir()
    assert Path("swarmgate.yaml").stat().st_mode & 0o777 == 0o600


def test_check_shows_when_each_schedule_is_due_next(swarmgate: Command):
    entry = (
        'cron: "0 8 1 1 *", timezone: Asia/Shanghai, to: "telegram:7", say: hi, as: "telegram:7"'
    )
    Path("swarmgate.yaml").write_text(
        f"version: 1\nschedules:\n  - {{{entry}}}\n  - {{{entry}, preset: nosuch}}\n"
    )
    rows = {str(row["id"]): row for row in swarmgate.json("check", "--fix", code=1)}
    found = rows["settings.schedules[1].preset"]
    assert (found["line"], found["message"]) == (4, "there is no preset 'nosuch'")
    told = swarmgate("check", code=1)
    line = "schedule of settings: 0 8 1 1 * (Asia/Shanghai) in telegram:7 for telegram:7, next 20"
    assert line in told
    assert "-01-01 08:00" in told


def test_check_reports_wrong_settings_as_findings(swarmgate: Command):
    Path("swarmgate.yaml").write_text("version: 1\nhtpp: {}\n")
    (row,) = swarmgate.json("check", code=1)
    assert (row["id"], row["level"]) == ("settings.htpp", "fail")
    assert row["cure"] == "did you mean `http`?"


def test_check_knows_a_newer_database(swarmgate: Command):
    import sqlite3

    swarmgate("migrate")
    with sqlite3.connect("data/swarmgate.db") as database:
        database.execute("update alembic_version set version_num = '9999'")
        database.execute("update schema_floor set oldest = '9999'")
    database.close()
    assert "update swarmgate" in swarmgate("check", code=1)
    assert "newer swarmgate" in swarmgate("users", "list", code=2)
    assert "newer swarmgate" in swarmgate("migrate", code=2)


def test_a_database_that_is_none_is_said_in_one_line(swarmgate: Command):
    Path("data").mkdir()
    Path("data/swarmgate.db").write_bytes(b"not a database, but long enough to be looked at" * 100)
    said = swarmgate("users", "list", code=2)
    assert said.count("\n") == 1
    assert "file is not a database" in said
    assert "file is not a database" in swarmgate("check", code=1)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], (True, None)),
        (["-c", "a.yaml"], (True, Path("a.yaml"))),
        (["--config", "a.yaml"], (True, Path("a.yaml"))),
        (["--config=a.yaml"], (False, None)),
        (["--help"], (False, None)),
        (["-c"], (False, None)),
        (["-c", "-x"], (False, None)),
    ],
)
def test_plain_arguments_of_run_need_no_parser(
    arguments: list[str], expected: tuple[bool, Path | None]
):
    assert plain(arguments) == expected


def process(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "gateway", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_run_writes_its_errors_as_json_lines_where_stdout_is_no_terminal(tmp_path: Path):
    (tmp_path / "swarmgate.yaml").write_text("version: 1\nhtpp: {}\nhttp: {port: 99999}\n")
    done = process("run", "-c", "swarmgate.yaml", folder=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(x["level"], x["key"], x["line"]) for x in lines] == [
        ("error", "htpp", 2),
        ("error", "http.port", 3),
    ]
    assert all(x["event"] and x["timestamp"] for x in lines)


def test_the_version_is_shown_without_loading_anything(tmp_path: Path):
    done = process("--version", folder=tmp_path)
    assert done.stdout.startswith("swarmgate 0.")
    assert done.returncode == 0


def test_chat_without_a_message_is_wrong_use(tmp_path: Path):
    done = process("chat", folder=tmp_path)
    assert done.returncode == 2
    assert "there is no message" in done.stderr
    done = process("chat", "--user", "a/b", "hello", folder=tmp_path)
    assert done.returncode == 2
    assert "is no name for --user" in done.stderr
