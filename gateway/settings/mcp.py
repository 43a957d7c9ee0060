"""Foreign MCP servers whose tools agents may use, and what `swarmgate mcp` may serve of ours.

Only the settings say what is started or called: presets are edited while the gateway runs, and a command in one would
be a way to run anything.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SecretStr, model_validator

from agent_core.tools.mcp_names import SERVER_NAME
from agent_core.tools.spec import Credibility
from gateway.settings.fields import Address, Folder, Section, Text, fault

_SECRET = re.compile(r"(?i)key|token|secret|password|auth|cookie")
Seconds = Annotated[float, Field(ge=1, le=3_600, allow_inf_nan=False)]


def _hidden(values: dict[str, Any]) -> dict[str, Any]:
    """Those whose names say that they are secret never show when settings are printed."""
    return {key: SecretStr(v) if _SECRET.search(key) else v for key, v in values.items()}


Named = Annotated[dict[Annotated[str, Field(pattern=r"^[^\s=:]+$")], str], AfterValidator(_hidden)]


def _server_name(name: str) -> str:
    if not re.fullmatch(SERVER_NAME, name):
        cure = "write up to 24 small letters, digits and hyphens, a letter first, such as my-files"
        raise fault(f"{name!r} is no name for a server", cure)
    return name


class McpServer(Section):
    """A server that is started here (`command`) or reached by HTTP (`url`).

    `tools`: the only ones that are taken, by the server's own names; null: all. `approval`: whether a person is asked
    before each call. `timeout`: seconds for one call. `credibility`: how far its answers are believed. A command sees
    `env` and nothing else of the gateway's environment but PATH, HOME and the like.
    """

    command: Text = None
    args: tuple[str, ...] = ()
    env: Named = Field(default_factory=dict)
    cwd: Folder | None = None
    url: Address = None
    headers: Named = Field(default_factory=dict)
    enabled: bool = True
    tools: tuple[Annotated[str, Field(min_length=1)], ...] | None = None
    approval: Literal["always", "never"] = "always"
    timeout: Seconds = 60.0
    credibility: Credibility = "mixed"

    @model_validator(mode="after")
    def _one_way(self) -> "McpServer":
        if bool(self.command) == bool(self.url):
            raise fault("needs a command or a url", "write one of the two")
        if self.url and (self.args or self.env or self.cwd):
            raise fault("args, env and cwd belong to a command", "remove them")
        if self.command and self.headers:
            raise fault("headers belong to a url", "remove them", "headers")
        return self


class McpServe(Section):
    """How much `swarmgate mcp` may serve at most: its options can ask for less.

    `tier` 1: the history of conversations; 2: also markets and backtests; 3: also a person's portfolio and what a model
    writes. `approval_tools`: also those that change something, each after a question to the person by the client.
    """

    tier: Annotated[int, Field(ge=1, le=3)] = 2
    approval_tools: bool = False


class Mcp(Section):
    """Tools of foreign MCP servers by a name of one's own, and our tools for others."""

    servers: dict[Annotated[str, AfterValidator(_server_name)], McpServer] = Field(
        default_factory=dict
    )
    serve: McpServe = McpServe()

    def enabled(self) -> dict[str, McpServer]:
        """The servers that are to be used, by name."""
        return {name: server for name, server in sorted(self.servers.items()) if server.enabled}

    def idle(self) -> "Mcp":
        """The same with all servers off: their names are known, and none is called."""
        off = {name: s.model_copy(update={"enabled": False}) for name, s in self.servers.items()}
        return self.model_copy(update={"servers": off})


def plain(values: Mapping[str, Any]) -> dict[str, str]:
    """Environment or headers as they are sent."""
    return {
        key: value.get_secret_value() if isinstance(value, SecretStr) else value
        for key, value in values.items()
    }
