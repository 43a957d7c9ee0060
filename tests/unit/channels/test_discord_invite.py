"""`swarmgate discord-invite` prints an address, or says in one line what is missing."""

import json

import pytest
from typer.testing import CliRunner

from gateway.cli.main import app
from tests.twins.discord import BOT, TOKEN


@pytest.fixture
def run(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.chdir(tmp_path_factory.mktemp("empty"))
    monkeypatch.delenv("DISCORD_BOT_TOKEN", raising=False)
    return CliRunner()


def test_the_id_may_be_given_or_is_that_of_the_token(
    run: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = run.invoke(app, ["discord-invite", BOT])
    monkeypatch.setenv("DISCORD_BOT_TOKEN", TOKEN)
    monkeypatch.setenv("SWARMGATE__CHANNELS__DISCORD__TOKEN", TOKEN)
    found = run.invoke(app, ["discord-invite", "--json"])
    assert (given.exit_code, found.exit_code) == (0, 0)
    assert json.loads(found.stdout)["url"] == given.stdout.strip()
    assert TOKEN.rpartition(".")[2] not in found.output


@pytest.mark.parametrize("arguments", [["abc"], [], ["--account", "second"]])
def test_what_is_missing_is_said_in_one_line(run: CliRunner, arguments: list[str]) -> None:
    result = run.invoke(app, ["discord-invite", *arguments])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
