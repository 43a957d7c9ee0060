"""What moves while somebody reads: the end of the messages, the folded steps, passing notes."""

import asyncio

import pytest
from playwright.async_api import Route, expect

from channels.types import Inbound
from tests.browser.memory_host import Gateway
from tests.browser.scripted import QUESTION, Turns
from tests.browser.walk import Walk

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]


async def test_the_end_stays_in_view_until_the_reader_scrolls_up_and_again_when_asked(
    walk: Walk, turns: Turns
) -> None:
    turns.go.clear()
    await walk.ask(QUESTION)
    await turns.half.wait()
    await walk.at_end()
    turns.go.set()
    answer = await walk.answered(1)
    await walk.chart(answer)
    await walk.at_end()
    turns.go.clear()
    turns.half.clear()
    await walk.ask("once more")
    await turns.half.wait()
    await walk.at_end()
    await walk.scroll_up(60)
    before = await walk.scroll_top()
    turns.go.set()
    await walk.answered(2)
    await expect(walk.page.locator("#latest")).to_be_visible()
    assert await walk.scroll_top() <= before, "the reader was pulled down"
    await walk.page.locator("#latest").click()
    await walk.at_end()
    await expect(walk.page.locator("#latest")).to_be_hidden()


async def test_unfolding_the_steps_leaves_them_under_the_pointer(walk: Walk) -> None:
    await walk.ask(QUESTION)
    answer = await walk.answered(1)
    await walk.chart(answer)
    summary = answer.locator("summary").first
    await summary.scroll_into_view_if_needed()
    box = await summary.bounding_box()
    await summary.click()
    await expect(answer.locator("[data-step=t1]")).to_be_visible()
    after = await summary.bounding_box()
    assert box
    assert after
    assert abs(box["y"] - after["y"]) < 2


async def test_what_the_gateway_says_to_a_press_goes_by_itself(
    walk: Walk, turns: Turns, gateway: Gateway
) -> None:
    note = walk.page.locator("#problem")
    gateway.toast = "Stopping…"
    turns.go.clear()
    await walk.ask(QUESTION)
    await turns.half.wait()
    await walk.page.get_by_role("button", name="Stop").click()
    await expect(note).to_have_text("Stopping…")
    turns.go.set()
    await walk.answered(1)
    await expect(note).to_be_hidden()


@pytest.mark.parametrize("late", ["events", "messages"])
async def test_an_answer_at_once_leaves_nothing_waiting(
    walk: Walk, gateway: Gateway, late: str
) -> None:
    """Whichever comes last, the stream of events or the confirmation of what was sent."""

    async def answer(gateway: Gateway, inbound: Inbound) -> None:
        await gateway.reply(inbound.address, "Done.")

    async def later(route: Route) -> None:
        if late == "messages":
            response = await route.fetch()
            await asyncio.sleep(0.5)
            await route.fulfill(response=response)
        else:
            await asyncio.sleep(0.5)
            await route.continue_()

    gateway.script = answer
    await walk.page.route(f"**/chat/{late}*", later)
    await walk.ask("/help")
    await walk.answered(1)
    await expect(walk.questions.last).to_have_attribute("data-state", "sent")
    await walk.page.wait_for_timeout(300)
    await expect(walk.live).to_have_count(0)
