"""Names of tools of foreign MCP servers: `mcp_<server>_<tool>`, such as every model provider takes.

A server's own name has no underscore, so that a name tells its server, and two servers never meet in one name.
"""

import hashlib
import re

PREFIX = "mcp_"
SERVER_NAME = r"[a-z][a-z0-9-]{0,23}"
LONGEST = 64
_DIGITS = 8  # of the digest that stands for the rest of a name that is too long
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")


def foreign_name(server: str, tool: str) -> str:
    """The name here of a server's tool. Two tools of one server can come to the same name, which no tool then gets."""
    name = PREFIX + server + "_" + _OTHER.sub("_", tool)
    if len(name) <= LONGEST:
        return name
    digest = hashlib.sha256(tool.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{name[: LONGEST - _DIGITS - 1]}_{digest}"


def prefix_of(server: str) -> str:
    """How the names of all tools of a server begin."""
    return f"{PREFIX}{server}_"


def server_of(name: str) -> str:
    """The server that a tool's name tells of, "" for a tool of our own."""
    head, _, rest = name.removeprefix(PREFIX).partition("_")
    return head if name.startswith(PREFIX) and rest else ""
