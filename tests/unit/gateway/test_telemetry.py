"""Log lines: JSON on both streams where stdout is no terminal, readable on one, redacted on both."""

import io
import json
import subprocess
import sys

import pytest

PROGRAM = """
import logging, sys, warnings
from gateway.telemetry import start
telemetry = start()
telemetry.redactor.known(["planted-secret"])
import structlog
structlog.contextvars.bind_contextvars(conversation="telegram:777:1")
log = structlog.get_logger()
log.info("started", token="abc", input_tokens=5, note="with planted-secret, 中文")
log.debug("not shown")
logging.getLogger("telegram.ext").warning("from %s", "a library", extra={"file": "a.yaml", "line": 3})
logging.getLogger("httpx").info("GET https://api.telegram.org/bot1:planted-secret/getMe")
warnings.warn("careful")
try:
    raise ValueError("planted-secret")
except ValueError:
    log.exception("failed")
    logging.getLogger("x").exception("failed too")
telemetry.announce("Open http://127.0.0.1:8080 · code 1234")
raise RuntimeError("planted-secret at the end")
"""


def run(code: str, **env: str) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        env={"PATH": "", "PYTHONUTF8": "1", **env},
    )
    assert b"planted-secret" not in done.stdout + done.stderr
    return tuple(  # type: ignore[return-value]
        [json.loads(line) for line in text.decode().splitlines()]
        for text in (done.stdout, done.stderr)
    )


def test_every_line_of_both_streams_is_json_with_event_level_timestamp():
    out, err = run(PROGRAM)
    assert all({"event", "level", "timestamp"} <= set(line) for line in (*out, *err))
    assert [line["event"] for line in out] == ["Open http://127.0.0.1:8080 · code 1234"]
    levels = [(line["level"], str(line["event"]).split("\n")[0]) for line in err]
    assert levels[0] == ("info", "started")
    assert levels[1] == ("warning", "from a library")
    assert levels[2][0] == "warning"
    assert "careful" in levels[2][1]
    assert levels[3:] == [
        ("error", "failed"),
        ("error", "failed too"),
        ("critical", "uncaught error"),
    ]
    assert err[1]["logger"] == "telegram.ext"
    assert (err[1]["file"], err[1]["line"]) == ("a.yaml", 3)
    assert err[0]["conversation"] == "telegram:777:1"
    assert err[0]["token"] == "[redacted]"
    assert err[0]["input_tokens"] == 5
    assert err[0]["note"] == "with [redacted], 中文"
    assert "ValueError: [redacted]" in str(err[3]["exception"])
    assert "RuntimeError: [redacted] at the end" in str(err[5]["exception"])


def test_the_level_is_a_variable():
    _, err = run(PROGRAM, SWARMGATE_LOG_LEVEL="debug")
    assert "not shown" in [line["event"] for line in err]
    _, err = run(PROGRAM, SWARMGATE_LOG_LEVEL="critical")
    assert [line["level"] for line in err] == ["critical"]


def test_starting_loads_no_rich():
    """rich costs 70 ms and 5 MB; afterwards it can still be imported by those who need it."""
    code = (
        "import sys\nfrom gateway.telemetry import start\nt = start()\n"
        "t.announce(str('rich' in sys.modules))\nimport rich\nt.announce(rich.__name__)"
    )
    out, _ = run(code)
    assert [line["event"] for line in out] == ["False", "rich"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_lines_are_for_people(monkeypatch: pytest.MonkeyPatch):
    from gateway.telemetry import Telemetry

    out, err = Terminal(), Terminal()
    telemetry = Telemetry(out, err, as_json=False, level=20)
    telemetry.line("info", {"event": "started", "port": 8080})
    telemetry.announce("Open it")
    assert "started" in err.getvalue()
    assert "port" in err.getvalue()
    assert "{" not in err.getvalue()
    assert out.getvalue() == "Open it\n"
