"""What an operator hears of a bot before it runs: what is well, what is to be known, what must be mended.

A platform's `check.py` has `async findings(config) -> list[Finding]`, which its ChannelKind names. It asks the
platform by calls that change nothing, and raises ChannelError when the platform cannot be asked.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """One line. `cure` says what to do, and is empty where nothing need be done. Neither ever holds a secret.

    `level` ok: seen to be well; warn: it runs, and something is lost or at risk; fail: it does not work.
    """

    level: Literal["ok", "warn", "fail"]
    what: str
    cure: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.cure}" if self.cure else self.what


def fail(line: str) -> Finding:
    """A failure from a line of the form "what: cure"."""
    what, _, cure = line.partition(": ")
    return Finding("fail", what, cure)
