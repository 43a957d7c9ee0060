"""A gateway that was killed: what each platform kept for it, and what each hands over twice."""

import json
from pathlib import Path

import pytest

from tests.scenario.platforms import platforms

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]  # starts on a loaded machine


async def test_six_messages_sent_while_it_was_killed_are_six_turns_on_every_platform(
    tmp_path: Path,
) -> None:
    """hermes#87040, #41193; hermes#68502: what was answered before the kill comes again after it. The model echoes."""
    async with platforms(tmp_path) as made:
        settings = {**made.gateway.settings, "sessions": {"while_busy": "queue"}}
        made.gateway.config.write_text(json.dumps(settings))
        await made.start()
        for name, rig in made.rigs.items():
            await rig.say(f"hello {name}")
            assert [m.text for m in await made.said(name, 1)] == [f"hello {name}"]
        await made.gateway.kill()
        for name, rig in made.rigs.items():
            await rig.again()
            for number in range(1, 7):
                await rig.say(f"{number} of {name}")
        await made.start()
        for name in made.rigs:
            shown = [m.text for m in await made.said(name, 7)]
            wanted = [f"hello {name}", *(f"{number} of {name}" for number in range(1, 7))]
            # Slack hands over in any order what had to wait
            assert shown == wanted or (name == "slack" and sorted(shown) == sorted(wanted))
        assert made.gateway.count("turn") == 7 * len(made.rigs)
        made.sound()
