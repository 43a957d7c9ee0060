"""A foreign MCP server, by the official package: `python mcp_foreign.py FOLDER [PORT]`, over its pipes or over HTTP.

It notes in FOLDER what happens to it.
"""

import asyncio
import base64
import os
import subprocess
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, Image, MCPServer

FOLDER = Path(sys.argv[1])
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 0
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
server = MCPServer("foreign")
with (FOLDER / "starts").open("a") as file:
    file.write(f"{os.getpid()}\n")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def hang(ctx: Context) -> str:
    """Never end, but tell of progress."""
    await ctx.report_progress(1, 4, "waiting")
    try:
        await asyncio.sleep(3_600)
    except BaseException:
        (FOLDER / "cancelled").touch()
        raise
    return "late"


@server.tool()
def die() -> str:
    """End the process in the middle of a call."""
    sys.stderr.write("out of luck\n")
    sys.stderr.flush()
    os._exit(3)


@server.tool()
def huge(megabytes: int) -> str:
    """Say much."""
    return "x" * (megabytes * 1_000_000)


@server.tool()
def picture() -> Image:
    """Show a picture."""
    return Image(data=PNG, format="png")


@server.tool()
def environment() -> str:
    """Name what it sees of the environment."""
    return "\n".join(f"{key}={value}" for key, value in sorted(os.environ.items()))


@server.tool()
def child() -> int:
    """Start a process that would outlive this one."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid


@server.tool()
async def grow(ctx: Context) -> str:
    """Offer one tool more."""
    server.add_tool(lambda: "more", name="more", description="One more.")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grown"


if PORT:
    server.run("streamable-http", host="127.0.0.1", port=PORT)
else:
    server.run("stdio")
