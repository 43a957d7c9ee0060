"""The console over a real core, served on loopback: what its tests ask, as a browser and as a program would."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from gateway.app import Core, build
from gateway.console.door import ConsoleDoor
from gateway.http.app import HttpServer
from gateway.http.token import ConsoleToken
from gateway.settings.settings import Settings

ADMIN = "admin-token-0123456789abcdef"
TOKENS = {
    "bob": {"token": "bob-token-0123456789abcdef", "role": "operator"},
    "watch": {"token": "watch-token-0123456789abcdef", "role": "viewer"},
}
OF = {"admin": ADMIN, "operator": TOKENS["bob"]["token"], "viewer": TOKENS["watch"]["token"]}
_FORM = re.compile(r'data-form="([0-9a-f]{64})"')


@dataclass
class Visit:
    """A browser that is logged in, without following redirects."""

    client: aiohttp.ClientSession
    form: str

    async def see(self, path: str) -> str:
        """A page; asserts that there is one."""
        async with self.client.get(f"/console{path}") as response:
            text = await response.text()
            assert response.status == 200, (path, response.status, text[:500])
            return text

    async def do(self, path: str, **fields: str) -> str:
        """An action; returns the page that one comes back to, with what it says."""
        data = {"form": self.form, "back": "/console"} | fields
        async with self.client.post(
            f"/console{path}", data=data, allow_redirects=False
        ) as response:
            assert response.status == 303, (path, response.status, (await response.text())[:500])
            to = response.headers["Location"]
        return await self.see(to.removeprefix("/console"))


@dataclass
class ConsoleHouse:
    """A core with its console."""

    core: Core
    settings: Settings
    server: HttpServer
    door: ConsoleDoor

    @property
    def url(self) -> str:
        return self.server.local_url

    @asynccontextmanager
    async def visit(self, role: str, language: str = "en") -> AsyncIterator[Visit]:
        """Logged in by the token of a role."""
        jar = aiohttp.CookieJar(unsafe=True)
        headers = {"Accept-Language": language, "Origin": self.url}
        async with aiohttp.ClientSession(self.url, cookie_jar=jar, headers=headers) as client:
            data = {"token": OF[role], "next": "/console"}
            async with client.post("/console/login", data=data) as response:
                text = await response.text()
                assert response.status == 200, text[:500]
            found = _FORM.search(text)
            assert found
            yield Visit(client, found[1])

    def browser(self, **cookies: str) -> aiohttp.ClientSession:
        """A browser at a page of ours, with these cookies alone."""
        jar = aiohttp.CookieJar(unsafe=True)
        jar.update_cookies(cookies)
        return aiohttp.ClientSession(self.url, cookie_jar=jar, headers={"Origin": self.url})

    @asynccontextmanager
    async def program(self, role: str) -> AsyncIterator[aiohttp.ClientSession]:
        """A program with the token of a role."""
        headers = {"Authorization": f"Bearer {OF[role]}"}
        async with aiohttp.ClientSession(self.url, headers=headers) as client:
            yield client


def on(database_url: str) -> dict[str, Any]:
    """The settings that name a database of the tests; SQLite lies in the folder anyway."""
    if database_url.startswith("sqlite"):
        return {}
    address = database_url.replace("postgresql+psycopg://", "postgresql://")
    return {"database": address, "engine": {"kind": "local"}}


def settings_in(folder: Path, **more: Any) -> Settings:
    """Settings of a gateway in a folder, with an operator and a viewer beside the admin."""
    values: dict[str, Any] = {
        "data_dir": str(folder / "data"),
        "presets_dir": str(folder / "presets"),
        "models": {"default": "demo"},
        "http": {"console_token": ADMIN},
        "console": {"tokens": TOKENS},
    }
    return Settings.model_validate(values | more)


@asynccontextmanager
async def console_house(folder: Path, **more: Any) -> AsyncIterator[ConsoleHouse]:
    """A core that takes no messages by itself, and its console."""
    settings = settings_in(folder, **more)
    core = await build(settings)
    door = ConsoleDoor(core, settings, ConsoleToken(ADMIN))
    server = HttpServer(
        "127.0.0.1",
        0,
        public_url=settings.http.public_url,
        routes=door.routes(),
        on_stop=[door.stop],
    )
    await server.start()
    try:
        yield ConsoleHouse(core, settings, server, door)
    finally:
        await server.stop()
        await core.engine.stop(1)
        await core.senders.stop(1)
        await core.mcp.stop()
        await core.models.close()
        await core.db.close()
