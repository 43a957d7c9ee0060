"""Where running text may be cut: after a blank line, a line, a sentence, a word, or between graphemes.

Never inside a link, inline code, short emphasis or a character reference, unless one alone is over the limit.
"""

import re
import unicodedata
from bisect import bisect_left
from enum import Enum

_SHARE = 0.3  # a cut that would leave a part emptier than this gives way to a finer one
_LOOK_BACK = 64  # code points of one grapheme, headings in a row: beyond it a cut is a cut

# A piece that begins so would turn into a list, a heading, a quote or a table row of its own.
_NOT_BEFORE = r"(?![-+*=#>|~`]|\d{1,9}[.)][ \t])"


class Level(Enum):
    """Kinds of boundary, each a pattern whose end is the place to cut."""

    BLANK = r"\n(?:[ \t]*+\n)++"
    LINE = r"\n"
    SENTENCE = (
        r"[.!?…][\"')\]*_”’]*+[ \t]++(?![a-z])" + _NOT_BEFORE + r"|[。！？；…][」』”’）\"'*_]*+"
    )
    WORD = r"(?<=[^\s>])[ \t]++" + _NOT_BEFORE + r"|[，、：；）」』]"
    SPACE = r"[ \t]++"
    GRAPHEME = ""


PROSE = (Level.BLANK, Level.LINE, Level.SENTENCE, Level.WORD, Level.GRAPHEME)
LINES = (Level.LINE, Level.WORD, Level.GRAPHEME)
CODE = (Level.LINE, Level.SPACE, Level.GRAPHEME)

_PATTERNS = {level: re.compile(level.value) for level in Level}
_ATOM = re.compile(
    r"""
      (?<!`)(`++)(?=[^`])(?:(?!\1(?!`))[^\n]){1,400}\1(?!`)                  # inline code
    | !?\[(?:[^\[\]\n]|!?\[[^\[\]\n]*+\](?:\([^()\s]*+\))?)*+\]              # link or image
      \([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*+(?:[ \t]+"[^"\n]*+")?\)
    | https?://[^\s<>()\[\]，。；、！？）】」』"']++                              # bare address
    | <[a-z]{2,8}:[^<>\s]++>
    | \*\*(?=[^\s*])[^*\n`\[]{1,200}\*\* | ~~(?=[^\s~])[^~\n`\[]{1,200}~~    # short emphasis
    | &\#?[A-Za-z0-9]{1,31};                                               # character reference
    | \\[!-/:-@\[-`{-~]
    """,
    re.VERBOSE,
)
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_QUOTE = re.compile(r"(?:[ \t]*+>)++[ \t]?")
_JOINERS = {"\u200d", "\ufe0e", "\ufe0f"}


def is_heading(line: str) -> bool:
    """The line is a heading."""
    return _HEADING.match(line) is not None


def quote_prefix(text: str, start: int, stop: int, current: str, longest: int) -> str:
    """What a part must begin with when `text` is cut at `stop`: the quote marks of a line that is cut inside."""
    if text[stop - 1] == "\n":
        return ""
    line = text.rfind("\n", start, stop) + 1
    if not line:
        if start and text[start - 1] != "\n":
            return current
        line = start
    match = _QUOTE.match(text, line, stop)
    return match.group() if match and len(match.group()) <= longest else ""


def cut(text: str, start: int, end: int, levels: tuple[Level, ...], *, force: bool) -> int:
    """The best place in (start, end] to end a part at, or `start` when there is none.

    Whitespace just after `end` may belong to the cut. `force`: an atom over the limit is cut.
    """
    soft = _past_space(text, end, levels)
    window = _Window(text, start, end, soft)
    floor = start + max(1, int((end - start) * _SHARE))
    for least in (floor, start + 1):
        for level in levels:
            stop = window.last(level, least)
            if stop:
                return stop
    return grapheme_end(text, start, end) if force else start


def _past_space(text: str, end: int, levels: tuple[Level, ...]) -> int:
    if levels is CODE:
        return end + 1 if text[end : end + 1] == "\n" else end
    rest = text[end : end + _LOOK_BACK]
    return end + len(rest) - len(rest.lstrip(" \t\r\n"))


class _Window:
    """The stretch that fits, and the atoms in it."""

    def __init__(self, text: str, start: int, end: int, soft: int) -> None:
        self._text, self._start, self._end, self._soft = text, start, end, soft
        self._starts: list[int] = []
        self._ends: list[int] = []
        for match in _ATOM.finditer(text, start, min(len(text), end + (end - start))):
            if match.start() >= soft:
                break
            self._starts.append(match.start())
            self._ends.append(match.end())

    def last(self, level: Level, least: int) -> int:
        """The last place of this level at or after `least`; 0 when there is none."""
        if level is Level.GRAPHEME:
            return self._last_grapheme(least)
        pattern = _PATTERNS[level]
        found = [m.end() for m in pattern.finditer(self._text, self._start, self._soft)]
        first = bisect_left(found, least)
        places = [stop for stop in reversed(found[first:]) if not self._atom_at(stop)]
        if level in {Level.BLANK, Level.LINE}:
            for stop in places[:_LOOK_BACK]:
                if not self._ends_with_heading(stop):
                    return stop
        return places[0] if places else 0

    def _last_grapheme(self, least: int) -> int:
        stop = grapheme_end(self._text, self._start, self._end)
        atom = self._atom_at(stop)
        if atom:
            stop = self._starts[atom - 1]
        return stop if stop >= least else 0

    def _atom_at(self, place: int) -> int:
        """1 + the index of the atom that `place` is inside of; 0 for none."""
        index = bisect_left(self._starts, place)
        return index if index and place < self._ends[index - 1] else 0

    def _ends_with_heading(self, stop: int) -> bool:
        last = len(self._text[self._start : stop].rstrip()) + self._start
        line = self._text.rfind("\n", self._start, last) + 1 or self._start
        return is_heading(self._text[line:last])


def grapheme_end(text: str, start: int, end: int) -> int:
    """`end`, moved back so that no grapheme is cut, but not to `start`.

    Combining marks, variation selectors, skin tones, joined emoji, flags, surrogate pairs, CR LF and Hangul jamo stay
    together: the parts of UAX 29 that show.
    """
    place = end
    least = max(start + 1, end - _LOOK_BACK)
    while place >= least and place < len(text):
        if not _joined(text, place):
            return place
        place -= 1
    return end


def _joined(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    if before < "\u0300" and after < "\u0300":
        return before == "\r" and after == "\n"
    if before == "\u200d" or after in _JOINERS or unicodedata.category(after) in {"Mn", "Me", "Mc"}:
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if _is_flag(before) and _is_flag(after):
        return _flags_before(text, place) % 2 == 1
    return "\u1160" <= after <= "\u11ff"


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flags_before(text: str, place: int) -> int:
    count = 0
    while count < _LOOK_BACK and count < place and _is_flag(text[place - 1 - count]):
        count += 1
    return count
