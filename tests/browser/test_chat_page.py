"""The page of the web chat in a real browser, with a scripted engine behind it."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, expect

from channels.types import Address, Button, Form, Outbound
from tests.browser.conftest import OTHER_SCHEMES, WINDOWS
from tests.browser.memory_host import Gateway
from tests.browser.scripted import QUESTION, Turns
from tests.browser.walk import Target, Walk, Window
from tests.twins.receipt import MemoryReceipt

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest.mark.parametrize("window", [*WINDOWS, *OTHER_SCHEMES], ids=lambda w: w.name, indirect=True)
async def test_a_question_brings_a_streamed_answer_with_steps_and_a_chart(
    walk: Walk, turns: Turns, gateway: Gateway, window: Window
) -> None:
    page = walk.page
    await expect(page.locator("#examples button").first).to_have_text(QUESTION)
    await walk.no_sideways_scroll()
    await walk.picture("1-empty")
    turns.go.clear()
    await walk.ask(QUESTION)
    await turns.half.wait()
    agent = walk.live.locator("[data-step=a1]")
    await expect(agent.locator("[data-step=t2]")).to_be_visible()
    await expect(walk.live.locator("[data-step=t3].failed")).to_be_visible()
    await expect(walk.live.locator("table")).to_be_visible()
    await expect(page.locator("#stop")).to_be_visible()
    await walk.no_sideways_scroll()
    await walk.picture("2-streaming")
    await page.get_by_role("button", name="Stop").click()
    press = await asyncio.wait_for(gateway.presses.get(), 5)
    assert press.text == "stop:1"
    await expect(page.locator("#stop")).to_be_disabled()
    turns.go.set()
    answer = await walk.answered(1)
    await expect(walk.live).to_have_count(0)
    await expect(page.locator("#stop")).to_be_hidden()
    await expect(answer.locator("[data-step=t1]")).to_be_hidden()
    await walk.chart(answer)
    await walk.no_sideways_scroll()
    await walk.picture("3-answer")
    await page.locator("#scroll").evaluate("node => { node.scrollTop = 0 }")
    await expect(page.locator("#latest")).to_be_visible()
    await answer.locator("summary").first.click()
    await expect(answer.locator("[data-step=t1]")).to_be_visible()
    await walk.picture("4-top")
    await answer.locator("summary").first.click()
    await answer.locator("figure button").click()
    await expect(page.locator("#viewer")).to_be_visible()
    await walk.follows_theme(page.locator("#viewer img"))
    await walk.picture("5-chart")
    await page.keyboard.press("Escape")
    await expect(page.locator("#viewer")).to_be_hidden()
    if window.phone:
        await page.locator("#drawer-open").click()
        await page.wait_for_timeout(300)
        await walk.picture("6-drawer")
        await page.locator("#drawer-close").click()


async def test_markup_of_an_answer_is_shown_and_never_runs(walk: Walk) -> None:
    await walk.ask(QUESTION)
    answer = await walk.answered(1)
    await expect(answer).to_contain_text("See <b>no markup</b>")
    await expect(answer.locator(".markdown img")).to_have_count(0)
    await expect(answer.locator("a[href^=javascript]")).to_have_count(0)
    link = answer.get_by_role("link", name="the docs")
    await expect(link).to_have_attribute("rel", "noopener noreferrer")
    await expect(answer.locator("td").nth(1)).to_have_css("text-align", "right")


async def test_a_reload_shows_the_history_and_the_running_answer(walk: Walk, turns: Turns) -> None:
    await walk.ask(QUESTION)
    await walk.answered(1)
    turns.go.clear()
    turns.half.clear()
    await walk.ask("分析一下 AAPL 的走势")
    await turns.half.wait()
    await walk.page.reload()
    await expect(walk.questions).to_have_count(2)
    await expect(walk.answers).to_have_count(1)
    await expect(walk.live.locator("table")).to_be_visible()
    turns.go.set()
    await walk.answered(2)
    await expect(walk.questions).to_have_count(2)


async def test_a_lost_connection_is_said_and_what_was_written_arrives_once(
    walk: Walk, gateway: Gateway
) -> None:
    await walk.ask(QUESTION)
    await walk.answered(1)
    port = int(gateway.url.rsplit(":", 1)[1])
    await gateway.stop()
    await expect(walk.page.locator("#connection")).to_be_visible()
    await walk.ask("still there?")
    await expect(walk.questions.last).to_have_attribute("data-state", "unsent")
    await walk.picture("7-lost")
    await gateway.start(port)
    await walk.answered(2)
    await expect(walk.page.locator("#connection")).to_be_hidden()
    await expect(walk.questions).to_have_count(2)
    assert [i.text for i in gateway.taken] == [QUESTION, "still there?"]


async def test_a_refused_message_comes_back_into_the_field(walk: Walk) -> None:
    await walk.field.fill("x" * 100_001)
    await walk.field.press("Enter")
    await expect(walk.page.locator("#problem")).to_contain_text("too long")
    await expect(walk.field).to_have_value("x" * 100_001)
    await expect(walk.questions).to_have_count(0)


async def test_enter_sends_shift_enter_does_not_and_neither_does_composing_chinese(
    walk: Walk, gateway: Gateway
) -> None:
    await walk.field.fill("one")
    await walk.field.press("Shift+Enter")
    await walk.field.press_sequentially("two")
    await walk.field.evaluate(
        """field => field.dispatchEvent(new KeyboardEvent('keydown',
             {key: 'Enter', isComposing: true, bubbles: true, cancelable: true}))"""
    )
    await walk.page.wait_for_timeout(200)
    assert not gateway.taken
    await expect(walk.field).to_have_value("one\ntwo")
    await walk.field.press("Enter")
    await walk.answered(1)
    assert [i.text for i in gateway.taken] == ["one\ntwo"]


async def test_drafts_stay_with_their_chat(walk: Walk, window: Window) -> None:
    await walk.ask(QUESTION)
    await walk.answered(1)
    await walk.field.fill("half a thought")
    await walk.page.locator("#new-narrow" if window.phone else "#new").click()
    await expect(walk.field).to_have_value("")
    await expect(walk.page.locator("#empty")).to_be_visible()
    await walk.page.go_back()
    await expect(walk.field).to_have_value("half a thought")
    await walk.answered(1)
    await walk.page.reload()
    await expect(walk.field).to_have_value("half a thought")


async def test_a_slash_shows_the_commands_and_the_keyboard_chooses(walk: Walk) -> None:
    menu = walk.page.locator("#commands")
    await walk.field.press_sequentially("/st")
    await expect(menu.locator("li")).to_have_count(2)
    await walk.picture("8-commands")
    await walk.field.press("ArrowDown")
    await walk.field.press("Enter")
    await expect(walk.field).to_have_value("/status ")
    await expect(menu).to_be_hidden()
    await walk.field.press("Enter")
    await expect(walk.questions.last).to_contain_text("/status")


async def test_a_button_is_pressed_once(walk: Walk, gateway: Gateway) -> None:
    await walk.ask(QUESTION)
    answer = await walk.answered(1)
    await answer.get_by_role("button", name="Approve").click()
    press = await asyncio.wait_for(gateway.presses.get(), 5)
    assert press.text == "yes:1"
    assert press.message_id == await answer.get_attribute("data-id")
    await expect(answer.get_by_role("button", name="Deny")).to_be_disabled()


async def test_a_decided_question_says_so_in_its_place_and_has_no_buttons(
    walk: Walk, gateway: Gateway, turns: Turns
) -> None:
    """Its message is sent again under the same id; what was asked for meanwhile stays below it."""
    await walk.ask(QUESTION)
    await walk.answered(1)
    address = Address("web", "local", next(iter(gateway.host.chats)))
    edit = Button("Edit", "edit:1", form=Form("Edit", "edit:1", ()))
    buttons = (Button("Approve", "ok:1", "primary"), edit)
    asked = await gateway.reply(address, "**Approval 1: Pay**", buttons=buttons)
    shown = walk.page.locator(f'[data-id="{asked}"]')
    await shown.get_by_role("button", name="Edit").click()
    assert (await asyncio.wait_for(gateway.presses.get(), 5)).text == "edit:1"
    await expect(shown.get_by_role("button", name="Approve")).to_be_enabled()
    await gateway.channel.send(
        Outbound(address, "**Approval 1: Pay**\n\n✅ Approved by alice."), MemoryReceipt([asked])
    )
    await expect(shown).to_contain_text("Approved by alice")
    await expect(shown.locator(".buttons button")).to_have_count(0)


async def test_two_tabs_show_the_same_chat(
    walk: Walk, context: BrowserContext, target: Target
) -> None:
    await walk.ask(QUESTION)
    await walk.answered(1)
    other = Walk(await context.new_page(), target)
    await other.page.goto(walk.page.url)
    await other.answered(1)
    await other.ask("from the other tab")
    await expect(walk.questions.last).to_contain_text("from the other tab")
    await walk.answered(2)
    await other.answered(2)


async def test_a_notice_during_a_turn_leaves_the_running_answer_in_place(
    walk: Walk, turns: Turns, gateway: Gateway
) -> None:
    turns.go.clear()
    await walk.ask(QUESTION)
    await turns.half.wait()
    chat = Address("web", "local", gateway.taken[0].address.chat)
    await gateway.reply(chat, "One task is running.")
    await expect(walk.answers).to_have_count(1)
    await expect(walk.live.locator("table")).to_be_visible()
    turns.go.set()
    await walk.answered(2)


@pytest.mark.parametrize("language", ["zh-CN"])
async def test_the_page_speaks_chinese(walk: Walk, language: str) -> None:
    await expect(walk.page.locator("#examples button").first).to_have_text("分析一下 AAPL 的走势")
    await walk.page.locator("#examples button").first.click()
    await walk.answered(1)
    await walk.no_sideways_scroll()
    await walk.picture("9-chinese")


async def test_the_login_page(page: Page, target: Target, pictures: Path | None) -> None:
    walk = Walk(page, target, pictures)
    await page.goto(target.url)
    await walk.picture("0-login")
    await page.get_by_label("One-time code").fill("AAAA-AAAA-AAAA")
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("alert")).to_contain_text("wrong")
    await walk.picture("0-login-wrong")
    await page.get_by_label("One-time code").fill(target.code.lower())
    await page.keyboard.press("Enter")
    await expect(walk.field).to_be_visible()
