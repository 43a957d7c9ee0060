"""What a preset came to is kept until one of its files changes, so that one edit among many costs what it touches.

A preset depends on its own file, on those that it extends, on their prompt files, and on what exists outside. What has
an error is never kept: a later reading may mend it without touching its file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent_core.runtime.team import Team
from swarm_presets import prompts
from swarm_presets.positions import Mapping
from swarm_presets.problems import Problem
from swarm_presets.references import Known
from swarm_presets.resolve import Document


@dataclass(frozen=True, slots=True)
class Outside:
    """What exists outside the presets, as far as it may change while a program runs, and how far the check goes."""

    tools: frozenset[str]
    models: frozenset[str] | None
    acting: frozenset[str]
    lead: frozenset[str]
    sources: tuple[tuple[str, bool], ...] | None
    skills: frozenset[str] | None
    servers: tuple[tuple[str, frozenset[str]], ...] | None
    schema_only: bool

    @classmethod
    def of(cls, known: Known, *, schema_only: bool) -> "Outside":
        """What a check will ask for."""
        sources = None if known.sources is None else tuple(sorted(known.sources.items()))
        servers = None if known.servers is None else tuple(sorted(known.servers.items()))
        return cls(
            known.tools,
            known.models,
            known.acting,
            known.lead,
            sources,
            known.skills,
            servers,
            schema_only=schema_only,
        )


@dataclass(frozen=True, slots=True)
class Made:
    """A preset without an error: its resolved tree, its warnings, and its team, None where it has none."""

    tree: Mapping
    problems: tuple[Problem, ...]
    team: Team | None


@dataclass(frozen=True, slots=True)
class _Kept:
    outside: Outside
    read: tuple[tuple[Mapping, dict[str, str]], ...]
    made: Made


@dataclass(slots=True)
class Unchanged:
    """What the presets of the last reading came to, by the path of their file. One for one set of prices."""

    _before: dict[str, _Kept] = field(default_factory=dict)
    _now: dict[str, _Kept] = field(default_factory=dict)

    def find(self, line: Sequence[Document], outside: Outside) -> Made | None:
        """What the first document of a line came to, the others being all that it extends; None where some changed."""
        kept = self._before.get(_path(line[0]))
        if kept is None or kept.outside != outside or len(kept.read) != len(line):
            return None
        pairs = zip(line, kept.read, strict=True)
        if not all(d.tree is tree and _same_prompts(tree, texts) for d, (tree, texts) in pairs):
            return None
        self._now[_path(line[0])] = kept
        return kept.made

    def keep(self, line: Sequence[Document], outside: Outside, made: Made) -> None:
        """Keep what a document came to, with the prompt files that were read for it."""
        read = tuple((d.tree, dict(d.tree.span.source.prompts)) for d in line)
        self._now[_path(line[0])] = _Kept(outside, read, made)

    def over(self) -> None:
        """A reading is over: what it did not ask for is forgotten."""
        self._before, self._now = self._now, {}


def _path(document: Document) -> str:
    source = document.tree.span.source
    return source.path or source.name


def _same_prompts(tree: Mapping, texts: dict[str, str]) -> bool:
    try:
        return all(prompts.read(tree.span.source, name) == text for name, text in texts.items())
    except ValueError:  # it is gone, or no text any more: that is for the check to tell
        return False
