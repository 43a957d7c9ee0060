"""The client libraries are imported without their command lines (DESIGN.md 10: memory is a product feature)."""

import subprocess
import sys

CODE = """
import sys
from gateway.lean_imports import lean
with lean():
    import httpx
assert "rich" not in sys.modules, "httpx brought rich"
assert "httpx._main" not in sys.modules, "the block outlived its with"
import httpx._main
"""


def test_a_lean_import_brings_no_command_line_and_blocks_nothing_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
