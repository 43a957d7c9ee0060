"""A platform that takes no messages for a while."""

import contextlib
from collections.abc import Iterator

from tests.contract.rigs.base import Rig
from tests.contract.rigs.discord import DiscordRig
from tests.contract.rigs.slack import SlackRig
from tests.contract.rigs.telegram import TelegramRig

WRITES = {
    "telegram": r"/(send|edit)[A-Za-z]+$",
    "slack": r"/api/(chat|files|reactions|assistant)\.",
    "discord": r"(POST|PATCH|PUT) .*/channels/\d+/",
}


@contextlib.contextmanager
def away(rig: Rig) -> Iterator[None]:
    """Every attempt to say something is answered with 503 until the end of the block."""
    assert isinstance(rig, TelegramRig | SlackRig | DiscordRig)
    fault = rig.twin.fault(WRITES[rig.name], status=503, body="<html>", times=-1)
    try:
        yield
    finally:
        rig.twin.faults.remove(fault)
