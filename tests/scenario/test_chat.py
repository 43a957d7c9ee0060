"""What a person does in Telegram besides asking: commands, stopping, changing their mind, groups, long answers."""

import asyncio
import json
import re
import time

import pytest

from tests.scenario.stage import Stage
from tests.twins.llm_script import Turn, call, say

pytestmark = pytest.mark.asyncio(loop_scope="module")

SLOW = Turn([say("word " * 400)], gap=0.05)


async def ask(stage: Stage, chat: int, words: str, *, shown: int) -> str:
    """Say something, and return the newest message once there are `shown` of the bot's."""
    stage.telegram.say(chat, words)
    await stage.answered([chat], shown)
    assert len(stage.texts(chat)) == shown
    return stage.texts(chat)[-1]


async def test_an_update_that_is_delivered_twice_at_once_is_answered_once(shared: Stage):
    shared.telegram.say(101, "only once")
    shared.telegram.redeliver()
    await shared.answered([101])
    shared.telegram.redeliver()
    assert await ask(shared, 101, "and another", shown=2) == "and another"
    assert shared.gateway.count("turn", "principal = 'telegram:101'") == 2


async def test_stop_ends_a_stream_at_once_with_one_message(shared: Stage):
    shared.model.reply_to("^long story 102", [SLOW])
    gone = shared.model.disconnects
    shared.telegram.say(102, "long story 102")
    await shared.until(lambda: shared.telegram.draft(102))
    began = time.monotonic()
    shared.telegram.say(102, "/stop")
    (message,) = await shared.telegram.wait_replies(102)
    assert time.monotonic() - began < 3
    assert re.fullmatch(r"(word )+word\n\nStopped\.", message.text)
    await shared.until(lambda: shared.model.disconnects == gone + 1)
    assert await ask(shared, 102, "go on", shown=2) == "go on"
    roles = [m["role"] for m in shared.requests("go on")[-1]["messages"]]
    assert roles == ["user", "assistant", "user"]
    assert await ask(shared, 102, "/stop", shown=3) == "Nothing is running."


async def test_a_message_right_after_stop_is_run(shared: Stage):
    """hermes PR#52084."""
    shared.model.reply_to("^long story 103", [SLOW])
    shared.telegram.say(103, "long story 103")
    await shared.until(lambda: shared.telegram.draft(103))
    shared.telegram.say(103, "/stop")
    shared.telegram.say(103, "this at once")
    await shared.answered([103], 2)
    assert shared.texts(103)[0].endswith("Stopped.")
    assert shared.texts(103)[1] == "this at once"


async def test_stop_ends_a_running_tool(shared: Stage):
    """hermes#8697; the call gets a result, so the next request is valid."""
    shared.model.reply_to("^order 104", [Turn([call("order_goods", {"label": "104"})])])
    shared.plugin.hold()
    try:
        shared.telegram.say(104, "order 104")
        await shared.until(lambda: "104" in shared.plugin.traces("orders"))
        shared.telegram.say(104, "/stop")
        (message,) = await shared.telegram.wait_replies(104)
    finally:
        shared.plugin.release()
    assert message.text == "Stopped."
    assert await ask(shared, 104, "what now", shown=2) == "what now"


async def test_new_begins_with_a_fresh_context(shared: Stage):
    await ask(shared, 105, "my secret word is tulip", shown=1)
    await ask(shared, 105, "second", shown=2)
    assert "tulip" in json.dumps(shared.requests("second")[-1])
    assert await ask(shared, 105, "/new", shown=3) == "A new conversation begins."
    await ask(shared, 105, "third", shown=4)
    request = shared.requests("third")[-1]
    assert len(request["messages"]) == 1
    assert "tulip" not in json.dumps(request)


