"""The tools that foreign MCP servers had when they were last heard, kept in a file of `data_dir`.

So presets that name them can be checked, and tools be shown, while a server is down or nothing runs. What is kept
counts only for the server as the settings describe it now.
"""

import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from agent_core.tools.mcp import Offer
from gateway.settings.mcp import McpServer

log = logging.getLogger(__name__)
FILE = "mcp-tools.json"


@dataclass(slots=True)
class KnownTools:
    """The lists by server. Reading and writing block: use a thread where a loop runs."""

    path: Path
    lists: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, data_dir: Path) -> "KnownTools":
        """What the file has; nothing where it is missing or broken, which the next list that is heard mends."""
        path = data_dir / FILE
        try:
            lists = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return cls(path)
        except (OSError, ValueError) as error:
            log.warning("mcp_tools_not_read", extra={"file": str(path), "reason": str(error)})
            return cls(path)
        found = lists.items() if isinstance(lists, dict) else ()
        return cls(path, {k: v for k, v in found if isinstance(v, dict)})

    def of(self, name: str, server: McpServer) -> list[Offer] | None:
        """What this server offered last; None where that is not known."""
        kept = self.lists.get(name)
        if kept is None or kept.get("of") != _definition(server):
            return None
        try:
            return [Offer(**tool) for tool in kept["tools"]]
        except (KeyError, TypeError):
            return None

    def keep(self, name: str, server: McpServer, offers: Sequence[Offer]) -> None:
        """Remember a list, for as long as the file can be written; a full disk is logged."""
        tools = [asdict(offer) for offer in offers]
        self.lists[name] = {"of": _definition(server), "tools": tools}
        fresh = self.path.with_suffix(".new")
        try:
            handle = os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(self.lists, file, ensure_ascii=False, indent=1)
            fresh.replace(self.path)
        except (OSError, ValueError) as error:
            log.warning("mcp_tools_not_kept", extra={"reason": str(error)})


def _definition(server: McpServer) -> str:
    """Tells servers apart; secrets of environment and headers are no part of it."""
    what: Mapping[str, Any] = {"run": [server.command, *server.args], "url": server.url}
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()
