"""A command or a turn: read off the words alone."""

import pytest

from channels.types import Kind
from gateway.inbound.router import AT_ONCE, COMMANDS, IN_LANE, Route, route


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("hello", Route("turn")),
        ("", Route("turn")),
        ("/stop", Route("at_once", "stop")),
        ("!stop", Route("at_once", "stop")),
        ("  /STOP \n", Route("at_once", "stop")),
        ("/new", Route("lane", "new")),
        ("/reset", Route("lane", "new")),
        ("!newsession", Route("lane", "new")),
        ("/model  openai/gpt ", Route("lane", "model", "openai/gpt")),
        ("/preset\ndesk", Route("lane", "preset", "desk")),
        ("/start payload", Route("at_once", "start", "payload")),
        ("/frobnicate", Route("unknown", "frobnicate")),
        ("/tmp is full", Route("turn")),
        ("/etc/passwd", Route("turn")),
        ("/2012", Route("turn")),
        ("/", Route("turn")),
        ("!", Route("turn")),
        ("!!!", Route("turn")),
        ("what does /stop do?", Route("turn")),
        ("/股票", Route("turn")),
        ("/" + "a" * 40, Route("turn")),
    ],
)
def test_words_are_routed(words: str, expected: Route) -> None:
    assert route(words) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("stop:12", Route("button", "stop", "12")),
        ("a:b:c", Route("button", "a", "b:c")),
        ("/stop", Route("button", "/stop")),
        ("", Route("button")),
    ],
)
def test_a_press_is_no_command(data: str, expected: Route) -> None:
    assert route(data, Kind.BUTTON) == expected


def test_each_command_has_one_way() -> None:
    assert not AT_ONCE & IN_LANE
    assert {route(f"/{name}").name for name in COMMANDS} == COMMANDS
