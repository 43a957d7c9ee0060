"""Editing the settings file for a person: comments and order stay, a wrong edit changes nothing.

The new text is judged as a start would judge it before it takes the old one's place in one step. Secrets never come
here: entries refer to variables of the environment.
"""

import contextlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.problems import OperatorError, Problem, SettingsError
from gateway.settings.settings import Settings, load
from gateway.settings.yaml import read

if TYPE_CHECKING:
    from ruamel.yaml import YAML

# Indentations of mappings, sequences and dashes, the usual one first.
_STYLES = ((2, 4, 2), (2, 2, 0), (4, 4, 2), (4, 2, 0), (4, 4, 0), (3, 3, 0))
_WIDE = 1_000_000  # no line is broken for its length
Change = Callable[[Any], None]


def edit(path: Path, change: Change, env: Mapping[str, str]) -> Settings:
    """Apply `change` to the root mapping of the file; returns the settings as they are then.

    Raises SettingsError when the file cannot be read, or would be wrong afterwards: it is unchanged then.
    """
    read(path)  # what is no mapping, or no YAML, is told with its place
    target = path.resolve()
    old = target.read_bytes().decode("utf-8")
    mark, text = ("\ufeff", old[1:]) if old.startswith("\ufeff") else ("", old)
    new = mark + _changed(text, change)
    with _beside(target, new) as draft:
        try:
            settings = load(draft, env)
        except SettingsError as error:
            raise SettingsError(_named(error, draft, path)) from None
        draft.replace(target)
    return settings


def put(root: Any, keys: tuple[str, ...], values: Mapping[str, object]) -> None:
    """Set values in the mapping at `keys`, which is made where it is missing or empty."""
    from ruamel.yaml.comments import CommentedMap

    node = root
    grown: list[tuple[Any, str]] = []
    for depth, key in enumerate(keys, 1):
        below = node.get(key)
        if not isinstance(below, dict) or not below:
            grown.append((node, _behind(node, key)))
            node[key] = below = CommentedMap()
            # Only what is deepest is short enough for one line.
            below.fa.set_flow_style() if depth == len(keys) > 1 else below.fa.set_block_style()
        node = below
    for key, value in values.items():
        grown.append((node, _behind(node, key)))
        node[key] = value
    for mapping, text in grown:
        _follow(mapping, text)


def _behind(node: Any, key: str) -> str:
    """Take off what stands behind a block's last value, if `key` is to come there: blank lines, the next comments."""
    if key in node or not node or node.fa.flow_style():
        return ""
    holder, last, place = _last(node)
    held = holder.ca.items.get(last)
    token = held[place] if held else None
    if token is None:
        return ""
    own, _, rest = token.value.partition("\n")
    token.value = own + "\n"
    if not own:
        held[place] = None
    return str(rest)


def _follow(node: Any, text: str) -> None:
    """Let the text stand behind the block's last value."""
    if not text:
        return
    from ruamel.yaml.error import CommentMark
    from ruamel.yaml.tokens import CommentToken

    holder, last, place = _last(node)
    held = holder.ca.items.setdefault(last, [None] * 4)
    held[place] = CommentToken("\n" + text, CommentMark(0), None)


def _last(node: Any) -> tuple[Any, Any, int]:
    """The innermost block that ends a block, the key of its last value, and where a comment behind it is kept."""
    key = list(node)[-1] if isinstance(node, dict) else len(node) - 1
    value: Any = node[key]
    if isinstance(value, dict | list) and value and not _is_flow(value):
        return _last(value)
    return node, key, 2 if isinstance(node, dict) else 0


def _is_flow(value: Any) -> bool:
    return bool(value.fa.flow_style())


def flow(values: list[str]) -> object:
    """A list that is written on one line."""
    from ruamel.yaml.comments import CommentedSeq

    made = CommentedSeq(values)
    made.fa.set_flow_style()
    return made


def quoted(text: str) -> object:
    """A text that is written in double quotes, as references to variables are."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    return DoubleQuotedScalarString(text)


def _changed(text: str, change: Change) -> str:
    ends = "\r\n" if "\r\n" in text else "\n"
    plain = text.replace("\r\n", "\n")
    style = next((s for s in _STYLES if _written(_yaml(s), plain) == plain), _STYLES[0])
    return _written(_yaml(style), plain, change).replace("\n", ends)


def _written(yaml: "YAML", text: str, change: Change | None = None) -> str:
    from ruamel.yaml.comments import CommentedMap

    root = yaml.load(text)
    root = CommentedMap() if root is None else root
    if change is not None:
        change(root)
    out = io.StringIO()
    yaml.dump(root, out)
    return out.getvalue()


def _yaml(style: tuple[int, int, int]) -> "YAML":
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = _WIDE
    mapping, sequence, offset = style
    yaml.indent(mapping=mapping, sequence=sequence, offset=offset)
    yaml.representer.add_representer(
        type(None), lambda self, _: self.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    return yaml


@contextlib.contextmanager
def _beside(target: Path, text: str) -> Iterator[Path]:
    """The text in a file beside the target, with its mode, on the disk; gone at the end unless it was moved."""
    try:
        number, name = tempfile.mkstemp(
            prefix=f".{target.name}.", suffix=".yaml", dir=target.parent
        )
    except OSError as error:
        said = (error.strerror or "cannot be written").lower()
        cure = "check that you may write there"
        raise OperatorError([Problem(said, cure, str(target.parent))]) from error
    draft = Path(name)
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(target.stat().st_mode & 0o7777)
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _named(error: SettingsError, draft: Path, path: Path) -> list[Problem]:
    """The problems with the name of the real file."""
    return [
        replace(p, file=str(path)) if p.file in {str(draft), str(draft.resolve())} else p
        for p in error.problems
    ]