async def test_commands_wait_their_turn_where_order_matters(shared: Stage):
    """/new behind a running question: the question is finished in its own session."""
    shared.model.reply_to("^slow 106", [Turn([say("answer 106")], delay=1.0)])
    shared.telegram.say(106, "slow 106")
    await shared.until(lambda: shared.requests("slow 106"))
    shared.telegram.say(106, "/new")
    shared.telegram.say(106, "after")
    await shared.answered([106], 3)
    assert shared.texts(106) == ["answer 106", "A new conversation begins.", "after"]
    assert len(shared.requests("after")[-1]["messages"]) == 1


async def test_the_commands_answer(shared: Stage):
    answers = {
        "/start": "Hello!",
        "/help": "/preset",
        "/status": "Preset: scenario",
        "/model": "anthropic/claude-sonnet-4-5",
        "/model nope": "There is no model nope",
        "/preset": "trading-desk",
        "/preset nope": "There is no preset nope",
        "/frobnicate": "I do not know /frobnicate",
        "/HELP": "/preset",
        "/help@swarm_bot": "/preset",
    }
    for shown, (words, expected) in enumerate(answers.items(), start=1):
        assert expected in await ask(shared, 107, words, shown=shown)
    assert shared.requests("frobnicate") == []
    menu = shared.telegram.state.commands[("default", "")]
    assert {c["command"] for c in menu} >= {"new", "stop", "status", "model", "preset", "help"}
    assert ("default", "zh") in shared.telegram.state.commands


async def test_the_chosen_model_and_preset_answer_from_the_next_message_on(shared: Stage):
    calls = len(shared.model.answers)
    await ask(shared, 108, "/model demo", shown=1)
    assert "demo" in (await ask(shared, 108, "hello", shown=2)).lower()
    assert len(shared.model.answers) == calls
    await ask(shared, 108, "/model auto", shown=3)
    await ask(shared, 108, "/preset solo", shown=4)
    assert await ask(shared, 108, "again", shown=5) == "again"
    tools = {t["name"] for t in shared.requests("again")[-1]["tools"]}
    assert "analyze_stock" in tools
    assert "order_goods" not in tools
    assert "Preset: solo" in await ask(shared, 108, "/status", shown=6)


async def test_chinese_gets_chinese(shared: Stage):
    shared.model.reply_to("^讲个长故事", [Turn([say("很久以前，" * 200)], gap=0.05, chunk=5)])
    shared.telegram.say(109, "讲个长故事")
    await shared.until(lambda: shared.telegram.draft(109))
    shared.telegram.say(109, "/stop")
    (message,) = await shared.telegram.wait_replies(109)
    assert message.text.endswith("已停止。")


async def test_words_that_come_while_a_tool_runs_are_heard_in_the_same_turn(shared: Stage):
    """DESIGN.md 3.4: the author's later words join the running turn before its next model call."""
    order = Turn([call("order_goods", {"label": "110"})])
    shared.model.reply_to("^order 110", [order])
    shared.model.reply_to("^also 110", ["both heard"])
    shared.plugin.hold()
    try:
        shared.telegram.say(110, "order 110")
        await shared.until(lambda: "110" in shared.plugin.traces("orders"))
        shared.telegram.say(110, "also 110")
        await shared.until(lambda: shared.gateway.count("inbox", "author = 'telegram:110'") == 2)
    finally:
        shared.plugin.release()
    await shared.answered([110])
    assert shared.texts(110) == ["both heard"]
    assert shared.gateway.count("turn", "principal = 'telegram:110'") == 1


async def test_ten_messages_at_once_are_each_accounted_for(shared: Stage):
    """hermes#99854."""
    for number in range(10):
        shared.telegram.say(111, f"message {number} end")
    await shared.answered([111])
    heard = " ".join(json.dumps(r) for r in shared.requests("message 0 end")[-1:])
    last = " ".join(json.dumps(r) for r in shared.requests("message 9 end")[-1:])
    assert all(f"message {n} end" in heard + last for n in range(10))
    assert " ".join(shared.texts(111)).count("message 9 end") == 1


