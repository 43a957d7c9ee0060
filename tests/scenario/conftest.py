"""Stages for scenarios, and the gateway's log beside every failure."""

from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.scenario.process import STARTED
from tests.scenario.stage import Stage, stage


@pytest_asyncio.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Stage]:
    """A stage of its own for one test."""
    async with stage(tmp_path) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """A stage for all tests of a module (each with chats of its own), started; it must be sound at the end."""
    async with stage(tmp_path_factory.mktemp("shared")) as made:
        await made.gateway.start()
        yield made
        await made.settled()
        made.sound()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for gateway in STARTED:
            report.sections.append((f"gateway {gateway.folder.name}", gateway.log()))
    if call.when == "teardown":
        STARTED[:] = [g for g in STARTED if g.running]
    return report
