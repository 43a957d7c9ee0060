"""What every test has: no network but loopback."""

import socket

import pytest

from tests.databases import (  # noqa: F401 - fixtures
    database_url,
    db,
    postgres_server,
    prepared_postgres,
    sqlite_template,
)

LOOPBACK = ("127.", "::1", "localhost")


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
