"""/api/v1 does what its own description says, whatever it is sent (schemathesis over every operation)."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

from gateway.console.openapi import document
from gateway.console.plan import ACTIONS, VIEWS
from tests.unit.gateway.console_house import ADMIN, console_house

EXAMPLES = 12  # of each operation, beside those that its schema names
# Guessing tokens slows down the right one too (test_console_entry.py); OPTIONS answers 405.
LEFT_OUT = "ignored_auth,unsupported_method"


def test_every_page_and_action_is_described_with_its_role() -> None:
    made = document(list(VIEWS), list(ACTIONS))
    operations = [op for path in made["paths"].values() for op in path.values()]
    assert made["openapi"].startswith("3.1")
    assert len(operations) == len(VIEWS) + len(ACTIONS)
    assert len({op["operationId"] for op in operations}) == len(operations)
    assert all("401" in op["responses"] and "200" in op["responses"] for op in operations)
    assert all("Needs the role" in op["description"] for op in operations)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_no_request_breaks_the_api_or_its_description(tmp_path: Path) -> None:
    async with console_house(tmp_path) as house:
        command = [
            sys.executable, "-m", "schemathesis.cli", "run", f"{house.url}/api/v1/openapi.json",
            "--url", f"{house.url}/api/v1", "--header", f"Authorization: Bearer {ADMIN}",
            "--checks", "all", "--exclude-checks", LEFT_OUT, "--phases", "examples,coverage,fuzzing",
            "--max-examples", str(EXAMPLES), "--seed", "1", "--workers", "1", "--no-color",
        ]  # fmt: skip # one worker: ast.parse of Python 3.11 knows no threads
        env = dict(os.environ) | {"NO_PROXY": "*"}
        done = await asyncio.create_subprocess_exec(
            *command, stdout=PIPE, stderr=STDOUT, cwd=tmp_path, env=env
        )
        said, _ = await done.communicate()
        text = said.decode()
        assert done.returncode == 0, text[-6_000:]
        async with house.program("viewer") as client, client.get("/api/v1/overview") as response:
            assert response.status == 200, "and it still stands"
