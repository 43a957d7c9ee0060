"""A package of tools as another author would install it, and a preset that uses them."""

from pathlib import Path

TOOLS = '''
"""Tools that leave a trace in a folder and can be held there."""

import asyncio
import os
from pathlib import Path

from agent_core.tools.spec import ToolContext, ToolOutput, tool

FOLDER = Path(os.environ["SCENARIO_FOLDER"])


async def _trace(file: str, label: str) -> None:
    with (FOLDER / file).open("a") as trace:
        trace.write(label + "\\n")
    while (FOLDER / "hold").exists():
        await asyncio.sleep(0.02)


@tool(title={"en": "Order", "zh": "下单"}, concurrency_safe=False, idempotent=False)
async def order_goods(ctx: ToolContext, label: str) -> ToolOutput:
    """Place an order.

    Args:
        label: What it is for.
    """
    await _trace("orders", label)
    return ToolOutput(f"ordered {label}")


@tool(
    title={"en": "Payment", "zh": "付款"},
    concurrency_safe=False,
    idempotent=False,
    requires_approval=True,
    effect="trade",
)
async def pay(ctx: ToolContext, label: str) -> ToolOutput:
    """Pay a bill.

    Args:
        label: Which.
    """
    await _trace("payments", label)
    return ToolOutput(f"paid {label}")


@tool(title={"en": "Slow look", "zh": "慢查"})
async def slow_look(ctx: ToolContext, label: str) -> ToolOutput:
    """Look something up.

    Args:
        label: What to look for.
    """
    await _trace("looks", label)
    return ToolOutput(f"seen {label}")


@tool(title={"en": "Long look", "zh": "久查"}, background=True)
async def long_look(ctx: ToolContext, label: str) -> ToolOutput:
    """Look something up in the background.

    Args:
        label: What to look for.
    """
    await _trace("long_looks", label)
    return ToolOutput(f"seen {label}", f"seen {label}")


@tool(title={"en": "Long order", "zh": "久单"}, background=True, idempotent=False)
async def long_order(ctx: ToolContext, label: str) -> ToolOutput:
    """Place an order in the background.

    Args:
        label: What it is for.
    """
    await _trace("long_orders", label)
    return ToolOutput(f"ordered {label}")
'''

PRESET = """
version: 1
name: scenario
title: Scenario
description: A lead with a helper.
supervisor:
  role: Lead
  prompt: You lead.
  tools: [order_goods, slow_look, pay, ask_user, long_look, long_order]
  limits: {time: 5m, tool_timeout: 60s, tool_rounds: 10}
agents:
  helper:
    role: Helper
    description: Looks things up.
    prompt: You help.
    tools: [slow_look, pay]
    limits: {time: 2m, tool_timeout: 60s, tool_rounds: 5}
"""

METADATA = "Metadata-Version: 2.1\nName: scenario-tools\nVersion: 1.0\n"
ENTRY_POINTS = """[swarmgate.tools]
order_goods = scenario_tools:order_goods
pay = scenario_tools:pay
slow_look = scenario_tools:slow_look
long_look = scenario_tools:long_look
long_order = scenario_tools:long_order
"""


class Plugin:
    """The installed package; `folder` belongs on PYTHONPATH and into SCENARIO_FOLDER."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        info = folder / "scenario_tools-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / "scenario_tools.py").write_text(TOOLS, "utf-8")
        (info / "METADATA").write_text(METADATA)
        (info / "entry_points.txt").write_text(ENTRY_POINTS)
        (info / "RECORD").write_text("scenario_tools.py,,\n")

    def hold(self) -> None:
        """Let every call hang after it has left its trace."""
        (self.folder / "hold").touch()

    def release(self) -> None:
        """Let calls end."""
        (self.folder / "hold").unlink(missing_ok=True)

    def traces(self, file: str) -> list[str]:
        """The labels of all calls that began, of `orders`, `looks`, `payments`, `long_looks` or `long_orders`."""
        path = self.folder / file
        return path.read_text().split("\n")[:-1] if path.exists() else []
