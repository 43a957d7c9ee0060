"""Any Markdown is accepted by the strict twins as it was formatted: not refused, not sent plain, no letter lost."""

import asyncio
import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings

from channels.types import Outbound
from tests.contract.rigs.base import Rig
from tests.contract.rigs.discord import DiscordRig
from tests.contract.rigs.slack import SlackRig
from tests.contract.rigs.telegram import TelegramRig
from tests.property.markdown_texts import TEXTS
from tests.twins.receipt import MemoryReceipt
from tests.twins.twin import Twin

RIGS: dict[str, type[Rig]] = {rig.name: rig for rig in (TelegramRig, SlackRig, DiscordRig)}
ALL = list(HealthCheck)
QUICK = settings(max_examples=30, deadline=None, suppress_health_check=ALL)
FULL = settings(max_examples=600, deadline=None, suppress_health_check=ALL)
FENCE = ("```", "~~~")


def letters(text: str) -> Counter[str]:
    """Letters outside of ASCII: no markup is made of them, so none may vanish."""
    return Counter(char for char in text if char > "\x7f" and unicodedata.category(char)[0] == "L")


def said(text: str) -> str:
    """Without the lines that open fences: what stands there names a language and is not shown."""
    lines = re.split(r"[\n\r]", text)
    return "\n".join(n for n in lines if not n.lstrip(" \t>-*+0123456789.)").startswith(FENCE))


class Sender:
    """A channel at its twin, and a loop for them; each text goes into an empty chat."""

    def __init__(self, rig: Rig, runner: asyncio.Runner) -> None:
        self.rig = rig
        self.twin: Twin = rig.twin  # type: ignore[attr-defined]
        self.runner = runner
        self.count = 0

    def check(self, text: str) -> None:
        """Send it, and look at what came of it."""
        self.count += 1
        self.twin.calls.clear()
        self.twin.violations.clear()
        receipt = MemoryReceipt()
        out = Outbound(self.rig.address, text, id=f"r{self.count}")
        self.runner.run(self.rig.channel.send(out, receipt))
        shown = [m for m in self.rig.visible() if m.id in set(receipt.ids)]
        assert self.twin.violations == []
        assert len(shown) == receipt.final == self.rig.posted(), "a refusal, or one too many"
        assert [m.id for m in shown] == list(receipt.ids)
        limit = self.rig.limit or 0
        assert all(0 < len(m.text.encode("utf-16-le", "replace")) // 2 <= limit for m in shown)
        seen = "\n".join(html.unescape(m.text) for m in shown)
        assert not letters(said(text)) - letters(seen)
        self._forget()

    def _forget(self) -> None:
        match self.rig:
            case TelegramRig():
                self.rig.twin.state.chat(int(self.rig.address.chat)).messages.clear()
            case SlackRig():
                self.rig.twin.state.room(self.rig.address.chat).posts.clear()
            case DiscordRig():
                self.rig.twin.world.channels[self.rig.address.chat].messages.clear()
                self.rig.twin.world.nonces.clear()


@contextmanager
def sender(name: str) -> Iterator[Sender]:
    """One channel for all examples."""
    with asyncio.Runner() as runner:
        rig = RIGS[name]()
        runner.run(rig.open())
        if isinstance(rig, DiscordRig):
            rig.twin.rest.windows.limit = 1000  # rates are not what is tested here
        try:
            yield Sender(rig, runner)
        finally:
            runner.run(rig.stop())
            runner.run(rig.shut())


def accepted(name: str, profile: settings) -> None:
    """Send random texts."""
    with sender(name) as one:
        profile(given(TEXTS)(one.check))()


@pytest.mark.parametrize("name", list(RIGS))
def test_any_text_is_accepted(name: str) -> None:
    accepted(name, QUICK)


@pytest.mark.parametrize("name", list(RIGS))
@pytest.mark.parametrize("text", ["` `", "x `\t` y", "** **", "```\n \n```"])
def test_a_text_of_which_nothing_would_be_seen_is_accepted(name: str, text: str) -> None:
    with sender(name) as one:
        one.check(text)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", list(RIGS))
def test_ten_thousand_texts_are_accepted(name: str) -> None:
    accepted(name, FULL)
