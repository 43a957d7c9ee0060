"""Texts at each channel: nothing is cut through, nothing is lost, nothing hangs, and what happened is said.

Field bugs, "Formatting", and CHN-4. Random texts are in tests/property and test_markdown_accepted.
"""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from agent_core.models.scripted import Answer
from agent_core.ports import ModelRequest
from channels.types import Outbound
from gateway.storage.db import Database
from tests.contract.rigs.base import Rig, Shown
from tests.contract.rigs.discord import DiscordRig
from tests.contract.rigs.home import housed, until
from tests.contract.rigs.slack import SlackRig
from tests.contract.rigs.telegram import TelegramRig
from tests.contract.rigs.terminal import TerminalRig
from tests.contract.rigs.web import WebRig
from tests.harness import call
from tests.house import on_sqlite
from tests.twins.receipt import MemoryReceipt

pytestmark = pytest.mark.slow  # the whole gateway behind every platform

RIGS: dict[str, type[Rig]] = {
    rig.name: rig for rig in (TelegramRig, SlackRig, DiscordRig, WebRig, TerminalRig)
}
PAY = Answer(calls=(call("pay", "p1", to="bob", amount=3),))
WIDE = "🙂👩‍👩‍👧‍👦𠀀é"  # astral characters, a family of seven code points, a combined letter
DOTS = "lorem ipsum dolor sit amet, "


@pytest.fixture(params=list(RIGS))
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """A channel at its platform."""
    async with RIGS[request.param]() as made:
        yield made
    assert made.violations == []


