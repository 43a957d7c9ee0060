"""What people say in a soak: who, in which order, and what the model answers to each message. All of it from a seed."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.twins.llm_script import Turn, call, say

KINDS = {"plain": 80, "look": 10, "order": 5, "help": 5}  # per cent
BURSTS = {1: 88, 2: 9, 3: 3}  # per cent: messages that one person writes without waiting
_ASKED = re.compile(r"^(q|task) (\d+)\.(\d+) (\w+)")
_ANSWER = re.compile(r"^Answer (\d+)\.(\d+)\.")
FILLING = " It is one paragraph, as a chat has many of them, and says what was looked up, ordered or known."


@dataclass(frozen=True, slots=True, order=True)
class Said:
    """The nth message in a chat (from 1)."""

    chat: int
    n: int

    @property
    def label(self) -> str:
        """What tools get."""
        return f"{self.chat}.{self.n}"

    @property
    def answer(self) -> str:
        """What the person reads in the end."""
        return f"Answer {self.label}.{FILLING}"


def bursts(seed: int, chats: int, messages: int) -> Iterator[list[tuple[Said, str]]]:
    """All messages with their texts, each list written at once by one person."""
    dice = random.Random(f"{seed} crowd")
    everybody = range(1, chats + 1)
    order = [chat for chat in everybody for _ in range(messages // chats)]
    order += dice.sample(everybody, messages - len(order))
    dice.shuffle(order)
    left, count = Counter(order), Counter[int]()
    for chat in order:
        burst = []
        for _ in range(min(left[chat], dice.choices(list(BURSTS), list(BURSTS.values()))[0])):
            left[chat] -= 1
            count[chat] += 1
            said = Said(chat, count[chat])
            kind = dice.choices(list(KINDS), list(KINDS.values()))[0]
            burst.append((said, f"q {said.label} {kind}"))
        if burst:
            yield burst


def asked(text: str) -> Said | None:
    """The message of a person's words, or of a task that was delegated for it."""
    found = _ASKED.match(text)
    return Said(int(found[2]), int(found[3])) if found else None


def answered(text: str) -> Said | None:
    """The message that a visible text answers."""
    found = _ANSWER.match(text)
    return Said(int(found[1]), int(found[2])) if found else None


def turn(text: str, done: int) -> Turn:
    """What the model says to a message or a task after so many answers to it."""
    found = _ASKED.match(text)
    assert found, f"nobody says {text!r}"
    said, kind = Said(int(found[2]), int(found[3])), found[4]
    if found[1] == "task":
        return [
            Turn([call("slow_look", {"label": said.label})]),
            Turn([say(f"seen {said.label}")]),
        ][min(done, 1)]
    first = {
        "look": [say("I look. "), call("slow_look", {"label": said.label})],
        "order": [call("order_goods", {"label": said.label})],
        "help": [call("delegate_to_helper", {"task": f"task {said.label} help"})],
    }
    if kind in first and not done:
        return Turn(first[kind])
    return Turn([say(said.answer)], chunk=40)
