"""The tools that reach beyond the gateway: web pages, files that persons sent, workspaces and commands in them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from agent_core.tools.documents import SentFiles, document_tools
from agent_core.tools.shell import Shell, shell_tools
from agent_core.tools.spec import ToolSpec
from agent_core.tools.web import web_tools
from agent_core.tools.web_guard import Guard
from agent_core.tools.web_search import Search, search_by
from agent_core.tools.workspace import Rooms, workspace_tools
from gateway.inbound.sent_files import StoredFiles
from gateway.settings.settings import Settings
from gateway.storage.db import Database
from gateway.workspaces import PrivateRooms, workspaces_of


@dataclass(frozen=True, slots=True)
class Outside:
    """What these tools stand on. `guard`: what of the web may be fetched; `shell`: None while commands are off."""

    guard: Guard = field(default_factory=Guard)
    search: Search | None = None
    sent: SentFiles | None = None
    rooms: Rooms | None = None
    shell: Shell | None = None

    def tools(self) -> Iterator[ToolSpec]:
        """The tools, the same list whatever is missing."""
        yield from web_tools(self.guard, self.search)
        yield from document_tools(self.sent)
        yield from workspace_tools(self.rooms)
        yield from shell_tools(self.rooms, self.shell)


def outside_of(settings: Settings, db: Database) -> Outside:
    """As the settings have it."""
    tools = settings.tools
    return Outside(
        guard=Guard(ports=frozenset(tools.web.ports)),
        search=search_by(tools.web.search_url),
        sent=StoredFiles(db),
        rooms=PrivateRooms(db, workspaces_of(settings)),
        shell=Shell(tools.exec_command_on_platforms) if tools.exec_command else None,
    )
