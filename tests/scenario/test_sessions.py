"""Sessions, reminders, links and parked replies through the whole path: a real process between twins."""

import asyncio
import json

import pytest

from tests.scenario.stage import Stage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
GROUP = -500
ALICE, BOB = 1, 2


async def test_a_reminder_outlives_a_kill_and_comes_once_to_its_topic(scene: Stage):
    """hermes#24100, openclaw#42640: in the place it was asked for, once for its slot, also when missed while down."""
    scene.telegram.group(GROUP, forum=True)
    topic = scene.telegram.topic(GROUP, "Tea")
    await scene.gateway.start()
    command = f"/remind@{scene.telegram.state.me['username']} in 3s drink tea"
    scene.telegram.say(GROUP, command, user=ALICE, thread=topic)
    await scene.until(lambda: len(scene.telegram.replies(GROUP, topic)) == 1)
    await (
        scene.settled()
    )  # a kill between a send and its commit may send it again: that is another test
    await scene.gateway.kill()
    await asyncio.sleep(3.0)
    for _ in range(2):  # a second start has nothing more to say
        await scene.gateway.start()
        await scene.until(lambda: len(scene.telegram.replies(GROUP, topic)) == 2)
        await scene.settled()
        await scene.gateway.kill()
    confirmed, reminder = scene.telegram.replies(GROUP, topic)
    assert "drink tea" in confirmed.text
    assert reminder.text == "⏰ drink tea"
    assert scene.model.matching(r"POST /v1/messages$") == []
    scene.sound()


async def test_retry_and_undo_hold_for_what_the_model_sees(scene: Stage):
    scene.model.reply_to(r"^one$", ["first"])
    scene.model.reply_to(r"^two$", ["third"])
    await scene.gateway.start()
    scene.telegram.say(ALICE, "one")
    await scene.answered([ALICE])
    scene.telegram.say(ALICE, "/retry")
    await scene.answered([ALICE], 2)
    scene.telegram.say(ALICE, "/undo")
    await scene.answered([ALICE], 3)
    await scene.gateway.kill()
    await scene.gateway.start()  # a checkpoint is durable
    scene.telegram.say(ALICE, "two")
    await scene.answered([ALICE], 4)
    assert scene.texts(ALICE) == ["first", "first", "Taken back: one", "third"]
    [last] = scene.requests("two")
    assert [m["role"] for m in last["messages"]] == ["user"]
    assert scene.gateway.count("transcript") == 6
    assert scene.telegram.violations == []


async def test_two_accounts_are_linked_by_a_code_and_a_button(scene: Stage):
    scene.model.reply_to(r"^hello$", ["Hello."])
    await scene.gateway.start()
    scene.telegram.say(ALICE, "/link")
    await scene.answered([ALICE])
    code = next(w for w in scene.texts(ALICE)[0].split() if len(w) == 9 and w[4] == "-")
    scene.telegram.say(BOB, f"/link {code}")
    await scene.answered([BOB])
    await scene.answered([ALICE], 2)
    question = scene.telegram.replies(ALICE)[1]
    scene.telegram.press(ALICE, question.id, "Link")
    await scene.answered([BOB], 2)
    await scene.until(lambda: not scene.telegram.replies(ALICE)[1].buttons)
    assert scene.texts(ALICE)[1] == "telegram:1 and telegram:2 are linked."
    scene.telegram.say(BOB, "hello")
    await scene.answered([BOB], 3)
    assert scene.gateway.rows("select principal from turn")[0][0] == "telegram:1"
    scene.sound()


async def test_a_parked_reply_goes_out_when_an_operator_says_so_beside_the_running_gateway(
    scene: Stage,
):
    scene.model.reply_to(r"^hello$", ["Hello."])
    await scene.gateway.start()
    scene.telegram.say(ALICE, "/status")
    await scene.answered([ALICE])
    scene.telegram.say(ALICE, "hello")
    scene.telegram.block(ALICE)
    await scene.until(lambda: scene.gateway.count("outbox", "status = 3"))
    scene.telegram.unblock(ALICE)
    [row] = json.loads((await scene.gateway.command("outbox", "list", "--json")).out)
    done = await scene.gateway.command("outbox", "resend", str(row["id"]))
    assert (done.code, done.out) == (0, f"reply {row['id']} is being sent\n")
    await scene.until(lambda: "Hello." in scene.texts(ALICE))
    await scene.settled()
    [session] = json.loads((await scene.gateway.command("sessions", "list", "--json")).out)
    export = await scene.gateway.command("sessions", "export", session["id"])
    kinds = [json.loads(line)["kind"] for line in export.out.splitlines()]
    assert (session["title"], kinds) == ("hello", ["user", "assistant"])
    scene.sound()
