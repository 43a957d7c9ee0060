"""The first calls of a process come at once after a restart: they share one client, which is closed at the end."""

import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT

# A process of its own: only there is the SDK not loaded yet.
CALLS = """
import asyncio
from agent_core.models.scripted import INFO
from agent_core.models.{provider} import {name} as Model

async def main():
    model = Model(INFO, provider="{provider}", api_key="k", base_url="http://127.0.0.1:9")
    clients = await asyncio.gather(*(model._ready() for _ in range(4)))
    await model.close()
    print(len(set(map(id, clients))))

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("provider", "name"),
    [("anthropic", "AnthropicModel"), ("openai", "OpenAIModel"), ("gemini", "GeminiModel")],
)
def test_calls_that_come_at_once_to_a_new_process_share_one_client(
    provider: str, name: str
) -> None:
    code = CALLS.format(provider=provider, name=name)
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "1"), done.stderr
    assert "unclosed" not in done.stderr.lower()
