"""The sections of a structured summary in their fixed order (CMP-12): found, put in order, shortened."""

import re

from agent_core import text
from agent_core.models import tokens

GOAL = "Goal"
CONSTRAINTS = "Constraints & Preferences"
CRITICAL = "Critical Context"
# CMP-12
HEADINGS: tuple[str, ...] = (
    GOAL,
    CONSTRAINTS,
    "Progress",
    "Key Decisions",
    "Resolved Questions (do not answer again)",
    "Pending User Asks",
    "Relevant Files",
    "Remaining Work",
    CRITICAL,
    "Tools & Patterns",
)
NONE = "(none)"
EMPTY = frozenset({"", NONE, "- (none)", "-"})
# What is given up first when a summary is too long; goal, rules and numbers last.
_SACRIFICE = (9, 2, 4, 6, 3, 7, 5, 0, 1, 8)

_NAMES = "|".join(
    re.escape(h.partition(" (")[0]).replace(re.escape(" & "), r"\s*(?:&|and)\s*") for h in HEADINGS
)
_HEADING = re.compile(
    rf"^[ \t]*(?:#{{1,4}}[ \t]*|\*\*[ \t]*)?(?:\d+[.)][ \t]*)?(?P<name>{_NAMES})(?:[ \t]*\([^)\n]*\))?[ \t]*:?"
    r"[ \t]*(?:\*\*)?[ \t]*:?[ \t]*(?P<rest>[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_BY_NAME = {re.sub(r"\W|and", "", h.partition(" (")[0].lower()): h for h in HEADINGS}


def missing(said: str) -> tuple[str, ...]:
    """The headings that a text lacks, in order."""
    found = {_name(m) for m in _headings(said)}
    return tuple(h for h in HEADINGS if h not in found)


def parsed(said: str) -> dict[str, str]:
    """Heading → body, all ten in order; a section that comes twice is joined, loose words go to Critical Context."""
    sections = dict.fromkeys(HEADINGS, "")
    found = _headings(said)
    loose = said[: found[0].start()] if found else said
    for at, match in enumerate(found):
        end = found[at + 1].start() if at + 1 < len(found) else len(said)
        body = f"{match['rest']}\n{said[match.end() : end]}".strip()
        name = _name(match)
        sections[name] = f"{sections[name]}\n{body}".strip()
    if loose.strip():
        sections[CRITICAL] = f"{loose.strip()}\n{sections[CRITICAL]}".strip()
    return sections


def written(sections: dict[str, str]) -> str:
    """The sections as one text, all ten, in order; an empty one says so."""
    return "\n\n".join(f"## {h}\n{_body(sections.get(h, ''))}" for h in HEADINGS)


def arranged(said: str) -> str:
    """A text with all ten sections in order, whatever it had; no word of it is lost."""
    return written(parsed(said))


def shorten(said: str, limit: int) -> str:
    """A summary in at most about `limit` tokens by estimate.

    Lines are left out, of the least needed section first, oldest first. A text without
    sections is cut behind its last whole sentence that fits.
    """
    if tokens.of_text(said) <= limit:
        return said
    if missing(said):
        return cut(said, limit)
    lines = {name: body.splitlines() for name, body in parsed(said).items()}
    over = tokens.of_text(said) - limit
    for place in _SACRIFICE:
        mine = lines[HEADINGS[place]]
        while over > 0 and mine:
            over -= max(tokens.of_text(mine.pop(0)), 1)
    return written({name: "\n".join(body) for name, body in lines.items()})


def cut(said: str, limit: int) -> str:
    """The first sentences that fit `limit` tokens; where not even one fits, as much of it as does."""
    kept = ""
    for sentence in text.sentences(said):
        if tokens.of_text(kept + sentence) > limit:
            break
        kept += sentence
    if not kept.strip():
        kept = text.clip(said, limit * 2)
        while len(kept) > 1 and tokens.of_text(kept) > limit:
            kept = text.clip(kept, len(kept) * 3 // 4)
    return kept.strip()


def cut_chars(said: str, limit: int) -> str:
    """The first sentences that fit `limit` characters; where not even one fits, its beginning."""
    kept = ""
    for sentence in text.sentences(said):
        if len(kept) + len(sentence.rstrip()) > limit:
            break
        kept += sentence
    return kept.strip() or text.clip(said.strip(), limit)


def _body(said: str) -> str:
    """A body in which no line passes for a heading when it is read again."""
    return _HEADING.sub(lambda m: f"- {m[0].strip()}" if _is_heading(m) else m[0], said) or NONE


def _headings(said: str) -> list[re.Match[str]]:
    """Lines that are headings: marked as one, or alone on their line, or followed by a colon."""
    return [m for m in _HEADING.finditer(said) if _is_heading(m)]


def _is_heading(match: re.Match[str]) -> bool:
    line = match[0].strip()
    return line.startswith(("#", "*")) or not match["rest"] or ":" in line[: -len(match["rest"])]


def _name(match: re.Match[str]) -> str:
    return _BY_NAME[re.sub(r"\W|and", "", match["name"].lower())]
