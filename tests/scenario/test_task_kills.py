"""SIGKILL and SIGTERM around background tasks: each chat gets its one report, no task is lost, none is told twice."""

from collections import Counter

import pytest

from tests.scenario.stage import Stage
from tests.twins.llm_script import Turn, call, say

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

CHATS = range(1, 6)
REPORT = "It found what it looked for."


def script(scene: Stage, chat: int, tool: str = "long_look", delay: float = 0.0) -> None:
    """Start a task, say so, and report its end; between the two stands the message that brings the result."""
    start = Turn([say("wait"), call(tool, {"label": f"{chat}"})])
    report = Turn([say(REPORT)], delay=delay)
    unused = "never said"
    scene.model.reply_to(
        rf"^question of chat {chat}$", [start, "It runs.", unused, [report, REPORT]]
    )


async def started(scene: Stage, tool: str = "long_look", delay: float = 0.0) -> None:
    """Every chat has a task that runs, and was told so."""
    for chat in CHATS:
        script(scene, chat, tool, delay)
    scene.plugin.hold()
    await scene.gateway.start()
    for chat in CHATS:
        scene.telegram.say(chat, f"question of chat {chat}")
    await scene.answered(CHATS)
    await scene.until(lambda: len(scene.plugin.traces(f"{tool}s")) == len(CHATS))


async def reported(scene: Stage, lost: int = 0) -> None:
    await scene.until(lambda: all(len(scene.texts(c)) >= 2 for c in CHATS))
    await scene.settled()
    scene.sound(lost)
    for chat in CHATS:
        assert scene.texts(chat) == ["It runs.", REPORT]
    assert scene.gateway.count("turn", "status <> 'done'") == 0
    assert scene.gateway.count("task", "told_at is null") == 0


async def test_killed_while_tasks_run_that_only_read(scene: Stage) -> None:
    """BGT-5: they run again, and nobody starts them again."""
    await started(scene)
    await scene.gateway.kill()
    scene.plugin.release()
    await scene.gateway.start()
    await reported(scene)
    assert Counter(map(int, scene.plugin.traces("long_looks"))) == dict.fromkeys(CHATS, 2)
    assert scene.gateway.count("task", "state = 'done'") == len(CHATS)


async def test_killed_while_tasks_run_that_must_not_run_twice(scene: Stage) -> None:
    """BGT-5, TGV-10."""
    await started(scene, "long_order")
    await scene.gateway.kill()
    scene.plugin.release()
    await scene.gateway.start()
    await reported(scene)
    assert Counter(map(int, scene.plugin.traces("long_orders"))) == dict.fromkeys(CHATS, 1)
    assert scene.gateway.count("task", "state = 'interrupted'") == len(CHATS)


async def test_killed_at_the_moment_of_the_end(scene: Stage) -> None:
    """BGT-3: the end of a task and its news are one commit; whatever the kill meets, each is told of once."""
    await started(scene)
    scene.plugin.release()
    await scene.until(lambda: scene.gateway.count("task", "state = 'done'"))
    await scene.gateway.kill()
    lost = len(scene.model.finished) - scene.gateway.count("usage")
    assert 0 <= lost <= len(CHATS)
    await scene.gateway.start()
    await reported(scene, lost)


async def test_killed_between_the_end_and_the_report(scene: Stage) -> None:
    """The turn of the notification goes on; the tool does not run again."""
    await started(scene, delay=60.0)
    scene.plugin.release()
    await scene.until(lambda: scene.gateway.count("task", "told_at is not null") == len(CHATS))
    await scene.until(lambda: len(scene.model.answers) == 3 * len(CHATS))
    await scene.gateway.kill()
    await scene.gateway.start()
    await reported(scene)
    assert len(scene.plugin.traces("long_looks")) == len(CHATS)


async def test_stopped_in_good_order_while_tasks_run(scene: Stage) -> None:
    await started(scene)
    assert await scene.gateway.terminate() == 0
    assert scene.gateway.count("task", "state = 'queued' and attempts = 0") == len(CHATS)
    scene.plugin.release()
    await scene.gateway.start()
    await reported(scene)
