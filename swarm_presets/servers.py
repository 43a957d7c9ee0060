"""The MCP servers of a preset (`mcp`): which servers of the settings it uses, and which of their tools (SW203, SW210).

A preset only names servers. What is started or called is a matter of the settings: a preset is edited while the gateway
runs, by people who need not be trusted with commands on its machine. What is not named here is not there for a preset.
"""

from collections.abc import Iterator

from agent_core.tools.mcp_names import foreign_name, prefix_of, server_of
from swarm_presets.parts import leaves
from swarm_presets.positions import Entry, Leaf, Mapping, Unknown, at
from swarm_presets.problems import Problem, problem, suggest

Servers = dict[str, frozenset[str]]


def used(tree: Mapping) -> dict[str, Entry]:
    """The servers that a preset names, each with what it says of it."""
    node = tree.get("mcp")
    return dict(node.entries) if isinstance(node, Mapping) else {}


def unknown_servers(tree: Mapping, servers: Servers | None) -> Iterator[Problem]:
    """SW210 for a server that the settings do not have, SW203 for tools that a server is known not to have."""
    if servers is None:
        return
    for name, entry in used(tree).items():
        if name not in servers:
            cure = suggest(name, servers, "add it under `mcp.servers` in the settings")
            yield problem("SW210", f"no MCP server `{name}`", entry.key, cure)
            continue
        has = {tool.removeprefix(prefix_of(name)) for tool in servers[name]}
        for leaf in leaves(at(entry.node, "tools")):
            if has and foreign_name(name, leaf.text) not in servers[name]:
                message = f"the MCP server `{name}` has no tool `{leaf.text}`"
                yield problem("SW203", message, leaf.span, suggest(leaf.text, has, "remove it"))


def usable(tree: Mapping, servers: Servers | None) -> frozenset[str]:
    """The foreign tools that are known and that a preset may name."""
    return frozenset(
        tool
        for name, entry in used(tree).items()
        for tool in (servers or {}).get(name, frozenset())
        if _is_wanted(name, entry, tool)
    )


def unusable(tree: Mapping, servers: Servers | None, leaf: Leaf) -> Problem | None:
    """SW203 for a foreign tool that a preset may not name; None for one that it may, or that cannot be checked."""
    if isinstance(tree.get("mcp"), Unknown):
        return None
    tool, server = leaf.text, server_of(leaf.text)
    entry = used(tree).get(server)
    if entry is None:
        message = f"`{tool}` belongs to an MCP server that this preset does not use"
        return problem("SW203", message, leaf.span, f"add `{server}: {{}}` under `mcp`")
    if not _is_wanted(server, entry, tool):
        message = f"`{tool}` is none of the tools under `mcp.{server}.tools`"
        return problem("SW203", message, leaf.span, "add it there, by the server's own name")
    names = (servers or {}).get(server)
    if names and tool not in names:
        return problem("SW203", f"no tool `{tool}`", leaf.span, suggest(tool, names, "remove it"))
    return None


def unheard(tree: Mapping, servers: Servers | None) -> Iterator[Problem]:
    """SW407: servers whose tools are not known, so that nothing that is said of them can be checked."""
    for name, entry in used(tree).items():
        if servers is not None and servers.get(name) == frozenset():
            message = f"the tools of the MCP server `{name}` are not known, so they are not checked"
            cure = "enable it in the settings, and start the gateway once while it answers"
            yield problem("SW407", message, entry.key, cure, severity="warning")


def _is_wanted(server: str, entry: Entry, tool: str) -> bool:
    listed = at(entry.node, "tools")
    return listed is None or tool in {foreign_name(server, leaf.text) for leaf in leaves(listed)}
