"""Scripts for the model twins: what a model says, turn by turn, and how the stream of a turn is spoilt.

A turn is the same for every provider; the twin puts it into its own wire form. As JSON (for the control plane) a turn
is an object with the fields of `Turn`, a block one of the dictionaries that `say`, `think` and `call` make.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Block = dict[str, Any]
Cut = Literal["error", "drop", "eof", "stall"]
Stop = Literal["end", "tool_use", "max_tokens", "refusal"]


def say(text: str) -> Block:
    """Words."""
    return {"type": "text", "text": text}


def signature_of(text: str) -> str:
    """The proof that the twin gives with reasoning, and wants back unchanged."""
    return "sig-" + hashlib.sha256(text.encode()).hexdigest()[:24]


def think(text: str) -> Block:
    """Reasoning."""
    return {"type": "thinking", "thinking": text, "signature": signature_of(text)}


def redacted(data: str) -> Block:
    """Reasoning that only the provider can read."""
    return {"type": "redacted_thinking", "data": data}


def call(
    name: str, args: dict[str, Any] | None = None, *, raw: str | None = None, id_: str | None = None
) -> Block:
    """A tool call; `raw` replaces the JSON of the arguments, `id_` is made from the turn where it is None."""
    text = json.dumps(args or {}, ensure_ascii=False) if raw is None else raw
    return {"type": "tool_use", "id": id_, "name": name, "raw": text}


@dataclass(slots=True)
class Turn:
    """One answer.

    Attributes:
        blocks: what it holds, in order.
        chunk: characters per delta.
        gap: seconds before each delta but the first; `delay`: before the first byte (of the answer's headers).
        stop: None follows from the blocks.
        cut: (n, how): after n events the stream ends with an error event, a reset, a clean end or silence.
        cut_type: the type of the error event of a cut.
        error: (status, type, message) instead of a stream.
        retry_after: header of an error.
        extra: unknown events sent after the first event.
        usage: overrides of the counted usage.
    """

    blocks: list[Block] = field(default_factory=list)
    chunk: int = 20
    gap: float = 0.0
    delay: float = 0.0
    stop: Stop | None = None
    cut: tuple[int, Cut] | None = None
    cut_type: str = "overloaded_error"
    error: tuple[int, str, str] | None = None
    retry_after: float | None = None
    extra: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)

    @property
    def ends(self) -> Stop:
        """Why it ends."""
        if self.stop is not None:
            return self.stop
        return "tool_use" if any(b["type"] == "tool_use" for b in self.blocks) else "end"

    @property
    def text(self) -> str:
        """All its words."""
        return "".join(b["text"] for b in self.blocks if b["type"] == "text")


Scripted = Turn | dict[str, Any] | str
Attempts = Scripted | Sequence[Scripted]


def turn_of(given: Scripted) -> Turn:
    """A turn from a turn, its JSON form or plain words."""
    if isinstance(given, Turn):
        return given
    if isinstance(given, str):
        return Turn([say(given)])
    return Turn(**given)


def attempts_of(given: Attempts) -> list[Turn]:
    """A turn, or a list of turns of which the nth answers the nth attempt (the last one all further ones)."""
    if isinstance(given, Turn | dict | str):
        return [turn_of(given)]
    return [turn_of(g) for g in given]


@dataclass(slots=True)
class Rule:
    """What is answered to conversations in which a person's text matches `pattern`."""

    pattern: str
    turns: list[list[Turn]]
    used: dict[tuple[str, int], int] = field(default_factory=dict)

    def turn(self, said: str, answered: int) -> Turn | None:
        """The turn for a conversation whose matching text is followed by so many answers; counts attempts."""
        if answered >= len(self.turns):
            return None
        options = self.turns[answered]
        key = (said, answered)
        attempt = self.used[key] = self.used.get(key, 0) + 1
        return options[min(attempt, len(options)) - 1]


@dataclass(slots=True)
class Answered:
    """One model call: what was asked, what was said, and whether the client read it to the end."""

    n: int
    digest: str
    said: str
    turn: Turn
    finished: bool = False
    gone: bool = False


class ScriptBook:
    """Chooses the turn for each request.

    Rules first, in order: a rule matches the newest text of a person that fits its pattern, and the number of answers
    after that text says which of its turns is due. So many conversations run at once, a resumed conversation goes on
    where it was, and a repeated call gets the same turn again (or its next attempt). Then the queue of `script`, call
    by call. Then the echo.
    """

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.queue: list[Turn] = []
        self.answers: list[Answered] = []

    def script(self, *turns: Scripted) -> None:
        """Queue turns for the next calls that no rule matches."""
        self.queue += [turn_of(t) for t in turns]

    def reply_to(self, pattern: str, turns: Sequence[Attempts]) -> None:
        """Script the conversations in which a person's text matches; later rules come first."""
        self.rules.insert(0, Rule(pattern, [attempts_of(t) for t in turns]))

    def choose(self, history: Sequence[tuple[str, str]], digest: str) -> Answered:
        """The turn for a history of (role, words of a person or ""), noted in `answers`."""
        said = next((text for role, text in reversed(history) if role == "user" and text), "")
        turn = self._ruled(history) or (self.queue.pop(0) if self.queue else Turn([say(said)]))
        answer = Answered(len(self.answers) + 1, digest, said, turn)
        self.answers.append(answer)
        return answer

    def _ruled(self, history: Sequence[tuple[str, str]]) -> Turn | None:
        for rule in self.rules:
            answered = 0
            for role, text in reversed(history):
                if role == "assistant":
                    answered += 1
                elif text and re.search(rule.pattern, text):
                    if turn := rule.turn(text, answered):
                        return turn
                    break
        return None

    def repeated(self) -> list[str]:
        """The last text of each call that was made again after it had been finished (paid twice)."""
        done: set[str] = set()
        again = []
        for answer in self.answers:
            if answer.digest in done:
                again.append(answer.said)
            if answer.finished:
                done.add(answer.digest)
        return again

    def summary(self) -> list[dict[str, Any]]:
        """The calls as JSON, for the control plane."""
        keys = ("n", "said", "finished", "gone", "digest")
        return [{k: getattr(a, k) for k in keys} | {"text": a.turn.text} for a in self.answers]


def digest_of(*parts: object) -> str:
    """A hash of JSON values, the same for equal ones."""
    body = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(body.encode()).hexdigest()[:24]


def pieces(text: str, size: int) -> list[str]:
    """The text in pieces; one empty piece for an empty text."""
    return [text[i : i + size] for i in range(0, len(text), max(1, size))] or [""]


async def stall() -> None:
    """Be silent until the client goes away."""
    await asyncio.Event().wait()
