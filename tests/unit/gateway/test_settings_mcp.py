"""`mcp` in the settings: what a server may be, what is refused with its place, what is never shown."""

from pathlib import Path

import pytest

from agent_core.tools.mcp import Offer
from gateway.mcp.known import FILE, KnownTools
from gateway.problems import SettingsError
from gateway.settings.mcp import McpServer, plain
from gateway.settings.settings import load

OFFERS = [Offer("read", "Reads.", {"type": "object"}, "Read")]


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "swarmgate.yaml"
    file.write_text("version: 1\nmcp:\n" + text)
    return file


def test_secrets_come_from_variables_and_never_show(tmp_path: Path) -> None:
    text = (
        "  servers:\n"
        "    files: {command: npx, args: [serve], env: {API_TOKEN: '${TOKEN}', MODE: fast}, cwd: work}\n"
        "    notes: {url: 'https://example.com/mcp', headers: {Authorization: 'Bearer ${TOKEN}'}}\n"
    )
    settings = load(written(tmp_path, text), {"TOKEN": "hidden-value"})
    files, notes = settings.mcp.servers["files"], settings.mcp.servers["notes"]
    assert "hidden" not in repr(settings)
    assert settings.secrets() == {"hidden-value", "Bearer hidden-value"}
    assert plain(files.env) == {"API_TOKEN": "hidden-value", "MODE": "fast"}
    assert plain(notes.headers) == {"Authorization": "Bearer hidden-value"}
    assert files.cwd == tmp_path / "work"
    assert (files.approval, files.credibility, files.timeout) == ("always", "mixed", 60.0)


@pytest.mark.parametrize(
    ("server", "message", "key"),
    [
        ("{}", "needs a command or a url", "files"),
        ("{command: a, url: 'http://h/'}", "needs a command or a url", "files"),
        ("{url: 'http://h/', args: [a]}", "belong to a command", "files"),
        ("{command: a, headers: {A: b}}", "belong to a url", "files.headers"),
        ("{url: 'file:///etc/passwd'}", "is not an address", "files.url"),
        ("{command: a, approval: maybe}", "must be 'always' or 'never'", "files.approval"),
        ("{command: a, timeout: 0}", "at least 1", "files.timeout"),
        ("{command: a, shell: true}", "unknown key", "files.shell"),
    ],
)
def test_what_makes_no_server_is_refused_at_its_key(
    server: str, message: str, key: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as refused:
        load(written(tmp_path, f"  servers:\n    files: {server}\n"), {})
    [problem] = refused.value.problems
    assert message in problem.message
    assert problem.key == f"mcp.servers.{key}"
    assert problem.cure


@pytest.mark.parametrize("name", ["Files", "my_files", "9", "f" * 25])
def test_a_name_that_could_not_be_told_from_a_tool_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="is no name for a server"):
        load(written(tmp_path, f"  servers:\n    {name}: {{command: a}}\n"), {})


def test_with_all_servers_off_their_names_are_still_known(tmp_path: Path) -> None:
    settings = load(written(tmp_path, "  servers:\n    files: {command: a}\n"), {})
    idle = settings.mcp.idle()
    assert list(idle.servers) == ["files"]
    assert idle.enabled() == {}


def test_what_a_server_offered_is_kept_for_that_very_server(tmp_path: Path) -> None:
    server = McpServer(command="npx", args=("serve",))
    KnownTools.read(tmp_path).keep("files", server, OFFERS)
    known = KnownTools.read(tmp_path)
    assert known.of("files", server) == OFFERS
    assert known.of("files", server.model_copy(update={"timeout": 5.0})) == OFFERS
    assert known.of("files", server.model_copy(update={"args": ("other",)})) is None
    assert known.of("notes", server) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": 3}', '{"files": {"of": "x"}}', "\x00"])
def test_a_broken_file_of_kept_tools_counts_as_none(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    assert KnownTools.read(tmp_path).of("files", McpServer(command="npx")) is None
