"""The settings of groups and of what a later message does: what is taken, and what is refused with line and cure."""

from pathlib import Path

import pytest

from gateway.problems import SettingsError
from gateway.settings.settings import Settings, load


def read(folder: Path, text: str) -> Settings:
    file = folder / "swarmgate.yaml"
    file.write_text(f"version: 1\n{text}\n")
    return load(file, {})


def test_groups_and_interrupt_are_read(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        """
sessions: {while_busy: interrupt}
groups:
  mention: reply
  session: person
  overrides:
    "telegram:-100123": {mention: always, session: thread, lite: true}
""",
    )
    assert settings.sessions.while_busy == "interrupt"
    assert (settings.groups.mention, settings.groups.session) == ("reply", "person")
    assert settings.groups.overrides["telegram:-100123"].lite


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("sessions: {while_busy: shout}", "sessions.while_busy"),
        ("groups: {session: chat}", "groups.session"),
        ("groups: {mention: sometimes}", "groups.mention"),
        ("groups: {overrides: {'-100123': {lite: true}}}", "groups.overrides"),
        ("groups: {overrides: {'telegram:-1': {lite: perhaps}}}", "groups.overrides"),
        ("groups: {overrides: {'telegram:-1': {model: x}}}", "groups.overrides"),
    ],
)
def test_what_is_not_meant_is_refused_where_it_stands(
    tmp_path: Path, text: str, where: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    [problem] = caught.value.problems
    assert where in str(problem)
    assert "swarmgate.yaml:2:" in str(problem)
