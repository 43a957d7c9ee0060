"""SIGKILL at twenty random moments of a run that has everything: delegations, tools, orders, a streamed answer.

What may happen again is counted, not waved through: a model call whose end the gateway had not stored yet, and a send
whose answer it had not stored yet. At a kill the database tells exactly which these are.
"""

import asyncio
import random
from collections import Counter

import pytest

from tests.scenario.stage import Stage
from tests.twins.llm_script import Turn, call, say

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

CHATS = range(1, 11)
SEED = 20260801
SPAN_S = 1.6  # a whole run takes about so long


def answer(chat: int, number: int) -> str:
    return f"Answer {number} for chat {chat}."


def script(scene: Stage, chat: int, number: int) -> None:
    """Lead → helper (a look) → order → answer; about 1.5 s in all, with words at every step."""
    name = f"{number}.{chat}"
    scene.model.reply_to(
        rf"^question {name}$",
        [
            Turn([say("first "), call("delegate_to_helper", {"task": f"task {name}"})], gap=0.04),
            Turn([say("then "), call("order_goods", {"label": name})], gap=0.04),
            Turn([say(answer(chat, number))], chunk=4, gap=0.04, delay=0.1),
        ],
    )
    scene.model.reply_to(
        rf"^task {name}$",
        [
            Turn([call("slow_look", {"label": name})], gap=0.04),
            Turn([say(f"helper saw {name}")], gap=0.04),
        ],
    )


async def one_round(scene: Stage, number: int, wait: float, *, gently: bool = False) -> None:
    telegram, model, gateway = scene.telegram, scene.model, scene.gateway
    for chat in CHATS:
        script(scene, chat, number)
        telegram.say(chat, f"question {number}.{chat}")
    repeated = len(model.repeated())
    await asyncio.sleep(wait)
    if gently:
        assert await gateway.terminate() == 0
    else:
        await gateway.kill()
    # Ended for the model, not stored here: the only calls that may be made again.
    lost = len(model.finished) - repeated - gateway.count("usage")
    unknown = scene.unknown(CHATS)
    assert 0 <= lost <= (0 if gently else len(CHATS))
    assert not (gently and unknown)
    await gateway.start()
    await scene.answered(CHATS)

    assert telegram.violations == model.violations == []
    assert len(model.repeated()) - repeated <= lost, "a stored model call was made again"
    assert gateway.count("usage") == len(model.finished) - len(model.repeated())
    orders = Counter(scene.plugin.traces("orders"))
    for chat in CHATS:
        name = f"{number}.{chat}"
        shown = Counter(scene.texts(chat))
        assert 1 <= shown[answer(chat, number)] <= 1 + unknown[chat], f"chat {chat}: {shown}"
        assert set(shown) == {answer(chat, number)}
        told = [r for r in scene.results(f'"question {name}"') if r.startswith("Outcome unknown")]
        assert orders[name] <= 1, "an order was placed twice"
        assert orders[name] == 1 or told, "an order is missing, and nobody was told"
        for message in telegram.replies(chat):
            telegram.delete(chat, message.id)
    assert gateway.count("turn", "status <> 'done'") == 0
    assert gateway.count("outbox", "status = 3") == 0


async def test_twenty_random_moments(scene: Stage):
    chance = random.Random(SEED)
    await scene.gateway.start()
    for number in range(20):
        await one_round(scene, number, chance.uniform(0, SPAN_S))
    # Five calls of each question, never one less or more.
    assert scene.gateway.count("usage") == 20 * len(CHATS) * 5


async def test_a_stop_at_random_moments_loses_and_repeats_nothing(scene: Stage):
    """SIGTERM leaves no doubt: nothing at all happens twice."""
    chance = random.Random(SEED)
    await scene.gateway.start()
    for number in range(6):
        await one_round(scene, number, chance.uniform(0, SPAN_S), gently=True)
    scene.sound()
