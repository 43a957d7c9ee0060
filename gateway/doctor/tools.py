"""Shell commands, where they are on."""

import asyncio
from collections.abc import Iterator

from gateway.doctor.findings import Finding, fail, ok
from gateway.doctor.ground import Ground


def commands(ground: Ground) -> Iterator[Finding]:
    """Whether they can run on this machine."""
    settings = ground.settings
    if not settings.tools.exec_command:
        return
    from agent_core.tools.shell import Shell
    from agent_core.tools.spec import ToolFailure

    key = "settings.tools.exec_command"
    try:
        asyncio.run(Shell().ready())
    except ToolFailure as missing:
        cure = "mend it, or set tools.exec_command: false"
        why = str(missing).rstrip(".")
        refused = settings.refuse("tools.exec_command", f"cannot work: {why}", cure)
        yield fail(key, refused.problems[0])
    else:
        yield ok(key, "shell commands have their sandbox")
