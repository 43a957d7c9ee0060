"""Tool arguments as models write them: a JSON object, or something that must never run (PRV-4, defect 22)."""

import json
from typing import Any

from agent_core.types import ToolUse


def call_of(id_: str, name: str, raw: str) -> ToolUse:
    """A call with its arguments, or with `args` None and the text in `raw` where they are no JSON object."""
    args = parse(raw)
    return ToolUse(id_, name, args, None if args is not None else raw)


def parse(raw: str) -> dict[str, Any] | None:
    """The object in the text. Nothing and null mean no arguments; an object inside a JSON string is unpacked.

    Some servers send "" or null for a tool without parameters, and some encode arguments twice.
    """
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw)
        if isinstance(value, str):
            value = json.loads(value)
    except ValueError:
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) else None
