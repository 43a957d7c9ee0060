"""Scenes of a preset: words of a person that bring a text into the context of their message, never into the prompt."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scene:
    """`match` are words or phrases, of which one is enough; case does not count."""

    match: tuple[str, ...]
    text: str


def brought(scenes: Sequence[Scene], words: str) -> tuple[str, ...]:
    """The texts that a message brings, in the order of the preset."""
    said = words.lower()
    return tuple(s.text for s in scenes if any(_stands(phrase, said) for phrase in s.match))


def _stands(phrase: str, said: str) -> bool:
    """Whether a phrase occurs: in letters as whole words, in Chinese anywhere."""
    wanted = phrase.strip().lower()
    if not wanted.isascii():
        return wanted in said
    return re.search(rf"(?<![a-z0-9_]){re.escape(wanted)}(?![a-z0-9_])", said) is not None
