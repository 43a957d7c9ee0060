"""Kinds of channel by name."""

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from channels import registry
from channels.registry import BrokenKindError, ChannelKind, UnknownKindError, available, kind, names
from channels.telegram.config import TelegramConfig
from channels.terminal.channel import TerminalChannel

THIRD = ChannelKind("third", "channels.terminal.channel:TerminalChannel")


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two channels of other packages, one of them broken."""
    entries = EntryPoints(
        EntryPoint(name, value, registry.GROUP)
        for name, value in (
            ("third", f"{__name__}:THIRD"),
            ("broken", "no_such_package:KIND"),
            ("wrong", "os:sep"),
            ("telegram", f"{__name__}:THIRD"),
        )
    )
    monkeypatch.setattr(registry, "entry_points", lambda *, group: entries.select(group=group))


def test_ours_are_there() -> None:
    assert {"telegram", "slack", "discord", "web", "terminal"} <= set(names())
    assert kind("telegram").config_type() is TelegramConfig
    assert isinstance(kind("terminal").build(), TerminalChannel)
    assert kind("web").hosted


@pytest.mark.parametrize(
    ("name", "values", "account"),
    [
        ("telegram", {"token": "123:abc"}, "123"),
        ("slack", {"bot_token": "xoxb-a", "app_token": "xapp-a"}, ""),
        ("discord", {"token": "MTIz.b.c"}, "123"),
    ],
)
def test_a_channel_is_built_from_its_settings(
    name: str, values: dict[str, str], account: str
) -> None:
    channel = kind(name).build(values)
    assert (channel.name, channel.account) == (name, account)


@pytest.mark.usefixtures("foreign")
def test_those_of_other_packages_are_found() -> None:
    assert kind("third") is THIRD
    assert set(available()) == {*registry.BUILT_IN, "third"}
    assert kind("telegram").config_type() is TelegramConfig


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize("name", ["broken", "wrong"])
def test_a_broken_package_is_named(name: str) -> None:
    with pytest.raises(BrokenKindError, match=f"^channel {name}: .*package"):
        kind(name)


def test_unknown_names_get_a_hint() -> None:
    with pytest.raises(UnknownKindError, match="did you mean telegram") as caught:
        kind("telegramm")
    assert caught.value.near == "telegram"
    with pytest.raises(UnknownKindError, match=r"there are: .*terminal"):
        kind("smoke signals")


def test_listing_loads_no_sdk() -> None:
    code = (
        "import sys; from channels.registry import available; available(); "
        "assert not {'telegram', 'slack_bolt', 'discord'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
