"""Background knowledge on demand (PDC-2): short Markdown texts, shipped and the operator's own, for `load_context`.

A text begins with front matter between `---` lines: `title`, `topics`, `symbols`, `language` (en, zh), `credibility`
(agent_core.book.LEVELS; mixed when left out), `as_of`. What a model asks for is compared with these words only and is
never part of a path. Files are looked at again at each call, so an operator's edit counts at once.
"""

import asyncio
import datetime as dt
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from agent_core import symbols
from agent_core.book import level_of
from agent_core.text import clip, normal, one_line, terms, words
from agent_core.tools.spec import ToolContext, ToolFailure, ToolOutput, ToolSpec, tool

log = logging.getLogger(__name__)

SHIPPED = Path(__file__).parent.parent / "knowledge"
MAX_BYTES = 256_000  # of one file; a larger one is no short text
MAX_FILES = 500  # of one folder
PAGE_CHARS = 7_600  # with its first line a page stays below the 8,000 characters that a result may have (EVT-6)
LISTED = 40  # topics that a failure names
_FENCE = "---"


@dataclass(frozen=True, slots=True)
class Text:
    """One text with what its front matter says. `name` is the file's, without its ending."""

    name: str
    title: str
    topics: tuple[str, ...]
    symbols: tuple[str, ...]
    language: str
    credibility: str
    as_of: str
    body: str


@dataclass(frozen=True, slots=True)
class _Kept:
    stamp: tuple[int, int]
    text: Text | None


class Knowledge:
    """The texts of some folders. A later folder's file wins over an earlier one's of the same name."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._kept: dict[Path, _Kept] = {}

    def texts(self) -> list[Text]:
        """All readable texts, by name. Blocks on files; those that have not changed are not read again."""
        found: dict[str, Text] = {}
        for folder in self._folders:
            for path in _files(folder):
                text = self._text(path)
                if text is not None:
                    found[text.name] = text
        return [found[name] for name in sorted(found)]

    def _text(self, path: Path) -> Text | None:
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            kept = self._kept.get(path)
            if kept is None or kept.stamp != stamp:
                text = _parsed(path) if stat.st_size <= MAX_BYTES else None
                if text is None:
                    log.warning("knowledge: %s is no text with front matter, or too large", path)
                kept = self._kept[path] = _Kept(stamp, text)
        except OSError as e:
            log.warning("knowledge: %s cannot be read: %s", path, e.strerror)
            return None
        return kept.text


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked for: as it stands, its words in order, those that tell something, its symbols."""

    whole: str
    running: str
    words: frozenset[str]
    codes: frozenset[str]


def matching(texts: Sequence[Text], query: str, language: str) -> list[Text]:
    """The texts about a topic or a symbol, best first; of equals those in `language`."""
    asked = _Asked(
        normal(query),
        f" {' '.join(words(query))} ",
        frozenset(term for term in terms(query) if len(term) > 1),
        frozenset({symbols.canonical(query), *symbols.ids(query)}),
    )
    scored = ((_score(text, asked), text) for text in texts)
    ranked = sorted(
        ((s, t) for s, t in scored if s > 0), key=lambda p: (-p[0], p[1].language != language)
    )
    return [text for _, text in ranked]


def knowledge_tools(own: Path | None = None) -> list[ToolSpec]:
    """`load_context` over the shipped texts and those in the folder `own`, which need not exist."""
    knowledge = Knowledge([SHIPPED, own] if own else [SHIPPED])

    @tool(title={"en": "Background", "zh": "背景资料"}, timeout=20, credibility="mixed")
    async def load_context(
        ctx: ToolContext,
        topic_or_symbol: Annotated[str, Field(min_length=1, max_length=200)],
        offset: Annotated[int, Field(ge=0)] = 0,
    ) -> ToolOutput:
        """Background texts about a topic or a symbol: trading rules, position sizing, the operator's own notes.

        No prices and nothing about the person. Each text states its credibility and its date. Unknown topics are
        answered with those that exist.

        Args:
            topic_or_symbol: A topic, such as T+1 or position sizing, or a code or name of a symbol.
            offset: Where to go on in a long text, as the page before said; 0 for the beginning.
        """
        texts = [t for t in await asyncio.to_thread(knowledge.texts) if _written(t, ctx.as_of)]
        found = matching(texts, topic_or_symbol, ctx.language)
        if not found:
            raise ToolFailure(_unknown(topic_or_symbol, texts, ctx.language))
        first = found[0]
        if offset and offset >= len(first.body):
            raise ToolFailure(f"It has {len(first.body)} characters; ask for an offset below that.")
        content = page(first, offset, [t for t in found[1:6] if t.language == first.language])
        meta = {"credibility": first.credibility}
        return ToolOutput(content, summary=first.title, meta=meta)

    return [load_context]


