"""Prompt caching as Anthropic bills it, so that a changed byte early in a prefix shows up as a lost hit.

Entries are written only at marks; a request looks back at most 20 blocks from each of its marks; an entry lives 5
minutes (or an hour) after its last use; short prefixes make no entry.
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.twins.anthropic_rules import blocks_of

LOOK_BACK = 20
LIFE = {"5m": 300.0, "1h": 3600.0}


@dataclass
class PrefixCache:
    """The entries: hash of a prefix → when it dies, and its life. `smallest` is in tokens; `clock` in seconds."""

    smallest: int = 1024
    clock: Callable[[], float] = time.monotonic
    entries: dict[str, tuple[float, float]] = field(default_factory=dict)
    read_tokens: int = 0
    written_tokens: int = 0

    def read(self, body: dict[str, Any]) -> dict[str, Any]:
        """The usage of a request; updates the entries."""
        return self.bill(*prefixes_of(body))

    def bill(self, prefixes: list[tuple[str, int]], marks: dict[int, str]) -> dict[str, Any]:
        """The same for the prefixes of a request and the lives of its marks, as `prefixes_of` gives them."""
        now = self.clock()
        total = prefixes[-1][1] if prefixes else 0
        usable = {i: ttl for i, ttl in marks.items() if prefixes[i][1] >= self.smallest}
        hit = max((self._hit(prefixes, i, now) for i in usable), default=0)
        written = {"5m": 0, "1h": 0}
        before = hit
        for i, ttl in sorted(usable.items()):
            digest, size = prefixes[i]
            if size > before:
                written[ttl] += size - before
                before = size
            self.entries[digest] = (now + LIFE[ttl], LIFE[ttl])
        self.read_tokens += hit
        self.written_tokens += sum(written.values())
        return {
            "input_tokens": total - max(before, hit),
            "output_tokens": 1,
            "cache_creation_input_tokens": sum(written.values()),
            "cache_read_input_tokens": hit,
            "cache_creation": {f"ephemeral_{k}_input_tokens": v for k, v in written.items()},
            "service_tier": "standard",
        }

    def _hit(self, prefixes: list[tuple[str, int]], mark: int, now: float) -> int:
        for digest, size in reversed(prefixes[max(0, mark - LOOK_BACK) : mark + 1]):
            dies, life = self.entries.get(digest, (0.0, 0.0))
            if dies > now:
                self.entries[digest] = (now + life, life)
                return size
        return 0


@dataclass
class Chain:
    """The prefixes of a request up to each block, one after another, and the places of the marks with their lives."""

    model: str
    found: list[tuple[str, int]] = field(default_factory=list)
    marks: dict[int, str] = field(default_factory=dict)
    size: int = 0

    def __post_init__(self) -> None:
        self.running = hashlib.sha256(self.model.encode())

    def add(self, kind: str, block: dict[str, Any]) -> None:
        """Take the next block."""
        plain = {k: v for k, v in block.items() if k != "cache_control"}
        text = json.dumps([kind, plain], sort_keys=True, ensure_ascii=False)
        self.running.update(text.encode("utf-8", "surrogatepass"))
        self.size += len(text)
        if mark := block.get("cache_control"):
            self.marks[len(self.found)] = mark.get("ttl", "5m")
        self.found.append((self.running.hexdigest(), self.size // 4))

    def copy(self) -> "Chain":
        """One to go on with, without marks, which move from call to call."""
        new = Chain(self.model, self.found.copy(), {}, self.size)
        new.running = self.running.copy()
        return new


def static_of(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Tools and system text as blocks."""
    system = body.get("system") or []
    parts = [("tool", t) for t in body.get("tools") or []]
    return parts + [
        ("system", b) for b in ([{"text": system}] if isinstance(system, str) else system)
    ]


def prefixes_of(body: dict[str, Any]) -> tuple[list[tuple[str, int]], dict[int, str]]:
    """(hash, tokens) of the prefix up to each block, and the places of the marks with their lives."""
    chain = Chain(str(body.get("model")))
    for kind, block in static_of(body):
        chain.add(kind, block)
    for message in body["messages"]:
        for block in blocks_of(message):
            chain.add(message["role"], block)
    return chain.found, chain.marks
