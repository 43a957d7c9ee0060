"""The Telegram twin, spoken to by python-telegram-bot itself."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from telegram import (
    Bot,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputMediaPhoto,
    ReplyParameters,
)
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TimedOut,
)

from tests.twins.telegram import TelegramTwin

PNG = b"\x89PNG\r\n"


@pytest.fixture
async def twin() -> AsyncIterator[TelegramTwin]:
    async with TelegramTwin() as twin:
        yield twin
        assert twin.violations == []


@pytest.fixture
async def bot(twin: TelegramTwin) -> AsyncIterator[Bot]:
    async with Bot(twin.token, base_url=twin.base_url, base_file_url=twin.base_file_url) as bot:
        twin.say(5, "hello")
        yield bot


async def refused(call: object) -> str:
    with pytest.raises(BadRequest) as e:
        await call  # type: ignore[misc]
    return e.value.message.lower()


async def test_updates_stay_until_a_higher_offset(twin: TelegramTwin, bot: Bot) -> None:
    first = await bot.get_updates(timeout=1)
    assert [u.message and u.message.text for u in first] == ["hello"]
    assert len(await bot.get_updates()) == 1
    assert await bot.get_updates(offset=first[0].update_id + 1) == ()
    assert twin.unconfirmed == []
    twin.redeliver()
    assert (await bot.get_updates(offset=first[0].update_id + 1))[0].update_id == first[0].update_id


async def test_a_second_poller_ends_the_first(twin: TelegramTwin, bot: Bot) -> None:
    await bot.get_updates(offset=2000)
    first = asyncio.create_task(bot.get_updates(offset=2000, timeout=5))
    await twin.wait_for(lambda: twin.api.polls == 2)
    async with Bot(twin.token, base_url=twin.base_url) as other:
        second = asyncio.create_task(other.get_updates(offset=2000, timeout=5))
        with pytest.raises(Conflict):
            await first
        twin.state.updates.next_id = 3000
        twin.say(5, "again")
        assert len(await second) == 1


async def test_html_is_parsed_and_counted_in_utf16(twin: TelegramTwin, bot: Bot) -> None:
    sent = await bot.send_message(
        5,
        "<b>🙂 bold</b> &lt;x&gt; <pre><code class='language-py'>1</code></pre>",
        parse_mode="HTML",
    )
    assert sent.text == "🙂 bold <x> 1"
    assert [(e.type, e.offset, e.length, e.language) for e in sent.entities] == [
        ("bold", 0, 7, None),
        ("pre", 12, 1, "py"),
    ]
    await bot.send_message(5, "🙂" * 2048)
    assert "too long" in await refused(bot.send_message(5, "🙂" * 2049))
    assert "empty" in await refused(bot.send_message(5, " \n"))


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("HTML", "<b>open"),
        ("HTML", "<b><i>x</b></i>"),
        ("HTML", "<h1>x</h1>"),
        ("HTML", "1 < 2"),
        ("HTML", "x</b>"),
        ("MarkdownV2", "a.b"),
        ("MarkdownV2", "*open"),
    ],
)
async def test_bad_markup_is_refused(bot: Bot, mode: str, text: str) -> None:
    assert "parse entities" in await refused(bot.send_message(5, text, parse_mode=mode))


async def test_markdown_v2(bot: Bot) -> None:
    sent = await bot.send_message(5, r"*b* _i_ `c.` [l](http://x.y) 1\.", parse_mode="MarkdownV2")
    assert sent.text == "b i c. l 1."
    assert [e.type for e in sent.entities] == ["bold", "italic", "code", "text_link"]


async def test_edits(twin: TelegramTwin, bot: Bot) -> None:
    keys = InlineKeyboardMarkup([[InlineKeyboardButton("Stop", callback_data="stop")]])
    sent = await bot.send_message(5, "one", reply_markup=keys)
    same = bot.edit_message_text("one", 5, sent.message_id, reply_markup=keys)
    assert "not modified" in await refused(same)
    await bot.edit_message_text("one", 5, sent.message_id)
    assert twin.replies(5)[0].buttons == []
    await bot.edit_message_media(InputMediaPhoto(PNG, caption="c"), 5, sent.message_id)
    assert (twin.replies(5)[0].kind, twin.replies(5)[0].text) == ("photo", "c")
    await bot.delete_message(5, sent.message_id)
    assert twin.replies(5) == []
    assert "to edit not found" in await refused(bot.edit_message_text("x", 5, sent.message_id))


async def test_press_and_answer_once(twin: TelegramTwin, bot: Bot) -> None:
    keys = InlineKeyboardMarkup([[InlineKeyboardButton("Stop", callback_data="stop")]])
    sent = await bot.send_message(5, "one", reply_markup=keys)
    callback = twin.press(5, sent.message_id, "Stop")
    update = (await bot.get_updates())[-1]
    assert update.callback_query is not None
    assert (update.callback_query.id, update.callback_query.data) == (callback, "stop")
    await bot.answer_callback_query(callback, "ok")
    assert "query is too old" in await refused(bot.answer_callback_query(callback))
    with pytest.raises(AssertionError):
        twin.press(5, sent.message_id, "Approve")
    big = InlineKeyboardMarkup([[InlineKeyboardButton("x", callback_data="y" * 64)]])
    await bot.send_message(5, "fits", reply_markup=big)


async def test_drafts_live_in_private_chats_only(twin: TelegramTwin, bot: Bot) -> None:
    assert await bot.send_message_draft(5, 1, "so")
    assert await bot.send_message_draft(5, 1, "so far")
    assert twin.draft(5) == "so far"
    await bot.send_message(5, "so far so good")
    assert twin.draft(5) is None
    assert [m.text for m in twin.replies(5)] == ["so far so good"]
    twin.group(-100)
    await refused(bot.send_message_draft(-100, 1, "x"))


async def test_forums_replies_and_migration(twin: TelegramTwin, bot: Bot) -> None:
    twin.group(-100, forum=True)
    thread = twin.topic(-100)
    said = twin.say(-100, "hi", user=7, thread=thread)
    reply = ReplyParameters(said)
    sent = await bot.send_message(-100, "x", message_thread_id=thread, reply_parameters=reply)
    assert sent.reply_to_message is not None
    assert [m.text for m in twin.chat(-100, thread)] == ["hi", "x"]
    twin.delete(-100, said)
    call = bot.send_message(-100, "x", reply_parameters=ReplyParameters(said))
    assert "replied not found" in await refused(call)
    late = ReplyParameters(said, allow_sending_without_reply=True)
    await bot.send_message(-100, "x", reply_parameters=late)
    twin.migrate(-100, -200)
    with pytest.raises(ChatMigrated):
        await bot.send_message(-100, "x")


@pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")
async def test_closed_and_flooded_chats(twin: TelegramTwin, bot: Bot) -> None:
    twin.block(5)
    with pytest.raises(Forbidden, match="blocked"):
        await bot.send_message(5, "x")
    twin.unblock(5)
    twin.flood(5, 20)
    with pytest.raises(RetryAfter):
        await bot.send_chat_action(5, "typing")
    assert "chat not found" in await refused(bot.send_message(999, "x"))


async def test_files_go_up_and_down(twin: TelegramTwin, bot: Bot) -> None:
    twin.document(5, b"abc", "a.txt", caption="look")
    update = (await bot.get_updates())[-1]
    assert update.message is not None
    assert update.message.document is not None
    file = await bot.get_file(update.message.document.file_id)
    assert bytes(await file.download_as_bytearray()) == b"abc"
    sent = await bot.send_document(5, b"\x00" * 10, filename="b.bin", caption="c")
    assert sent.document is not None
    assert sent.document.file_name == "b.bin"
    assert (await bot.send_photo(5, PNG)).photo
    assert "image" in await refused(bot.send_photo(5, b"text"))


async def test_the_duplicate_makers(twin: TelegramTwin, bot: Bot) -> None:
    twin.fault("sendMessage", drop="after")
    with pytest.raises(NetworkError):
        await bot.send_message(5, "one")
    twin.fault("sendMessage", delay_after=0.3)
    with pytest.raises(TimedOut):
        await bot.send_message(5, "two", read_timeout=0.1)
    twin.fault("sendMessage", drop="before")
    with pytest.raises(NetworkError):
        await bot.send_message(5, "three")
    assert [m.text for m in twin.replies(5)] == ["one", "two"]


async def test_a_wrong_token_and_an_unknown_method(twin: TelegramTwin, bot: Bot) -> None:
    stranger = Bot("1:x", base_url=twin.base_url)
    with pytest.raises(InvalidToken):
        await stranger.initialize()
    await stranger.shutdown()
    await bot.set_my_commands([("a", "b")], language_code="zh")
    assert [c.command for c in await bot.get_my_commands(language_code="zh")] == ["a"]
    with pytest.raises(Exception, match="not found"):
        await bot.do_api_request("no_such_method")
    assert len(twin.violations) == 1
    twin.violations.clear()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"url": "http://bot.example/hook"}, "https url must be provided"),
        ({"url": "https://bot.example:9000/hook"}, "only on ports 80, 88, 443 or 8443"),
        ({"url": "https://bot.example/hook", "secret_token": "a b"}, "unallowed characters"),
    ],
)
async def test_a_webhook_that_telegram_would_refuse(
    twin: TelegramTwin, bot: Bot, arguments: dict[str, str], problem: str
) -> None:
    with pytest.raises(BadRequest, match=problem):
        await bot.set_webhook(**arguments)
    assert (await bot.get_webhook_info()).url == ""


async def test_a_reaction_is_one_of_the_list_and_on_a_message_that_is_there(
    twin: TelegramTwin, bot: Bot
) -> None:
    message = twin.say(5, "hello")
    await bot.set_message_reaction(5, message, "👀")
    assert twin.chat(5)[-1].reaction == "👀"
    with pytest.raises(BadRequest, match="Reaction_invalid"):
        await bot.set_message_reaction(5, message, "✅")
    with pytest.raises(BadRequest, match="not found"):
        await bot.set_message_reaction(5, 999, "👀")
    await bot.set_message_reaction(5, message, None)
    assert twin.chat(5)[-1].reactions == ["👀", ""]
