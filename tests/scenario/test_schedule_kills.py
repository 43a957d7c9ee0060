"""SIGKILL around what is due at a time: an alert that fired is told once, a scheduled run answers once."""

import datetime as dt
import sqlite3
from pathlib import Path

import pytest

from tests.scenario.stage import Stage, stage
from tests.twins.llm_script import Turn, say

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

HEAD = "date,open,high,low,close,volume\n"


def prices(folder: Path, **closes: float) -> None:
    """GOOG's last days, ending today; `closes` by days ago: d1 is yesterday."""
    today = dt.datetime.now(dt.UTC).date()
    rows = []
    for ago in range(9, -1, -1):
        close = closes.get(f"d{ago}")
        if close is not None:
            rows.append(f"{today - dt.timedelta(days=ago)},{close},{close},{close},{close},1\n")
    folder.mkdir(exist_ok=True)
    (folder / "GOOG.csv").write_text(HEAD + "".join(rows), "utf-8")


def fired(scene: Stage) -> list[str]:
    return [text for text in scene.texts(1) if "🔔" in text]


async def test_killed_between_an_alerts_firing_and_its_delivery(tmp_path: Path) -> None:
    """The firing and its message are one commit; whatever the kill meets, it is told once."""
    folder = tmp_path / "prices"
    prices(folder, d3=390.0, d2=395.0)
    data = {"sources": ["folder"], "folder": {"path": str(folder)}}
    async with stage(tmp_path, data=data) as scene:
        await scene.gateway.start()
        scene.telegram.say(1, "/alert GOOG above 400")
        await scene.answered([1])
        await scene.gateway.kill()
        prices(folder, d3=390.0, d2=395.0, d1=401.0)
        fault = scene.telegram.fault(r"/sendMessage$", hang=True)
        await scene.gateway.start()
        await scene.until(lambda: fault.used_up)
        assert scene.gateway.count("alert", "state = 'done'") == 1
        assert fired(scene) == []
        await scene.gateway.kill()
        await scene.gateway.start()
        await scene.until(lambda: fired(scene))
        await scene.settled()
        await scene.gateway.kill()
        await scene.gateway.start()
        await scene.settled()
        scene.sound()
        [told] = fired(scene)
        assert "401.00 USD" in told
        assert scene.gateway.count("event", "kind = 'signal'") == 1


async def test_killed_while_a_scheduled_run_answers(tmp_path: Path) -> None:
    """Its slot is an inbox row: the turn goes on after the kill, and the slot does not come again (openclaw#33092)."""
    slot = dt.datetime.now(dt.UTC).replace(second=0, microsecond=0)
    line = f"{slot.minute} {slot.hour} * * *"
    entry = {"cron": line, "to": "telegram:1", "say": "the brief", "as": "telegram:1"}
    async with stage(tmp_path, schedules=[entry]) as scene:
        scene.model.reply_to("the brief", [[Turn([say("lost")], delay=30.0), "the answer"]])
        await scene.gateway.start()
        scene.telegram.say(1, "/status")  # Telegram lets no bot write first
        await scene.answered([1])
        assert scene.gateway.count("schedule", "status = 'active'") == 1
        await scene.gateway.kill()
        _due(scene, slot)
        await scene.gateway.start()
        await scene.until(lambda: scene.requests("the brief"))
        await scene.gateway.kill()
        await scene.gateway.start()
        await scene.answered([1], 2)
        await scene.gateway.kill()
        _due(scene, slot)
        await scene.gateway.start()
        await scene.until(lambda: scene.gateway.count("schedule", f"next_at > '{slot}'") == 1)
        await scene.settled()
        scene.sound()
        assert scene.texts(1)[1:] == ["the answer"]
        assert scene.gateway.count("turn") == 1


def _due(scene: Stage, slot: dt.datetime) -> None:
    """As if the gateway had not run at the slot."""
    with sqlite3.connect(scene.gateway.data / "swarmgate.db") as database:
        database.execute("update schedule set next_at = ?", (f"{slot:%Y-%m-%d %H:%M:%S}.000000",))
