"""What every test has: no network but loopback, and tools that answer as they say.

Which database a test of every change runs on.
"""

import os
import socket
from collections.abc import Iterator
from typing import Any

import hypothesis
import jsonschema
import pytest

from agent_core.tools.spec import ToolContext, ToolOutput, ToolSpec
from gateway.presets import eval_faults
from tests.databases import (  # noqa: F401 - fixtures
    database_url,
    db,
    postgres_server,
    prepared_postgres,
    sqlite_template,
)

VALIDATOR = (
    jsonschema.Draft202012Validator
)  # without a look at the schema itself, which a test of its own has
LOOPBACK = ("127.", "::1", "localhost")

# A change is judged by the same examples each time; `make fuzz` looks for new ones. How long an example takes says
# something about the machine: what has to be quick has a test that measures it.
hypothesis.settings.register_profile("same", derandomize=True, deadline=None)
hypothesis.settings.register_profile("fuzz", deadline=None)
hypothesis.settings.load_profile("same")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On PostgreSQL, the tests of every change are those of statements; the others run there with the slow ones."""
    for item in items:
        if item.get_closest_marker("postgres") and not item.get_closest_marker("statements"):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """A command that runs within a test leaves its own, with which files of the next one would be private."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anything but this machine is an error of the test."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def check(address: object) -> None:
        host = address[0] if isinstance(address, tuple) else ""
        if isinstance(host, str) and host and not host.startswith(LOOPBACK):
            raise AssertionError(f"a test tried to reach {host}")

    def guarded(self: socket.socket, address: object) -> None:
        check(address)
        return connect(self, address)  # type: ignore[arg-type]

    def guarded_ex(self: socket.socket, address: object) -> int:
        check(address)
        return connect_ex(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_ex)
    return


@pytest.fixture(autouse=True)
def answers_as_stated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test has a tool answer, the answer has the shape that the tool's spec states (TGV-1, MCP-2).

    What a preset's case puts in the place of a tool is not the tool's answer.
    """
    call, wrong = ToolSpec.call, list[str]()

    async def checked(self: ToolSpec, ctx: ToolContext, args: dict[str, Any]) -> ToolOutput:
        output = await call(self, ctx, args)
        if self.output_schema is not None and self.run.__module__ != eval_faults.__name__:
            try:
                VALIDATOR(self.output_schema).validate(self.structured(output))
            except (ValueError, jsonschema.ValidationError) as error:
                wrong.append(f"{self.name}: {str(error)[:400]}")
        return output

    monkeypatch.setattr(ToolSpec, "call", checked)
    yield
    assert wrong == [], "a tool answered in another shape than it states"