async def shown(rig: Rig, text: str) -> list[Shown]:
    """Send it; what a person sees. Splitting must not take long whatever the text is."""
    await rig.start()
    receipt = MemoryReceipt()
    async with asyncio.timeout(20):
        await rig.channel.send(Outbound(rig.address, text, id="r1"), receipt)
    found = await rig.seen(len(receipt.ids))
    if rig.limit is not None:
        count = len if rig.name == "slack" else units  # Slack counts characters
        assert all(count(m.text) <= rig.limit for m in found)
    assert [m.id for m in found] == list(receipt.ids)
    return found


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def padded(piece: str, marks: int, rig: Rig) -> str:
    """`piece` with numbers in it, so often that the text has three parts and more."""
    wanted = 3 * (rig.limit or 4096)
    number = max(marks, wanted // (len(piece) + len(DOTS)) + 1)
    return " ".join(f"{DOTS}{piece.format(n=n)}" for n in range(number))


# What is cut, and where ----------------------------------------------------------------------------------------------


async def test_no_character_is_cut_through(rig: Rig) -> None:
    """nanobot#4250, CHN-4: neither a surrogate pair nor what people see as one character."""
    found = await shown(rig, WIDE * (2 * (rig.limit or 4096) // len(WIDE)))
    joined = "".join(m.text for m in found)
    assert joined.encode("utf-16-le", "strict")
    assert set(joined) - set("\n 0123456789/()↓…*_") == set(WIDE)
    families = sum(m.text.count("👩‍👩‍👧‍👦") for m in found)
    assert families == sum(m.text.count("👧") for m in found)
    assert joined.count("\u0301") == joined.count("e\u0301")


async def test_no_link_is_cut_through(rig: Rig) -> None:
    """nanobot#4250: a bare address stays whole, wherever the parts end."""
    text = padded("https://example.com/report/{n:05}/of/a/long/name?q=1", 50, rig)
    wanted = re.findall(r"https://\S+", text)
    found = await shown(rig, text)
    seen = [address for m in found for address in re.findall(r"https://[^\s<>|\]]+", m.text)]
    assert list(dict.fromkeys(seen)) == wanted
    if rig.limit is not None:
        assert len(found) > 2


async def test_no_named_link_is_cut_through(rig: Rig) -> None:
    """nanobot#4250: `[words](address)` is a link or its text, never half of its markup."""
    text = padded("[report {n:05}](https://example.com/{n:05})", 50, rig)
    found = await shown(rig, text)
    joined = "\n".join(m.text for m in found)
    assert re.findall(r"report (\d{5})", joined) == re.findall(r"\[report (\d{5})", text)
    for m in found:
        assert m.text.count("](") == len(re.findall(r"\[report \d{5}\]\(https://[^)]+\)", m.text))


async def test_no_row_of_a_table_is_cut_through(rig: Rig) -> None:
    """nanobot#4250: the first and the last cell of a row are in one message."""
    rows = "\n".join(f"| first{n:04} | {n * 7} | last{n:04} |" for n in range(500))
    found = await shown(rig, f"| a | b | c |\n|:--|--:|---|\n{rows}")
    for name in ("first", "last"):
        seen = [n for m in found for n in re.findall(rf"{name}(\d{{4}})", m.text)]
        assert seen == [f"{n:04}" for n in range(500)]
    for m in found:
        assert set(re.findall(r"first(\d{4})", m.text)) == set(re.findall(r"last(\d{4})", m.text))


@pytest.mark.parametrize("chars", [6_000, 20_000])
async def test_a_fence_of_one_long_line_is_sent_without_a_hang(rig: Rig, chars: int) -> None:
    """nanobot#4250, Vibe-Trading PR#736."""
    found = await shown(rig, f"Before:\n\n```\n{'x' * chars}\n```\n\nAfter.")
    joined = "\n".join(m.text for m in found)
    body = joined[joined.index("Before:") + len("Before:") :]
    assert body.count("x") == chars
    assert "After." in found[-1].text
    if rig.name in {"slack", "discord"}:
        assert all(m.text.count("```") % 2 == 0 for m in found)


# What a platform cannot parse ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "*   **bold**",
        "**open and *never closed",
        "`a``b``` <b>x</i> &lt; &amp",
        "[x](http://[::1) [y](<) ![z]()",
        "> \n>> ```\nnever closed",
        "_*~`|\\",
        "||spoiler **x|| y**",
    ],
)
async def test_odd_markup_arrives_once(rig: Rig, text: str) -> None:
    """buckyos#567: what cannot be marked up goes as it stands; the platform is not asked twice, the words are there."""
    (found,) = await shown(rig, text)
    for word in re.findall(r"[a-z]{3,}", re.sub(r"\(.*?\)|&\w+|<\w+>", "", text)):
        assert word in found.text
    assert rig.posted() == 1


async def test_head_and_tail_are_never_lost(rig: Rig) -> None:
    """hermes#51961."""
    middle = "\n\n".join(f"{n}. {DOTS * 12}" for n in range(2 * (rig.limit or 4096) // 300))
    found = await shown(rig, f"HEAD of it\n\n{middle}\n\nTAIL of it")
    assert found[0].text.lstrip().startswith("HEAD of it")
    assert "TAIL of it" in found[-1].text
    joined = "".join(m.text for m in found)
    assert (joined.count("HEAD of it"), joined.count("TAIL of it")) == (1, 1)


# What happened is said (CHN-4) ---------------------------------------------------------------------------------------


def finals(rig: Rig) -> list[str]:
    return [m.text for m in rig.visible()]


@on_sqlite
async def test_an_answer_that_was_cut_says_so(rig: Rig, db: Database) -> None:
    """CHN-4: truncation is shown, beside what there is."""
    script = [Answer("The first half", stop="max_tokens")]
    async with housed(db, rig, script) as house:
        await rig.say("question")
        await until(lambda: "length limit" in "".join(finals(rig)))
        await house.quiet()
        (text,) = finals(rig)
        assert text.startswith("The first half")
        assert "The answer was cut at the model's length limit." in text


@on_sqlite
async def test_an_approval_is_shown_and_decided_by_its_button(rig: Rig, db: Database) -> None:
    """CHN-4: what is asked, of which tool and with which values, stands over the buttons."""

    async def script(request: ModelRequest) -> Answer | str:
        kinds = [type(b).__name__ for m in request.messages for b in m.blocks]
        return "paid" if "ToolResult" in kinds else PAY

    async with housed(db, rig, script) as house:
        await rig.say("pay bob")
        question = await until(
            lambda: next((m for m in rig.visible() if "Approve" in m.buttons), None)
        )
        assert "Deny" in question.buttons
        assert "Pay" in question.text
        assert "bob" in question.text
        assert house.tools.calls == []
        await rig.press("Approve")
        await until(lambda: "paid" in finals(rig))
        await house.quiet()
        assert house.tools.calls == [("pay", "bob 3")]


@on_sqlite
async def test_a_failure_is_said_with_a_short_id_and_no_insides(rig: Rig, db: Database) -> None:
    """CHN-6, beside CHN-4: the person is told, and the words of the exception are not theirs."""

    async def script(_: ModelRequest) -> str:
        raise RuntimeError("secret internals")

    async with housed(db, rig, script) as house:
        await rig.say("question")
        await until(lambda: finals(rig))
        await house.quiet()
        (text,) = finals(rig)
        assert "secret" not in text
        assert "RuntimeError" not in text
        assert re.search(r"\(id [0-9a-f]{4,8}\)$", text)
