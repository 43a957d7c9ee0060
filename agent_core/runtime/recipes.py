"""Reading skills and templates: Markdown with a YAML head, one file a language.

`checkup.md` and `checkup.zh.md` are one skill in two languages. A head is between two lines `---`; without one the
file's name is the name. Scalars are read as text, so that no word turns into a number or a date. A file that cannot be
read is reported and left out, never the others (SKL-3).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")  # SKL-3
MOST_CHARS = 6_000  # of a body: below what a tool result may have before it is put away
MOST_BYTES = 32_768  # of a file
LINE_CHARS = 200  # of a description
MOST_FILES = 500  # of a folder
DEEPEST = 8  # lists and maps within each other
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:\r?\n)?---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_LANGUAGES = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file, where, and how to mend it. `line` counts from 1; 0: the file as a whole."""

    file: str
    line: int
    message: str
    cure: str

    def as_dict(self) -> dict[str, str | int]:
        """For a log."""
        place: dict[str, str | int] = {"file": self.file, "line": self.line}
        return place | {"problem": self.message, "cure": self.cure}

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.message}; {self.cure}"


class BadRecipe(ValueError):
    """A file that is no skill and no template."""

    def __init__(self, message: str, cure: str, line: int = 0) -> None:
        self.fault = (line, message, cure)
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Page:
    """One file. `language` is that of its body; `head` holds maps, lists and texts as they were written."""

    name: str
    language: str
    head: Mapping[str, Any]
    body: str
    file: str

    def words(self, key: str) -> dict[str, str]:
        """A text of the head by language: written once, or as {en: …, zh: …}. Raises BadRecipe."""
        value = self.head.get(key)
        if value is None or value == "":
            return {}
        if isinstance(value, str):
            return {self.language: line(value)}
        if isinstance(value, dict) and all(
            k in _LANGUAGES and isinstance(v, str) for k, v in value.items()
        ):
            return {k: line(v) for k, v in value.items()}
        raise BadRecipe(f"`{key}` is no text", f"write `{key}: words` or `{key}: {{en: …, zh: …}}`")

    def names(self, key: str) -> tuple[str, ...]:
        """A list of names of the head. Raises BadRecipe."""
        value = self.head.get(key) or []
        listed = value.replace(",", " ").split() if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise BadRecipe(f"`{key}` is no list of names", f"write `{key}: [one, other]`")
        return tuple(listed)

    def only(self, *keys: str) -> None:
        """Raise BadRecipe for a key of the head that means nothing."""
        for key in self.head:
            if key not in keys:
                raise BadRecipe(f"unknown key `{key}`", f"use {', '.join(keys)}")


def line(text: str) -> str:
    """A text as one short line."""
    whole = " ".join(text.split())
    return whole if len(whole) <= LINE_CHARS else whole[: LINE_CHARS - 1] + "…"


def page(name: str, text: str, file: str = "") -> Page:
    """A file's text as a page. `name` is the file's, without `.md`. Raises BadRecipe."""
    stem, dot, ending = name.rpartition(".")
    language, stem = (ending, stem) if dot and ending in _LANGUAGES else ("en", name)
    head, body = split(text)
    named = head.get("name", stem)
    if not isinstance(named, str) or not NAME.fullmatch(named):
        shown = str(named)[:70]
        raise BadRecipe(
            f"`{shown}` is no name", "use a-z, 0-9, _ and -, at most 64, a letter first"
        )
    if not body:
        raise BadRecipe("has no text", "write below the head what is to be done")
    if len(body) > MOST_CHARS:
        message = f"has {len(body)} characters, {MOST_CHARS} are allowed"
        raise BadRecipe(message, "shorten it, or make two of it")
    return Page(named, language, head, body, file)


def split(text: str) -> tuple[dict[str, Any], str]:
    """Head and body. Raises BadRecipe for a head that is no YAML map."""
    found = _HEAD.match(text)
    if found is None:
        return {}, text.strip()
    try:
        _plain(found[1])
        # BaseLoader makes texts of all scalars and nothing else of anything: it is as safe as safe_load.
        head = yaml.load(found[1], Loader=yaml.BaseLoader)  # noqa: S506
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        at = mark.line + 2 if mark is not None else 1
        problem = getattr(e, "problem", None) or "cannot be read"
        raise BadRecipe(f"its head is no YAML: {problem}", "mend this line", at) from e
    if head is None or head == "":
        head = {}
    if not isinstance(head, dict):
        raise BadRecipe("its head is no map", "write `key: value` lines between the two `---`", 2)
    return head, text[found.end() :].strip()


def _plain(head: str) -> None:
    """Raise BadRecipe for a head that may be far larger, or deeper, than it looks; YAMLError for none."""
    depth = 0
    for event in yaml.parse(head, Loader=yaml.BaseLoader):
        at = event.start_mark.line + 2 if event.start_mark is not None else 1
        if getattr(event, "anchor", None) is not None:
            raise BadRecipe("its head has anchors (&, *)", "write each value out", at)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise BadRecipe(f"its head is deeper than {DEEPEST} levels", "write it flat", at)


def pages(files: Iterable[Path], faults: list[Fault]) -> list[Page]:
    """The pages of files, in order of their names; what cannot be read goes into `faults`. Blocks."""
    found: list[Page] = []
    ordered = sorted(files, key=lambda path: path.name)
    for path in ordered[:MOST_FILES]:
        file = str(path)
        try:
            found.append(page(path.name.removesuffix(".md"), _read(path), file))
        except BadRecipe as e:
            faults.append(Fault(file, *e.fault))
        except (OSError, UnicodeDecodeError) as e:
            why = "is not UTF-8" if isinstance(e, UnicodeDecodeError) else e.strerror or "no file"
            faults.append(Fault(file, 0, f"cannot be read: {why}", "mend or remove it"))
    if len(ordered) > MOST_FILES:
        folder, message = str(ordered[0].parent), f"more than {MOST_FILES} files"
        faults.append(Fault(folder, 0, message, "remove some"))
    return found


def _read(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise BadRecipe(f"is larger than {MOST_BYTES // 1024} KB", "shorten it")
    return data.decode("utf-8")