def _written(text: Text, day: dt.date | None) -> bool:
    """Whether a text was there on a day; one without a date always was. A year or a month is as good as it is exact."""
    return day is None or not text.as_of or text.as_of <= str(day)[: len(text.as_of)]


def page(text: Text, offset: int = 0, others: Sequence[Text] = ()) -> str:
    """A page of a text: a line that says what it is, the words, and what else there is about the same."""
    end = min(len(text.body), offset + PAGE_CHARS)
    about = [clip(text.title, 80), f"knowledge: {clip(text.name, 60)}", text.credibility]
    about += [f"as of {text.as_of}"] if text.as_of else []
    if offset or end < len(text.body):
        about.append(f"characters {offset}-{end} of {len(text.body)}")
    if left := len(text.body) - end:
        about.append(f"{left} left, go on with offset={end}")
    lines = [f"[{' · '.join(about)}]", text.body[offset:end]]
    if others:
        lines.append("See also: " + clip("; ".join(t.title for t in others), 200))
    return "\n".join(lines)


def _score(text: Text, asked: _Asked) -> float:
    """3: its symbol, a topic, title or name; 2: a topic within the words; else the share of the words, from half."""
    names = (*text.topics, text.title, text.name, text.name.partition(".")[0])
    if asked.codes & set(text.symbols) or asked.whole in {normal(name) for name in names}:
        return 3.0
    if any(_within(topic, asked) for topic in text.topics):
        return 2.0
    about = frozenset(terms(" ".join(names)))
    share = len(asked.words & about) / len(asked.words) if asked.words else 0.0
    return share if share >= 0.5 else 0.0


def _within(topic: str, asked: _Asked) -> bool:
    """Latin topics as whole words; Han has no borders."""
    if topic.isascii():
        return f" {' '.join(words(topic))} " in asked.running
    return normal(topic) in asked.whole


def _unknown(query: str, texts: Sequence[Text], language: str) -> str:
    known = dict.fromkeys(
        name for t in texts if t.language in (language, "") for name in (*t.topics, *t.symbols)
    )
    listed = "; ".join(list(known)[:LISTED])
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    there = f"There is: {listed}{more}." if listed else "There are no texts at all."
    return f"There is nothing about {clip(one_line(query), 60)!r}. {there}"


def _files(folder: Path) -> Iterator[Path]:
    """The Markdown files of a folder itself, within it even where they are links."""
    try:
        home = folder.resolve()
        found = sorted(
            p for p in home.iterdir() if p.suffix == ".md" and not p.name.startswith(".")
        )
    except OSError:
        return  # the folder is optional
    for path in found[:MAX_FILES]:
        real = path.resolve()
        if real.parent == home and real.is_file():
            yield path


def _parsed(path: Path) -> Text | None:
    """The text of a file, or None where it has no front matter that says what it is about."""
    import yaml  # only when a text is first read

    raw = path.read_text("utf-8-sig", errors="replace")
    first, _, rest = raw.partition("\n")
    head, found, body = rest.partition(f"\n{_FENCE}")
    if first.strip() != _FENCE or not found:
        return None
    try:
        meta = yaml.safe_load(head)
    except yaml.YAMLError:
        return None
    if not isinstance(meta, dict):
        return None
    about = _words(meta.get("topics")), _words(meta.get("symbols"))
    if not any(about):
        return None
    return Text(
        name=path.stem,
        title=one_line(str(meta.get("title") or path.stem)),
        topics=about[0],
        symbols=tuple(dict.fromkeys(symbols.canonical(code) for code in about[1])),
        language=str(meta.get("language") or ""),
        credibility=level_of(str(meta.get("credibility") or "")),
        as_of=one_line(str(meta.get("as_of") or ""))[:20],
        body=body.partition("\n")[2].strip(),
    )


def _words(value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value] if value else []
    return tuple(clip(one_line(str(item)), 80) for item in listed if str(item).strip())
