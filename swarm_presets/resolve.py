"""The set of preset files as a whole: which file a name means, and what each inherits (SW201, SW207, SW306)."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from swarm_presets.inherit import empty_values, inherited, merge, with_defaults
from swarm_presets.parts import leaves
from swarm_presets.positions import Leaf, Mapping, key_span
from swarm_presets.problems import Problem, nearest, problem, suggest
from swarm_presets.sealed import loosened, unknown_seals
from swarm_presets.shape import top

SHIPPED = 0  # the layer of the presets that come with the package


@dataclass(slots=True, eq=False)
class Document:
    """One file after its shape was checked. Documents of a higher layer replace those of a lower one by name."""

    name: str
    tree: Mapping
    layer: int
    problems: list[Problem] = field(default_factory=list)
    readable: bool = True


@dataclass(frozen=True, slots=True)
class Resolved:
    """A preset with all that it inherits; `bare` is what its children inherit, before defaults are filled in.

    `complete` is False when its parents are not all known and right.
    """

    tree: Mapping
    bare: Mapping
    complete: bool
    problems: list[Problem]


def _guessed(parent: Resolved) -> Resolved:
    """A parent that was probably meant, without its approvals: consent is never guessed."""
    kept = {key: entry for key, entry in parent.bare.entries.items() if key != "approvals"}
    return replace(parent, bare=Mapping(kept, parent.bare.span))


class Documents:
    """All documents, by name; the highest layer wins, the first within a layer."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._by_name: dict[str, list[Document]] = {}
        self._resolved: dict[Document, Resolved] = {}
        for document in documents:
            self._add(document)

    def _add(self, document: Document) -> None:
        same = self._by_name.setdefault(document.name, [])
        twin = next((d for d in same if d.layer == document.layer), None)
        if twin is not None:
            other = twin.tree.span.source.name
            message = f"a preset named `{document.name}` is in {other} too"
            span = top(document.tree)
            document.problems.append(
                problem("SW207", message, span, "give one of them another name")
            )
            # Which of the two was meant is not for us to say: neither runs.
            twin.problems.append(document.problems[-1])
        same.append(document)
        same.sort(key=lambda d: -d.layer)

    @property
    def names(self) -> list[str]:
        """All names, in order."""
        return sorted(self._by_name)

    def current(self) -> list[Document]:
        """The document that each name means, and those that clash with it."""
        return [
            document
            for same in self._by_name.values()
            for document in same
            if document.layer == same[0].layer
        ]

    def line(self, document: Document) -> list[Document]:
        """The document and all that it extends, nearest first; empty where a parent is not there or a circle begins."""
        found = [document]
        for one in found:
            for leaf in leaves(one.tree.get("extends")):
                parent = self._lookup(leaf.text, one)
                if parent is None or parent is document:
                    return []
                if parent not in found:
                    found.append(parent)
        return found

    def resolve(self, document: Document) -> Resolved:
        """The document over its parents, defaults filled in."""
        done = self._resolved.get(document)
        if done is None:
            done = self._resolved[document] = self._resolve(document)
        return done

    def _resolve(self, document: Document) -> Resolved:
        problems: list[Problem] = []
        base, complete = Mapping({}, document.tree.span), True
        for leaf in leaves(document.tree.get("extends")):
            parent = self._parent(document, leaf, problems)
            if parent:
                wider, _ = merge(base, inherited(parent.bare))
                problems += loosened(base, wider, lambda _, leaf=leaf: leaf.span)  # type: ignore[misc]
                base = wider
            complete = complete and parent is not None and parent.complete
        bare, edits = merge(base, document.tree)
        edits += loosened(base, bare, lambda path: key_span(document.tree, path))
        edits += unknown_seals(bare, document.tree)
        tree = with_defaults(bare)
        return Resolved(tree, bare, complete, [*problems, *edits, *empty_values(tree)])

    def _parent(self, child: Document, leaf: Leaf, problems: list[Problem]) -> Resolved | None:
        """A parent that can be relied on; a misspelled one counts as the one that was meant."""
        found = self._lookup(leaf.text, child)
        if found is None:
            names = [name for name in self._by_name if name != child.name]
            cure = suggest(leaf.text, names, "there is no other preset")
            problems.append(problem("SW201", f"no preset `{leaf.text}`", leaf.span, cure))
            meant = nearest(leaf.text, names)
            found = self._lookup(meant, child) if meant else None
            sure = found and not self._way(found, child)
            return _guessed(self.resolve(found)) if found and sure else None
        if way := self._way(found, child):
            names = [child.name, *(d.name for d in way)]
            message = f"`extends` goes in a circle: {' → '.join(names)}"
            cure = "let one of them extend something else"
            problems.append(problem("SW306", message, leaf.span, cure))
            return None
        resolved = self.resolve(found)
        if any(p.severity == "error" for p in (*found.problems, *resolved.problems)):
            message = f"preset `{found.name}` has errors of its own"
            cure = f"mend {found.tree.span.source.name} first"
            problems.append(problem("SW201", message, leaf.span, cure))
            return None
        return resolved

    def _way(self, start: Document, goal: Document) -> list[Document]:
        """The shortest way up from a document to another, both included; empty when there is none."""
        ways, reached = [[start]], {start}
        while ways:
            way = ways.pop(0)
            if way[-1] is goal:
                return way
            for leaf in leaves(way[-1].tree.get("extends")):
                found = self._lookup(leaf.text, way[-1])
                if found and found not in reached:
                    reached.add(found)
                    ways.append([*way, found])
        return []

    def _lookup(self, name: str, child: Document) -> Document | None:
        """Who is meant by a parent's name; by its own name a preset means the one that it replaces.

        Shipped presets mean shipped ones: an operator's base of the same name is for the operator's own.
        """
        for document in self._by_name.get(name, []):
            if child.layer == SHIPPED < document.layer:
                continue
            if name != child.name or document.layer < child.layer:
                return document
        return child if name == child.name else None