async def test_a_long_answer_is_split_once_and_whole(shared: Stage):
    """hermes#48648: previews end at the limit, the answer does not."""
    words = [f"word{n}" for n in range(1500)]
    shared.model.reply_to("^long 112", [Turn([say(" ".join(words))], gap=0.002)])
    shared.telegram.say(112, "long 112")
    await shared.answered([112], 3)
    texts = shared.texts(112)
    assert all(len(text) <= 4096 for text in texts)
    assert [word for word in " ".join(texts).split() if word.startswith("word")] == words
    assert [text.rpartition("\n\n")[2] for text in texts] == [
        f"({n}/{len(texts)})" for n in range(1, len(texts) + 1)
    ]


async def test_the_stop_button_of_a_group_stops_the_answer_in_place(shared: Stage):
    group = shared.telegram.group(-113)
    shared.model.reply_to("^long story 113", [SLOW])
    shared.telegram.say(group, "@swarm_bot long story 113", user=113)
    (message,) = await shared.telegram.wait_replies(group)
    callback = shared.telegram.press(group, message.id, "Stop", user=999)
    await shared.until(lambda: callback in shared.telegram.state.answers)
    assert "Only the person who asked" in shared.telegram.state.answers[callback]["text"]
    shared.telegram.press(group, message.id, "Stop", user=113)
    await shared.until(lambda: shared.reply(group).text.endswith("Stopped."))
    assert shared.reply(group).id == message.id
    assert shared.reply(group).buttons == []


async def test_a_group_hears_only_what_is_meant_for_the_bot(shared: Stage):
    group = shared.telegram.group(-114)
    shared.telegram.say(group, "just talking about the bot", user=114)
    asked = shared.telegram.say(group, "@swarm_bot a real question", user=114)
    await shared.answered([group])
    message = shared.reply(group)
    assert message.text == "a real question"
    assert message.body["reply_to_message"]["message_id"] == asked
    shared.telegram.say(group, "a follow-up", user=114, reply_to=message.id)
    await shared.answered([group], 2)
    assert shared.texts(group)[1] == "a follow-up"
    assert shared.requests("just talking") == []


async def test_other_peoples_words_in_a_group_are_turns_of_their_own(shared: Stage):
    """DESIGN.md 3.4: a turn has one principal; a stranger is never steered into it."""
    group = shared.telegram.group(-115)
    shared.model.reply_to("^slow 115", [Turn([say("first answer")], delay=1.0)])
    first = shared.telegram.say(group, "@swarm_bot slow 115", user=115)
    await shared.until(lambda: shared.requests("slow 115"))
    second = shared.telegram.say(group, "@swarm_bot stranger 116", user=116)
    await asyncio.sleep(0.1)
    await shared.answered([group], 2)
    assert shared.texts(group) == ["first answer", "stranger 116"]
    targets = [m.body["reply_to_message"]["message_id"] for m in shared.telegram.replies(group)]
    assert targets == [first, second]
    turns = shared.gateway.rows(
        "select principal from turn where principal like 'telegram:11_' order by id"
    )
    assert [row.principal for row in turns][-2:] == ["telegram:115", "telegram:116"]


async def test_two_topics_of_a_forum_are_two_conversations(shared: Stage):
    forum = shared.telegram.group(-117, forum=True)
    one, two = shared.telegram.topic(forum, "One"), shared.telegram.topic(forum, "Two")
    shared.telegram.say(forum, "@swarm_bot the word is rose", user=117, thread=one)
    shared.telegram.say(forum, "@swarm_bot other topic", user=117, thread=two)
    await shared.telegram.wait_replies(forum, 2, 10)
    await shared.settled()
    assert [m.text for m in shared.telegram.replies(forum, one)] == ["the word is rose"]
    assert [m.text for m in shared.telegram.replies(forum, two)] == ["other topic"]
    assert "rose" not in json.dumps(shared.requests("other topic"))
