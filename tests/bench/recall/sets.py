"""The two question sets: LoCoMo (English, evidence rows) and the Chinese one. Read where they lie, never copied."""

import datetime as dt
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOCOMO, DIALOGUES, QUESTIONS = "locomo10.json", "memory_bank_cn.json", "zh_recall_set.json"
CATEGORIES = (1, 2, 3, 4)  # 5 asks for what nobody said
_EVIDENCE = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True)
class Line:
    """One row: `session` groups them, `id` is the row's number in its corpus."""

    id: int
    session: str
    speaker: str
    text: str
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the rows that answer it."""

    text: str
    gold: frozenset[int]


@dataclass(frozen=True, slots=True)
class Corpus:
    """What one owner said, and what is asked about it."""

    owner: str
    lines: tuple[Line, ...]
    questions: tuple[Question, ...]


def locomo(folder: Path) -> list[Corpus]:
    """Ten dialogues, an owner each."""
    data = json.loads((folder / LOCOMO).read_text(encoding="utf-8"))
    return [_dialogue(f"locomo:{n}", dialogue) for n, dialogue in enumerate(data)]


def chinese(folder: Path) -> Corpus:
    """All people of the Chinese set pooled in one owner; a row is a turn: what was said and what was answered."""
    people = json.loads((folder / DIALOGUES).read_text(encoding="utf-8"))
    lines: list[Line] = []
    for name, person in people.items():
        for day, turns in person["history"].items():
            at = dt.datetime.fromisoformat(day).replace(tzinfo=dt.UTC)
            for turn in turns:
                text = f"{turn['query']}\n{turn['response']}"
                lines.append(Line(len(lines), f"{name} {day}", "", text, at))
    asked = json.loads((folder / QUESTIONS).read_text(encoding="utf-8"))
    questions = tuple(Question(q["query"], frozenset(q["gold"])) for q in asked)
    return Corpus("zh", tuple(lines), questions)


def _dialogue(owner: str, dialogue: dict[str, Any]) -> Corpus:
    lines: list[Line] = []
    ids: dict[str, int] = {}
    for session, at, turns in _sessions(dialogue["conversation"]):
        for turn in turns:
            ids[turn["dia_id"]] = len(lines)
            lines.append(Line(len(lines), f"{owner} {session}", turn["speaker"], turn["text"], at))
    questions = []
    for item in dialogue["qa"]:
        named = {e for text in item.get("evidence", ()) for e in _EVIDENCE.findall(text)}
        gold = frozenset(ids[e] for e in named if e in ids)
        if gold and item["category"] in CATEGORIES:
            questions.append(Question(item["question"], gold))
    return Corpus(owner, tuple(lines), tuple(questions))


def _sessions(
    conversation: dict[str, Any],
) -> Iterator[tuple[str, dt.datetime, list[dict[str, Any]]]]:
    numbers = sorted(
        int(k.removeprefix("session_")) for k in conversation if re.fullmatch(r"session_\d+", k)
    )
    for number in numbers:
        said = conversation[f"session_{number}_date_time"]  # such as "1:56 pm on 8 May, 2023"
        at = dt.datetime.strptime(said, "%I:%M %p on %d %B, %Y").replace(tzinfo=dt.UTC)
        yield f"session_{number}", at, conversation[f"session_{number}"]
