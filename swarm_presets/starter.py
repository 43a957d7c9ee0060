"""A new preset that extends another: what `presets new --from` writes."""

from swarm_presets.parts import agents
from swarm_presets.positions import Leaf, Mapping, at

SCHEMA = "swarm.schema.json"


def starter(name: str, parent: str, tree: Mapping, schema: str = SCHEMA) -> str:
    """The text of a child that runs as it is; comments show what to change, with the parent's own names.

    Args:
        name: the new preset's name.
        parent: the preset that it extends.
        tree: the parent with all that it inherits.
        schema: where editors find the JSON Schema, seen from the file.
    """
    ids = [agent for agent, _ in agents(tree)]
    lines = [
        f"# yaml-language-server: $schema={schema}",
        "version: 1",
        f"name: {name}",
        f"title: {name.replace('-', ' ').replace('_', ' ').capitalize()}",
        f"description: Say in one sentence what {name} is for; people see it when they choose.",
        f"extends: {parent}",
        "",
        f"# Everything else comes from {parent}; write only what differs.",
        f"# `swarmgate presets explain {name}` shows the whole, with the line that each value comes from.",
        "#",
        "# supervisor:",
        "#   tools: {add: [chart]}             # or remove: […]; a list replaces the inherited one",
        "#   limits: {time: 5m, tool_rounds: 10}",
    ]
    if ids:
        lines += ["#", "# agents:"]
        lines += [line for agent in ids for line in _agent(agent, tree)]
        lines += [f"#   # `{ids[-1]}: null` would remove it"]
    else:
        lines += [
            "#",
            "# agents:",
            "#   research:",
            "#     role: Market researcher",
            "#     prompt: Collect prices and say where they come from.",
            "#     tools: [get_market_history]",
        ]
    return "\n".join(lines) + "\n"


def _agent(name: str, tree: Mapping) -> list[str]:
    role, time = at(tree, "agents", name, "role"), at(tree, "agents", name, "limits", "time")
    lines = [f"#   {name}:" + (f"   # {role.text}" if isinstance(role, Leaf) else "")]
    lines.append(f"#     limits: {{time: {time.text if isinstance(time, Leaf) else '3m'}}}")
    return lines
