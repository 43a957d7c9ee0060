"""What operators see and do while the whole gateway runs: probes, figures, a backup, and a restore that goes on."""

import asyncio
import json
import shutil

import aiohttp
import pytest

from tests.scenario.stage import Stage
from tests.twins.llm_script import Turn, say

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]  # many starts on a loaded machine


class Probe:
    """Asks the gateway as Prometheus and an orchestrator do."""

    def __init__(self, scene: Stage, client: aiohttp.ClientSession) -> None:
        (line,) = [
            e for e in map(str, (li["event"] for li in scene.gateway.lines)) if "web chat:" in e
        ][-1:]
        self.url = line.partition("web chat: ")[2].partition("/login")[0]
        self.token = (scene.gateway.data / "console-token").read_text().strip()
        self.client = client

    async def get(self, path: str, *, token: bool = True) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {self.token}"} if token else {}
        async with self.client.get(self.url + path, headers=headers) as response:
            return response.status, await response.text()

    async def figure(self, series: str) -> float:
        text = (await self.get("/metrics"))[1]
        return sum(float(li.rsplit(" ", 1)[1]) for li in text.splitlines() if li.startswith(series))


async def test_probes_and_figures_follow_a_message_and_a_drain(scene: Stage) -> None:
    scene.model.reply_to("^slow", [Turn([say("The slow answer.")], delay=2.0)])
    await scene.gateway.start()
    async with aiohttp.ClientSession() as client:
        probe = Probe(scene, client)
        assert await probe.get("/readyz", token=False) == (200, "ok\n")
        assert (await probe.get("/metrics", token=False))[0] == 401
        scene.telegram.say(1, "hello")
        await scene.answered([1])
        body = json.loads((await probe.get("/readyz"))[1])
        telegram = next(c for c in body["channels"] if c["name"] == "telegram")
        assert telegram["ok"] is True
        assert telegram["heard_seconds_ago"] < 30
        assert await probe.figure('swarmgate_turns_total{channel="telegram",status="done"}') == 1
        assert await probe.figure('swarmgate_messages_total{channel="telegram"') == 1
        assert await probe.figure('swarmgate_stage_seconds_count{stage="deliver"}') >= 1
        scene.telegram.say(1, "slow question")
        await scene.until(lambda: len(scene.model.answers) > 1)
        stopping = asyncio.create_task(scene.gateway.terminate())
        await asyncio.sleep(0.3)
        assert (await probe.get("/healthz"))[0] == 200, "it drains, it is not dead"
        assert (await probe.get("/readyz", token=False))[0] == 503
        assert await stopping == 0
    assert scene.texts(1)[-1] == "The slow answer."
    assert probe.token not in scene.gateway.log()


async def test_a_backup_of_the_running_gateway_is_restored_and_answers(scene: Stage) -> None:
    await scene.gateway.start()
    scene.telegram.say(1, "my number is 4711")
    await scene.answered([1])
    file = scene.gateway.folder / "kept.swarmgate"
    done = await scene.gateway.command("backup", str(file))
    assert done.code == 0, done.err
    assert (await scene.gateway.command("restore", str(file))).code == 2, "it runs"
    await scene.gateway.kill()
    shutil.rmtree(scene.gateway.data)
    done = await scene.gateway.command("restore", str(file))
    assert done.code == 0, done.err
    await scene.gateway.start()
    scene.telegram.say(1, "which number?")
    await scene.answered([1], 2)
    asked = [c for c in scene.model.calls if c.path.endswith("messages")][-1]
    assert "my number is 4711" in str(asked.params)
    assert scene.texts(1) == ["my number is 4711", "which number?"], "the model echoes"
    assert scene.gateway.count("turn") == 2
    assert await scene.gateway.terminate() == 0
