"""The worker process of work.py: takes calls from its pipe and sends back what they return or raise."""

import os
import pickle
import sys
import threading
import traceback
from multiprocessing.connection import Connection

IDLE_S = 300.0
NICENESS = 5  # an answer may come later; a chat may not


def serve(fd: int) -> None:
    """Answer calls until the gateway closes the pipe or asks for nothing for IDLE_S seconds."""
    os.nice(NICENESS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with Connection(fd) as pipe:
        while pipe.poll(IDLE_S):
            try:
                call = pipe.recv_bytes()
            except EOFError:
                return
            pipe.send_bytes(_answer(call))


def _answer(call: bytes) -> bytes:
    try:
        return pickle.dumps((True, pickle.loads(call)()))  # noqa: S301 - from our own parent
    except Exception as e:  # noqa: BLE001 - whatever it is, it goes back to the caller
        e.add_note(traceback.format_exc())
        return _failure(e)


def _failure(error: Exception) -> bytes:
    """The error pickled, or one that says the same where it cannot be."""
    try:
        failure = pickle.dumps((False, error))
        pickle.loads(failure)  # noqa: S301 - what was pickled one line above
    except Exception:  # noqa: BLE001 - a class of error may refuse in any way
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
    return failure


def _end_with_parent() -> None:
    """A parent that was killed leaves nothing computing: its end of our standard input closes with it."""
    sys.stdin.buffer.read()
    os._exit(1)
