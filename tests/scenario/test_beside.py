"""Commands beside a running gateway: they go through it, write to its database, or are refused."""

import json
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.scenario.stage import Stage, stage

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """A gateway to which strangers need a pairing code, and that knows three people (1, 2, 3)."""
    access = {"default": "pairing", "allow": [f"telegram:{n}" for n in (1, 2, 3)]}
    async with stage(tmp_path_factory.mktemp("beside"), access=access) as made:
        await made.gateway.start()
        yield made
        made.sound()


async def test_a_second_run_is_refused_in_one_line(running: Stage):
    done = await running.gateway.command("run")
    assert done.code == 2
    (said,) = done.problems
    assert said["level"] == "error"
    assert re.search(r"another swarmgate is running on .*; stop it first", said["event"])
    running.telegram.say(2, "still there?")
    await running.answered([2])
    running.once({2: "still there?"})


async def test_chat_goes_through_the_control_socket(running: Stage):
    done = await running.gateway.command("chat", "--user", "alice", "--json", "hello from here")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out.splitlines()[-1])["text"] == "hello from here"
    assert (running.gateway.data / "control.sock").stat().st_mode & 0o777 == 0o600
    assert running.gateway.count("inbox", "channel = 'terminal'") == 1


async def test_a_stranger_is_let_in_by_the_code_that_was_shown(running: Stage):
    """Pairing opens only the person it names (openclaw#17631)."""
    calls = len(running.model.answers)
    running.telegram.say(5, "hello?")
    (told,) = await running.telegram.wait_replies(5)
    code = re.findall(r"\b[A-Z]{4}-\d{4}\b", told.text)[0]
    assert len(running.model.answers) == calls
    wrong = await running.gateway.command("users", "approve", "AAAA-0000")
    assert wrong.code == 1
    done = await running.gateway.command("users", "approve", code)
    assert done.code == 0, done.err
    running.telegram.say(5, "and now?")
    running.telegram.say(6, "me too?")
    await running.answered([5], 2)
    await running.answered([6], 1)
    assert running.texts(5)[1] == "and now?"
    assert code not in running.texts(6)[0]
    assert len(running.model.answers) == calls + 1


async def test_a_person_who_is_shut_out_is_not_answered_any_more(running: Stage):
    running.telegram.say(3, "am I in?")
    await running.answered([3])
    done = await running.gateway.command("users", "revoke", "telegram:3")
    assert done.code == 0, done.err
    running.telegram.say(3, "and now?")
    running.telegram.say(1, "later")
    await running.answered([1])
    assert running.texts(3) == ["am I in?"]
