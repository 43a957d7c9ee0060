"""One question to the engine that runs on this machine, through its control socket."""

import json
import socket
from pathlib import Path
from typing import Any

ANSWER_LIMIT_S = 10.0


def ask(path: Path, request: dict[str, Any]) -> dict[str, Any] | None:
    """Its answer; None when none runs here, or it does not answer within `ANSWER_LIMIT_S` seconds."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(ANSWER_LIMIT_S)
            line.connect(str(path))
            line.sendall(json.dumps(request).encode() + b"\n")
            with line.makefile("rb") as answer:
                found: dict[str, Any] | None = json.loads(answer.readline() or b"null")
                return found
    except (FileNotFoundError, ConnectionError, TimeoutError):
        return None
