"""Holds the worker process of a gateway, so that what is computed there lasts as long as a test likes."""

import os
import signal
from pathlib import Path

WORK = b"agent_core.finance.work_child"


def worker_of(gateway: int) -> int | None:
    """The id of the worker process of a gateway process; None where it has none."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == gateway and WORK in (entry / "cmdline").read_bytes():
                return int(entry.name)
        except OSError:  # it has ended meanwhile
            continue
    return None


def hold(worker: int) -> None:
    """Nothing is computed any more."""
    os.kill(worker, signal.SIGSTOP)


def release(worker: int) -> None:
    """It goes on."""
    os.kill(worker, signal.SIGCONT)


def alive(worker: int) -> bool:
    """Whether it runs; one that has ended and that nobody has asked about does not."""
    try:
        return "Z" not in Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
