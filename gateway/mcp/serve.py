"""What `swarmgate mcp` wires: the tools of the settings, beside a gateway that may be running, and the way out."""

import asyncio
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from agent_core.finance import work
from agent_core.tools.registry import Registry
from gateway.clock import SystemClock
from gateway.mcp.http import HOST, PATH, serve_http
from gateway.mcp.server import NOBODY, ToolServer
from gateway.mcp.tiers import offered
from gateway.memory.history import OwnHistory
from gateway.memory.own_profiles import StoredProfiles
from gateway.people.identity import known
from gateway.prices.price_cache import PriceCache
from gateway.prices.source_house import source_house
from gateway.prices.symbol_refresh import use_fetched
from gateway.problems import OperatorError, Problem
from gateway.settings.settings import Settings
from gateway.storage.db import Database, url_of
from gateway.storage.schema import open_database
from gateway.toolbox import Equipment, toolbox
from gateway.trading.house import OrderHouse, order_desk, order_house
from gateway.trading.portfolio import StoredPortfolio


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for. `user`: whose data, "" for no one's; `port`: None for standard input."""

    tier: int = 2
    approvals: bool = False
    user: str = ""
    language: Literal["en", "zh"] = "en"
    port: int | None = None
    token: str = ""


def allowed(settings: Settings, wanted: Wanted) -> None:
    """Raises OperatorError where the settings do not allow what is asked for."""
    serve = settings.mcp.serve
    if wanted.tier > serve.tier:
        cure = f"set mcp.serve.tier: {wanted.tier}, or ask for --tier {serve.tier}"
        raise OperatorError([Problem(f"tier {wanted.tier} is not enabled", cure)])
    if wanted.approvals and not serve.approval_tools:
        cure = "set mcp.serve.approval_tools: true, or leave out --approval-tools"
        raise OperatorError([Problem("tools that need approval are not enabled", cure)])
    if not wanted.user and (wanted.tier != 2 or wanted.approvals):
        cure = "name the person with --user, such as --user telegram:123"
        raise OperatorError([Problem("these tools speak of one person", cure)])


async def serve(settings: Settings, wanted: Wanted) -> None:
    """Serve until the client is gone, or the process is told to stop. Raises OperatorError, DatabaseError."""
    allowed(settings, wanted)
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    await asyncio.to_thread(use_fetched, settings)
    secret = settings.database
    url = url_of(secret.get_secret_value() if secret else None, settings.data_dir)
    db = await open_database(url)
    try:
        owner = await _owner(db, wanted.user)
        tools = offered(
            _tools(settings, db, owner),
            wanted.tier,
            person=owner != NOBODY,
            approvals=wanted.approvals,
        )
        server = ToolServer(tools, SystemClock(), owner, wanted.language)
        await _carry(server, wanted)
    finally:
        await work.close()
        await db.close()


async def _owner(db: Database, user: str) -> str:
    if not user:
        return NOBODY
    person = await db.read(lambda conn: known(conn, user))
    if person.revoked:
        raise OperatorError([Problem(f"{user} has no access any more", "swarmgate users list")])
    return person.principal


def _tools(settings: Settings, db: Database, owner: str) -> Registry:
    """Those of the gateway, on the same sources and books; of nobody's past where no person is named."""
    clock = SystemClock()
    house = source_house(settings, clock, PriceCache(db))
    somebody = owner != NOBODY
    orders = order_house(order_desk(settings, db, clock, house.prices))
    return toolbox(
        Equipment(
            sources=house.prices,
            reports=house.reports,
            history=OwnHistory(db) if somebody and settings.memory.enabled else None,
            book=StoredPortfolio(db) if somebody else None,
            profiles=StoredProfiles(db) if somebody else None,
            orders=orders if somebody else OrderHouse(),
        )
    )


async def _carry(server: ToolServer, wanted: Wanted) -> None:
    built = server.build()
    if wanted.port is not None:
        sys.stderr.write(f"swarmgate: serving http://{HOST}:{wanted.port}{PATH}\n")
        await serve_http(built, wanted.port, wanted.token)
        return
    from mcp.server.stdio import stdio_server

    with suppress(BrokenPipeError):  # the client went first
        async with stdio_server() as (read, write):
            await built.run(read, write, built.create_initialization_options())
