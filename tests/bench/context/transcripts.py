"""Long sessions out of public transcripts: dialogues of one kind, one after another, as one person's chat.

Read are τ-bench results (a list of {"traj": messages}) and SWE-agent trajectories ({"history": messages}), both MIT.
A directory of one's own may hold any of them: `*.json` and `*.traj`, also in folders below.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any

from agent_core.ports import ToolSchema
from agent_core.types import Block, Message, Text, ToolResult, ToolUse

# With these lengths the policies that the guide "context_economics" measured come out where it has them.
TAU_TOKENS = 130_000
SWE_TOKENS = 250_000
CHARS_PER_TOKEN = 4  # as the twin bills


@dataclass(frozen=True, slots=True)
class Step:
    """One model call: what it answered, and the results of its calls."""

    answer: Message
    results: tuple[ToolResult, ...] = ()


@dataclass(slots=True)
class Turn:
    """What the person wrote, and everything until the next thing they wrote."""

    text: str
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Session:
    """A long chat. `tools` are the tools that it calls."""

    name: str
    system: str
    turns: tuple[Turn, ...]

    @property
    def tools(self) -> tuple[ToolSchema, ...]:
        """A plain schema for each tool that is called, in the order of names."""
        names = {c.name for t in self.turns for s in t.steps for c in s.answer.calls}
        return tuple(ToolSchema(n, n.replace("_", " "), {"type": "object"}) for n in sorted(names))


def tau(path: Path, sessions: int) -> list[Session]:
    """So many sessions of about 130,000 tokens out of a file of τ-bench."""
    dialogues = [item["traj"] for item in json.loads(path.read_text("utf-8"))]
    system = next(m["content"] for m in dialogues[0] if m["role"] == "system")
    ids = count(1)
    return _packed(
        "tau", system, (list(_tau_turns(d, ids)) for d in dialogues), sessions, TAU_TOKENS
    )


def swe(paths: Sequence[Path]) -> list[Session]:
    """One session out of trajectories of SWE-agent, each a task of one turn; taken up again till it is long."""
    histories = [json.loads(p.read_text("utf-8"))["history"] for p in sorted(paths)]
    system = next(m["content"] for m in histories[0] if m["role"] == "system")
    ids = count(1)
    return _packed(
        "swe", system, (list(_swe_turns(h, ids)) for h in cycle(histories)), 1, SWE_TOKENS
    )


def found(data: Path) -> dict[str, list[Path]]:
    """The files of a directory by kind."""
    kinds: dict[str, list[Path]] = {"tau": [], "swe": sorted(data.rglob("*.traj"))}
    for path in sorted(data.rglob("*.json")):
        if '"traj"' in path.read_text("utf-8")[:200_000]:
            kinds["tau"].append(path)
    return kinds


def size(turns: Iterable[Turn]) -> int:
    """Tokens of turns, roughly."""
    return (
        sum(
            len(t.text) + sum(len(str(s.answer.blocks)) + len(str(s.results)) for s in t.steps)
            for t in turns
        )
        // CHARS_PER_TOKEN
    )


def _packed(
    name: str, system: str, dialogues: Iterable[list[Turn]], sessions: int, target: int
) -> list[Session]:
    made: list[Session] = []
    turns: list[Turn] = []
    for dialogue in dialogues:
        turns += dialogue
        if size(turns) >= target:
            made.append(Session(f"{name}-{len(made) + 1}", system, tuple(turns)))
            turns = []
        if len(made) == sessions:
            return made
    return made or [Session(f"{name}-1", system, tuple(turns))]


def _tau_turns(messages: Sequence[dict[str, Any]], ids: Iterator[int]) -> Iterator[Turn]:
    turn: Turn | None = None
    for index, message in enumerate(messages):
        text = message.get("content") or ""
        if message["role"] == "user":
            if turn is not None:
                yield turn
            turn = None if "###STOP###" in text else Turn(text)
        elif message["role"] == "assistant" and turn is not None:
            turn.steps.append(_tau_step(message, messages[index + 1 :], ids))
    if turn is not None and turn.steps:
        yield turn


def _tau_step(message: dict[str, Any], rest: Sequence[dict[str, Any]], ids: Iterator[int]) -> Step:
    blocks: list[Block] = [Text(message["content"])] if message.get("content") else []
    results = []
    for call in message.get("tool_calls") or ():
        id_, name = f"c{next(ids)}", call["function"]["name"]
        blocks.append(ToolUse(id_, name, json.loads(call["function"]["arguments"])))
        answer = next((m for m in rest if m.get("tool_call_id") == call["id"]), None)
        results.append(ToolResult(id_, name, (answer or {}).get("content") or "no result"))
    return Step(Message("assistant", tuple(blocks)), tuple(results))


def _swe_turns(messages: Sequence[dict[str, Any]], ids: Iterator[int]) -> Iterator[Turn]:
    """The task is what the person wrote; what the environment answered is a tool's result, whatever its role says."""
    talk = [m for m in messages if m["role"] != "system" and not m.get("is_demo")]
    turn = Turn(str(talk[0]["content"]))
    for index, message in enumerate(talk):
        if message["role"] != "assistant":
            continue
        seen = talk[index + 1]["content"] if index + 1 < len(talk) else None
        turn.steps.append(_swe_step(message, seen, f"c{next(ids)}"))
    yield turn


def _swe_step(message: dict[str, Any], seen: str | None, id_: str) -> Step:
    thought = (message.get("thought") or message.get("content") or "").strip()
    blocks: list[Block] = [Text(thought)] if thought else []
    if seen is None:
        return Step(Message("assistant", tuple(blocks or [Text("Done.")])))
    command = (message.get("action") or "").strip() or "true"
    blocks.append(ToolUse(id_, "bash", {"command": command}))
    return Step(
        Message("assistant", tuple(blocks)), (ToolResult(id_, "bash", seen or "(no output)"),)
    )
