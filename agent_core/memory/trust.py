"""Whose words a line rests on: the person's own, or those of a page, a tool or somebody else (RMB-4, CRD-2).

What a person never said is no preference and no rule of theirs, however firmly a tool result says so. A line rests on a
text as far as its words stand in it; its figures and symbols must. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from agent_core import symbols
from agent_core import text as words
from agent_core.memory.polarity import negations, numbers
from agent_core.storage.memories import same

STRICT = 0.6  # share of a rule's words that the person must have written
LOOSE = 0.34  # of anything else: it may be put in other words
LONGEST = 20_000  # characters of one text that are looked at: a pasted book lays down no rules
YES_CHARS = 60  # a longer reply says more than yes

# Words about the person and about saying, which every line of the kind has.
_FRAME = re.compile(
    r"用户|投资者|本人|偏好|决策|认为|觉得|表示|希望|倾向于?|要求|会|的|了|是|在|和|与|对|把|将|时候?|进行|操作|我"
    r"|\b(?:the|a|an|user|person|investor|trader|prefers?|preference|likes?|wants?|decided|decision|decides|thinks?|says?"
    r"|said|would|will|to|of|in|on|at|for|and|or|is|are|be|that|this|with|by|i|my|me|his|her|their|they|he|she)\b",
    re.IGNORECASE,
)
_YES = re.compile(
    r"(?:好的?|是的?|对的?|行|可以|没错|同意|确认|记住|记下(?:来|吧)?|就这样|就这么(?:办|定)|嗯+|ok(?:ay)?|yes|yep|yeah"
    r"|sure|right|correct|agreed|confirm(?:ed)?|please|do (?:that|it)|remember (?:that|it|this)|go ahead|exactly"
    r"|save (?:it|that))(?:[\s,，.。!！~～吧啊呀了的]*(?:好的?|记住(?:它|吧|这[个条])?|记下来|谢谢|thanks?|please"
    r"|remember (?:that|it|this)|save (?:it|that)|that['’]s (?:it|right)|do (?:that|it)))*[\s,，.。!！~～吧啊呀了的]*",
    re.IGNORECASE,
)


def support(line: str, texts: Iterable[str]) -> float:
    """The share of a line's words (Han pairs, stems) that stand in the texts, 0 to 1; 1 for a line without any."""
    wanted = set(_stems(line))
    if not wanted:
        return 1.0
    have: set[str] = set()
    for text in texts:
        have.update(_stems(text[:LONGEST]))
    return len(wanted & have) / len(wanted)


def named(line: str, texts: Sequence[str]) -> bool:
    """Whether every figure and every symbol of a line stands in one of the texts."""
    texts = [text[:LONGEST] for text in texts]
    figures = {n for text in texts for n in numbers(text)}
    mine = [n for n in numbers(line) if n[0].isdigit() or n[0] == "-"]
    bare = {n.rstrip("%") for n in figures}
    if any(n not in figures and n.rstrip("%") not in bare for n in mine):
        return False
    codes = {m.symbol.id for m in symbols.find(line)}
    return codes <= {m.symbol.id for text in texts for m in symbols.find(text)}


def rests(line: str, own: Sequence[str], others: Sequence[str], *, least: float = LOOSE) -> bool:
    """Whether a line rests on the person's own words: enough of it, and no less than on anybody else's."""
    said = support(line, own)
    return said >= least and named(line, own) and said >= support(line, others) - 0.25


def stated(rule: str, own: Sequence[str]) -> bool:
    """Whether the person laid a rule down: as it stands, or in one message that says it with the same negation."""
    key = same(rule)
    for whole in own:
        text = whole[:LONGEST]
        if key and key in same(text):
            return True
        for part in (text, *words.sentences(text), *words.clauses(text)):
            fits = support(rule, [part]) >= STRICT and named(rule, [part])
            if fits and bool(negations(rule)) == bool(negations(part)):
                return True
    return False


def confirmed(line: str, answer: str, reply: str) -> bool:
    """Whether a person said yes (`reply`) to an `answer` that holds the line in so many words."""
    yes = len(reply) <= YES_CHARS and _YES.fullmatch(reply.strip()) is not None
    return yes and bool(same(line)) and same(line) in same(answer)


def _stems(text: str) -> Iterator[str]:
    """Han pairs whole; Latin words by their first five letters, so that forms of one word are one. No frame words."""
    for term in words.terms(_FRAME.sub(" ", text)):
        yield term[:5] if term.isascii() and term.isalpha() else term
