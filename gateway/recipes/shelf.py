"""A folder of Markdown files as what they stand for, read at the start and after each edit, and taken as a whole.

A file that is wrong is reported and left out. One that was right before an edit goes on as it was (SKL-3).
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from agent_core.runtime.recipes import Fault

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """What a reading brought: names that are new or say something else, names that are gone, and new faults."""

    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone or self.faults)


@dataclass(frozen=True, slots=True)
class _Held(Generic[T]):
    items: Mapping[str, T]
    faults: tuple[Fault, ...] = ()


class Shelf(Generic[T]):
    """`kind` names it in logs; `read` gives what a folder holds by name and appends its faults. Both block."""

    def __init__(
        self, kind: str, folder: Path | None, read: Callable[[Path, list[Fault]], dict[str, T]]
    ) -> None:
        self.folder = folder
        self._kind = kind
        self._read = read
        self._held: _Held[T] = _Held({})
        self._again()

    @property
    def items(self) -> Mapping[str, T]:
        """What there is now, by name, in order of the names."""
        return self._held.items

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What is wrong with files of the folder now."""
        return self._held.faults

    def reload(self) -> Change:
        """Read the folder and take what is right in it at once; log what changed and what is wrong."""
        change = self._again()
        for fault in change.faults:
            log.warning("recipe_problem", extra=fault.as_dict())
        if change.changed or change.gone:
            names = {"changed": list(change.changed), "gone": list(change.gone)}
            log.info("%ss_read", self._kind, extra=names)
        return change

    def _again(self) -> Change:
        if self.folder is None:
            return Change()
        faults: list[Fault] = []
        new, old = self._read(self.folder, faults), self._held
        broken = {_stem(fault.file) for fault in faults}
        kept = {n: one for n, one in old.items.items() if n not in new and n in broken}
        items = dict(sorted({**new, **kept}.items()))
        self._held = _Held(items, tuple(faults))
        return Change(
            tuple(name for name, one in items.items() if old.items.get(name) != one),
            tuple(sorted(old.items.keys() - items.keys())),
            tuple(fault for fault in faults if fault not in old.faults),
        )


def _stem(file: str) -> str:
    name = file.rpartition("/")[2].removesuffix(".md")
    return name.removesuffix(".zh").removesuffix(".en")
