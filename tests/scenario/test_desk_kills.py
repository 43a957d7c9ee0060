"""SIGKILL at a desk: during a backtest, while an order waits for its yes, and while one is being filled."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.scenario.desk import PRESET, WALKS, WARM, script
from tests.scenario.prices_held import NAME, HeldPrices
from tests.scenario.stage import Stage, stage
from tests.scenario.work_held import alive, hold, release, worker_of
from tests.twins.telegram_state import Stored

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
WALK = WALKS["en"]
CHATS = range(1, 4)
OTHER_CHAT = 99


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Stage]:
    """A desk in Telegram, on prices that can be held."""
    async with stage(tmp_path, preset="desk", data={"sources": [NAME]}) as made:
        (tmp_path / "presets" / "desk.yaml").write_text(PRESET, "utf-8")
        for scripted in (WARM, *(script(WALK, f" {chat}") for chat in CHATS)):
            for pattern, turns in scripted.items():
                made.model.reply_to(pattern, turns)
        yield made
        made.sound()


@pytest.fixture
def prices(scene: Stage) -> HeldPrices:
    """The prices of the scene."""
    return HeldPrices(scene.plugin.folder)


def seen(scene: Stage, chat: int) -> list[str]:
    """What is no caption and no file."""
    return [m.text for m in scene.telegram.replies(chat) if m.file_id is None]


async def asked(scene: Stage, chat: int) -> Stored:
    """The question about the order, once the turn waits and the question is written down as sent."""
    scene.telegram.say(chat, f"{WALK.order.asks} {chat}")
    (question,) = await scene.telegram.wait_replies(chat, timeout=30)
    await scene.until(lambda: scene.gateway.count("turn", "status = 'waiting'"))
    await scene.until(lambda: not scene.gateway.count("outbox", "status < 2"))
    return question


def booked(scene: Stage) -> list[tuple[object, ...]]:
    """Every order with the money that it has moved."""
    query = """
        select o.owner, o.status, o.quantity, o.fill_price, count(t.id), sum(t.amount), c.amount
        from trade_order o join cash c on c.owner = o.owner
        left join trade t on t.order_id = o.id group by o.id
    """
    return [tuple(row) for row in scene.gateway.rows(query)]


PAID = round(2 * 806.19 + 2 * 806.19 * 5 / 10_000, 2)
ONCE = [("telegram:1", "filled", 2.0, 806.19, 1, -PAID, 100_000 - PAID)]


async def test_killed_during_a_backtest_each_chat_gets_one_report_with_its_chart(
    scene: Stage, prices: HeldPrices
) -> None:
    """BGT-5: it only reads, so it runs again by itself; it is kept once."""
    await scene.gateway.start()
    scene.telegram.say(OTHER_CHAT, "warm up")
    await scene.until(lambda: scene.gateway.count("task", "told_at is not null"))
    await scene.settled()
    worker = worker_of(scene.gateway.pid)
    assert worker is not None
    hold(worker)
    for chat in CHATS:
        scene.telegram.say(chat, f"{WALK.backtest.asks} {chat}")
    await scene.until(lambda: all(seen(scene, chat) == [WALK.backtest.answer] for chat in CHATS))
    await scene.until(lambda: not scene.gateway.count("outbox", "status < 2"))
    assert scene.gateway.count("task", "state in ('queued', 'running')") == len(CHATS)
    await scene.gateway.kill()
    release(worker)
    await scene.until(
        lambda: not alive(worker)
    )  # it ends by itself, when nobody is there to answer
    await scene.gateway.start()
    for chat in CHATS:
        await scene.telegram.wait_replies(chat, 4, timeout=60)
    await scene.settled()
    for chat in CHATS:
        replies = scene.telegram.replies(chat)
        assert seen(scene, chat) == [WALK.backtest.answer, WALK.backtest.later]
        assert [m.kind for m in replies if m.file_id] == ["photo", "document"]
        assert scene.gateway.count("event", f"owner = 'telegram:{chat}'") == 1
    assert scene.gateway.count("task", "state <> 'done'") == 0


async def test_killed_while_an_order_waits_the_button_places_it_once(
    scene: Stage, prices: HeldPrices
) -> None:
    """TGV-9; two presses, as impatient people do."""
    await scene.gateway.start()
    question = await asked(scene, 1)
    await scene.gateway.kill()
    assert scene.gateway.count("trade_order") == 0
    await scene.gateway.start()
    scene.telegram.press(1, question.id, "Approve")
    scene.telegram.press(1, question.id, "Approve")
    await scene.telegram.wait_replies(1, 2, timeout=30)
    await scene.settled()
    assert booked(scene) == ONCE
    assert [t.replace("**", "") for t in seen(scene, 1)[1:]] == [
        WALK.order.answer.replace("**", "")
    ]


async def test_killed_while_an_order_is_filled_it_is_filled_once(
    scene: Stage, prices: HeldPrices
) -> None:
    """TGV-10: stored, not booked; the next process asks the broker by the order's key."""
    await scene.gateway.start()
    question = await asked(scene, 1)
    prices.hold()
    scene.telegram.press(1, question.id, "Approve")
    await scene.until(prices.held)
    assert scene.gateway.count("trade_order", "status = 'sending'") == 1
    await scene.gateway.kill()
    assert scene.gateway.count("trade", "order_id <> 0") == 0
    prices.release()
    await scene.gateway.start()
    await scene.until(lambda: any("filled at 806.19 USD" in text for text in seen(scene, 1)))
    await scene.settled()
    assert booked(scene) == ONCE
    told = seen(scene, 1)
    assert sum("filled at 806.19" in text for text in told) == 1
    (unknown,) = [r for r in scene.results("place it 1") if r.startswith("Outcome unknown")]
    assert "Check the state with a reading tool" in unknown
