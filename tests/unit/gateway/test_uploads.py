"""Files that are handed over before their message: kept once, under their owner, without secrets, read by a turn."""

import pytest

from agent_core.types import Image
from channels.types import Attachment
from channels.web.channel import WebChannel
from channels.web.host import Unfit
from channels.web.routes import attached
from gateway.http.auth import CookieSessions
from gateway.http.web_host import GatewayWebHost
from gateway.inbound.uploads import PER_MINUTE, Uploads
from gateway.redact import Redactor
from gateway.storage.db import Database
from tests.house import House, settings
from tests.twins.passes import MemoryPasses
from tests.unit.gateway.media_house import Files, drawn
from tests.unit.gateway.test_sessions import told

SECRET = "a-value-that-must-not-show"


class Page(Files):
    """The web chat as a loopback that fetches files as the web channel does."""

    def __init__(self) -> None:
        super().__init__(name="web", account="local")
        self.web: WebChannel | None = None

    async def download(self, attachment: Attachment, limit: int) -> bytes:
        assert self.web is not None
        return await self.web.download(attachment, limit)


def web_house(
    db: Database, script: list[str], *, hears: bool = False
) -> tuple[House, GatewayWebHost]:
    page, redactor = Page(), Redactor()
    redactor.known([SECRET])
    house = House(db, script, channel=page, rules=settings(access={"default": "allow"}))
    uploads = Uploads(db, house.clock, redactor, lambda: hears)
    host = GatewayWebHost(
        db,
        house.clock,
        CookieSessions(b"k" * 32, MemoryPasses(), house.clock),
        house.commands,
        uploads,
    )
    page.web = WebChannel(host)
    return house, host


async def test_a_file_is_kept_once_for_its_owner_and_read_in_the_turn_of_its_message(
    db: Database,
) -> None:
    house, host = web_house(db, ["a red one, and apples", "again"])
    async with house:
        chat = (await host.create("alice")).id
        text = f"42 apples, {SECRET}".encode()
        note = await host.keep("alice", chat, "note.txt", "text/plain", text)
        assert await host.keep("alice", chat, "note.txt", "text/plain", text) == note
        picture = await host.keep("alice", chat, "red.png", "image/png", drawn())
        assert SECRET.encode() not in (await host.file("alice", note.ref)).data
        kept = await host.kept("alice", [picture.ref, note.ref])
        assert [(f.name, f.media_type) for f in kept] == [
            ("red.png", "image/png"),
            ("note.txt", "text/plain"),
        ]
        for stranger in (host.kept("bob", [note.ref]), host.file("bob", note.ref)):
            with pytest.raises(KeyError):
                await stranger
        with pytest.raises(KeyError):
            await host.keep("alice", "no such chat", "a.txt", "text/plain", b"x")
        files = tuple(attached("alice", file) for file in kept)
        more = {"author": "alice", "chat": chat, "attachments": files}
        assert await house.ask("", key="k-1", **more) == ["a red one, and apples"]
        (asked,) = told(house.model.requests[-1])
        assert "42 apples" in asked
        assert SECRET not in asked
        blocks = house.model.requests[-1].messages[-1].blocks
        assert [b.media_type for b in blocks if isinstance(b, Image)] == ["image/png"]
        await house.ask("what else?", key="k-2", again="k-1", **more)
        shown = [m for m in await host.history("alice", chat) if m.role == "user"]
        assert [(m.again, [f.ref for f in m.files]) for m in shown] == [
            (None, [f.ref for f in kept]),
            ("k-1", [f.ref for f in kept]),
        ]
        assert [s.title for s in await host.sessions("alice")] == ["red.png note.txt"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_what_a_turn_can_do_nothing_with_is_refused_before_it_is_read(db: Database) -> None:
    _, host = web_house(db, [])
    for name, kind in (
        ("a.png", "image/png"),
        ("photo.JPG", "application/octet-stream"),
        ("a.md", "application/octet-stream"),
        ("report.pdf", "application/pdf"),
        ("book.xlsx", "application/octet-stream"),
    ):
        host.admit("alice", name, kind)
    deaf = [("a.ogg", "audio/ogg")]
    useless = [("a.zip", "application/zip"), ("a.svg", "image/svg+xml"), ("a.mp4", "video/mp4")]
    for name, kind in deaf + useless:
        with pytest.raises(Unfit, match=name):
            host.admit("alice", name, kind)
    web_house(db, [], hears=True)[1].admit("alice", *deaf[0])


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_person_hands_over_so_many_files_a_minute(db: Database) -> None:
    house, host = web_house(db, [])
    for _ in range(PER_MINUTE):
        host.admit("alice", "a.txt", "text/plain")
    with pytest.raises(Unfit) as refused:
        host.admit("alice", "a.txt", "text/plain")
    assert refused.value.code == "file_often"
    host.admit("bob", "a.txt", "text/plain")
    house.clock.seconds += 61
    host.admit("alice", "a.txt", "text/plain")
