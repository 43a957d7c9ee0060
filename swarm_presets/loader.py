"""Presets from files: the shipped ones and the operator's. A wrong file disables only its own preset.

The operator's preset replaces a shipped one of the same name, also when it is wrong: what the operator meant to run is
not quietly something else. It is a base for the operator's presets alone: shipped ones extend shipped ones, so that
nobody's base can break them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.runtime.team import Team
from swarm_presets.check import check, is_abstract, last_stage
from swarm_presets.compile import compile_team
from swarm_presets.files import Reader
from swarm_presets.meaning_secrets import secret_meaning
from swarm_presets.positions import Mapping
from swarm_presets.problems import Problem, in_order
from swarm_presets.references import Known
from swarm_presets.resolve import Document, Documents
from swarm_presets.unchanged import Made, Outside, Unchanged
from swarm_presets.uncollected import uncollected


@dataclass(frozen=True, slots=True)
class PresetSet:
    """What can run, what cannot, and why.

    `teams` holds the presets without an error, by name; `broken` the names that a file claims but no team has;
    `abstract` the names that exist only to be extended. `problems` has each finding once, ordered by file and line;
    `found` has for each preset what stops it, findings in its parents included.
    `trees` holds each preset without an error, abstract ones too, with everything that it inherits; `files` the path
    of the file behind each name. `fresh` names what was worked out anew, and not taken over from the reading before.
    """

    teams: dict[str, Team] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    broken: frozenset[str] = frozenset()
    abstract: frozenset[str] = frozenset()
    found: dict[str, list[Problem]] = field(default_factory=dict)
    trees: dict[str, Mapping] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    fresh: frozenset[str] = frozenset()


def load_folder(
    paths: Path | Iterable[Path] = (),
    *,
    tools: frozenset[str],
    models: frozenset[str] | None = None,
    acting: frozenset[str] = frozenset(),
    price: Callable[[str], tuple[float, float] | None] | None = None,
    lead: frozenset[str] = frozenset(),
    redact: Callable[[str], str] | None = None,
    sources: dict[str, bool] | None = None,
    skills: frozenset[str] | None = None,
    servers: dict[str, frozenset[str]] | None = None,
    shipped: bool = True,
    schema_only: bool = False,
    reader: Reader | None = None,
) -> PresetSet:
    """Load the shipped presets and those in the given folders (or single files); a later path wins by name.

    A folder that does not exist holds no presets. Never raises for what a file contains.

    Args:
        paths: folders of `*.yaml` and `*.yml` files, or single files.
        tools: names of the tools that exist.
        models: `<provider>/<model>`, or `<provider>/*` for all of a provider; None: model names are not checked.
        acting: the tools that change something outside and need an approval of the preset.
        price: dollars for a million tokens in and out of a model, None where unknown; without it no price is checked.
        lead: the tools that only a supervisor may call.
        sources: the data sources that exist, and whether each is enabled; None: they are not checked.
        skills: the skills that everybody may use; None: they are not checked.
        servers: the MCP servers that exist, each with the names of its tools, none where they are not known; None: they
            are not checked.
        redact: masks secrets in a text; without it no secret is looked for.
        shipped: whether the presets that come with the package are part of the set.
        schema_only: only check: nothing is made ready to run then, so that `teams` stays empty.
        reader: keeps what files came to for the next reading; None: all are read anew.
    """
    where = [paths] if isinstance(paths, Path) else list(paths)
    reader = reader or Reader()
    known = Known(tools, models, acting, price, lead, redact, sources, skills, servers)
    outside = Outside.of(known, schema_only=schema_only)
    with uncollected():
        documents = Documents(reader.documents(where, shipped=shipped))
        return _loaded(_Desk(documents, known, outside, reader.unchanged))


def _loaded(desk: "_Desk") -> PresetSet:
    documents = desk.documents
    found: dict[str, list[Problem]] = {}
    teams: dict[str, Team] = {}
    trees: dict[str, Mapping] = {}
    for document in documents.current():
        made = desk.made(document)
        found.setdefault(document.name, []).extend(made.problems)
        if isinstance(made, Made):
            trees[document.name] = made.tree
            if made.team is not None:
                teams[document.name] = made.team
    desk.unchanged.over()
    return PresetSet(
        teams=dict(sorted(teams.items())),
        problems=in_order(p for problems in found.values() for p in problems),
        broken=frozenset(documents.names) - trees.keys(),
        abstract=frozenset(name for name, tree in trees.items() if is_abstract(tree)),
        found={name: in_order(problems) for name, problems in sorted(found.items())},
        trees=dict(sorted(trees.items())),
        files={d.name: d.tree.span.source.path for d in documents.current()},
        fresh=frozenset(desk.fresh),
    )


@dataclass(frozen=True, slots=True)
class _Wrong:
    """What was found about a document that cannot run."""

    problems: Sequence[Problem]


@dataclass(slots=True)
class _Desk:
    """Makes presets of documents; `fresh` names those that were not taken over from the reading before."""

    documents: Documents
    known: Known
    outside: Outside
    unchanged: Unchanged
    fresh: set[str] = field(default_factory=set)

    def made(self, document: Document) -> Made | _Wrong:
        """What a document comes to."""
        line = self.documents.line(document)
        if any(_wrong(one.problems) for one in line):
            line = []
        if line and (kept := self.unchanged.find(line, self.outside)):
            return kept
        self.fresh.add(document.name)
        made = self._made(document)
        if line and isinstance(made, Made):
            self.unchanged.keep(line, self.outside, made)
        return made

    def _made(self, document: Document) -> Made | _Wrong:
        if not document.readable:
            return _Wrong(document.problems)
        resolved = self.documents.resolve(document)
        later = check(resolved.tree, self.known, complete=resolved.complete)
        own = secret_meaning(document.tree, self.known)
        problems = [*document.problems, *resolved.problems, *later, *own]
        if not _wrong(problems):
            problems += last_stage(resolved.tree, self.known)
        if _wrong(problems):
            return _Wrong(problems)
        runs = not is_abstract(resolved.tree) and not self.outside.schema_only
        team = compile_team(resolved.tree) if runs else None
        return Made(resolved.tree, tuple(problems), team)


def _wrong(problems: Sequence[Problem]) -> bool:
    return any(p.severity == "error" for p in problems)
