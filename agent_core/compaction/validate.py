"""Whether a summary says what it must: headings, and the numbers and symbols that may not get lost (CMP-14, CMP-16).

A model's summary reads well and may still lack the one price that counts; nothing but a comparison with the source
finds that out (MSC-11).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_core import text
from agent_core.compaction import headings, prompts, signs
from agent_core.compaction.decisions import Profile
from agent_core.models import tokens

LEAST_CHARS = 20  # CMP-14
MAX_ITEMS = 40


@dataclass(frozen=True, slots=True)
class Items:
    """What must occur: items in one writing, each with the text in which it was found first."""

    sources: dict[str, str]

    def missing(self, said: Iterable[str]) -> tuple[str, ...]:
        """The items that none of the texts holds, in order."""
        held = {item for s in said for item in _items(s, telling=False)}
        return tuple(item for item in self.sources if item not in held)

    def lines(self, names: Sequence[str]) -> tuple[str, ...]:
        """The texts in which these items stand, each once."""
        return tuple(
            dict.fromkeys(text.clip(text.one_line(self.sources[name]), 200) for name in names)
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with a summary. `unusable`: no repair helps, there is nothing to repair."""

    unusable: str = ""
    headings: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    over: str = ""

    @property
    def fine(self) -> bool:
        """Whether it can be used as it is."""
        return not (self.unusable or self.headings or self.items or self.over)

    @property
    def problem(self) -> str:
        """The findings in a few words, for the trace."""
        if self.unusable:
            return self.unusable
        counted = ((len(self.headings), "headings missing"), (len(self.items), "items missing"))
        found = [f"{n} {what}" for n, what in counted if n]
        return ", ".join([*found, "too long"] if self.over else found)


def required(texts: Iterable[str]) -> Items:
    """The telling numbers and the symbols of the texts, the first MAX_ITEMS of them."""
    sources: dict[str, str] = {}
    for said in texts:
        for item in _items(said, telling=True):
            if len(sources) < MAX_ITEMS:
                sources.setdefault(item, said)
    return Items(sources)


def check(
    said: str,
    *,
    profile: Profile,
    items: Items,
    shown: Sequence[str],
    limit: int,
    source_tokens: int,
) -> Verdict:
    """What is wrong with a model's summary.

    Args:
        said: the summary.
        profile: its form; only "structured" has headings.
        items: what must occur in the summary or in `shown`.
        shown: texts that stand beside it.
        limit: tokens at most by estimate, for "structured"; the others have characters (C-7).
        source_tokens: tokens of what it stands for; a summary that is no shorter is refused.
    """
    plain = said.strip()
    if len(plain) < LEAST_CHARS:
        return Verdict("empty" if not plain else "too short")
    size = tokens.of_text(plain)
    if size >= source_tokens:
        return Verdict("larger than its source")
    lacking = headings.missing(plain) if profile == "structured" else ()
    return Verdict("", lacking, items.missing((plain, *shown)), _over(plain, profile, size, limit))


def fitted(said: str, profile: Profile, limit: int) -> str:
    """The summary within its limit, in its form. What had to go was the least needed."""
    if profile in prompts.CHARS:
        return headings.cut_chars(said.strip(), prompts.CHARS[profile])
    return headings.shorten(headings.arranged(said), limit)


def _over(said: str, profile: Profile, size: int, limit: int) -> str:
    most = prompts.CHARS.get(profile)
    if most is not None:
        return f"It has {len(said)} characters of {most}." if len(said) > most else ""
    return f"It is {size * 100 // limit - 100} % too long." if size > limit else ""


def _items(said: str, *, telling: bool) -> Iterable[str]:
    yield from signs.codes(said, None)
    yield from signs.numbers(said, telling=telling)
