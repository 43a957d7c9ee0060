"""The link to Discord's gateway when it fails: sessions that cannot be resumed, connections that die silently."""

import asyncio

import pytest

from tests.twins.discord import DiscordTwin
from tests.unit.channels.discord_rig import Rig, rig

CODES = [4000, 1001, 0]  # 0: no answer at all, while heart-beats are answered


@pytest.mark.parametrize("code", CODES)
async def test_three_resumes_that_fail_lead_to_an_identify_and_nothing_is_lost(code: int) -> None:
    """openclaw#20668: each RESUME ends the connection; the library alone would try for ever, without a pause."""
    async with rig(receiving=False, resume_pause=0.01, silence=0.5) as r:
        r.twin.gateway.heartbeat_ms = 100
        await r.start()
        r.twin.dm("5", "before")
        await r.inbound()
        r.twin.gateway.ends_resumes = code
        r.twin.drop(4000)
        missed = r.twin.dm("5", "missed")
        await r.twin.wait_for(lambda: len(r.twin.gateway.identified) == 2)
        assert len(r.twin.gateway.tries) == 3
        live = r.twin.dm("5", "live")
        await r.twin.wait_for(lambda: {missed, live} <= {i.key for i in r.got})
        assert len(r.twin.gateway.connections) == 1


async def test_resumes_that_work_in_between_do_not_count_as_failed() -> None:
    async with rig(resume_pause=0.01) as r:
        for n in range(1, 6):
            r.twin.drop(4000)
            await r.twin.wait_for(lambda n=n: len(r.twin.gateway.resumed) == n)  # type: ignore[misc]
        assert len(r.twin.gateway.identified) == 1
        said = r.twin.dm("5", "hello")
        assert [i.key for i in await r.inbound()] == [said]


async def test_failed_resumes_have_pauses_that_grow() -> None:
    """A gateway that ends each RESUME at once is not stormed."""
    async with rig(resume_pause=0.1) as r:
        r.twin.gateway.ends_resumes = 4000
        r.twin.drop(4000)
        await r.twin.wait_for(lambda: len(r.twin.gateway.identified) == 2)
        first, second, third = r.twin.gateway.tries
        assert second - first >= 0.1
        assert third - second >= 0.2


async def test_one_shard_that_cannot_resume_identifies_alone() -> None:
    async with DiscordTwin() as twin:
        twin.rest.shards = 2
        r = Rig(twin, resume_pause=0.01)
        try:
            await r.start()
            assert len(twin.gateway.identified) == 2
            twin.gateway.ends_resumes = 4000
            session = next(s for s in twin.gateway.sessions.values() if s.shard[0] == 1)
            assert session.connection is not None
            session.connection.queue.put_nowait({"close": 4000})
            session.connection.session = None
            session.connection = None
            await twin.wait_for(lambda: len(twin.gateway.identified) == 3)
            assert len(twin.gateway.tries) == 3
            await twin.wait_for(lambda: len(twin.gateway.connections) == 2)
        finally:
            await r.stop()
        assert twin.violations == []


async def test_a_connection_that_dies_silently_is_noticed_and_resumed() -> None:
    """The kind of AstrBot#8314: heart-beats are not answered any more, and no close comes."""
    async with DiscordTwin() as twin:
        twin.gateway.heartbeat_ms = 200
        r = Rig(twin, silence=0.8)
        try:
            await r.start()
            first = next(iter(twin.gateway.connections))
            twin.gateway.answers_heartbeats = False
            await twin.wait_for(lambda: first not in twin.gateway.connections, 20)
            twin.gateway.answers_heartbeats = True
            said = twin.dm("5", "hello")
            async with asyncio.timeout(20):
                while said not in {i.key for i in r.got}:
                    await asyncio.sleep(0.02)
            assert len(twin.gateway.connections) == 1
        finally:
            await r.stop()
        assert twin.violations == []
