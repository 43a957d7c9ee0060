"""What checkpoints say: the body of each kind as data, with its one JSON form.

A checkpoint never changes a row: it says how the view shows rows (DESIGN.md 5). Rows are named by their `seq`; `r17`
is the reference of one row and `r3-r40` of a range, by which the archive gives back what the view left out.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from agent_core.types import Checkpoint

Profile = Literal["structured", "brief", "short", "mechanical", "none"]
Layout = Literal["one", "layers"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A key fact of a person's own words (KFS-4). `key` names what a later value supersedes, "" for nothing."""

    seq: int
    turn_id: int
    text: str
    extractor: str
    key: str = ""
    superseded_by: int | None = None  # the seq of the row that says it anew


@dataclass(frozen=True, slots=True)
class Anchor:
    """A raw excerpt of a row of high value, at most 220 characters (ANC-1, ANC-3)."""

    seq: int
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Cleared:
    """Kind "clear" (layer 1): results of these RESULT rows show as `[cleared ref=r<seq>]`; `plain`: as `[cleared]`."""

    seqs: tuple[int, ...]
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Folded:
    """Kind "fold" (layer 2): texts of these rows longer than `least` characters show as head, mark and tail (CMP-5)."""

    seqs: tuple[int, ...]
    least: int = 2_400
    head: int = 900
    tail: int = 500


@dataclass(frozen=True, slots=True)
class Clipped:
    """Kind "clip" (emergency guard): every text of these rows is cut to `chars` characters, with a mark."""

    seqs: tuple[int, ...]
    chars: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Kind "summary" (layers 3 and 5, and the strategies): rows with seq < `Checkpoint.until` show as one head.

    `words` are the USER rows behind the cut whose texts the head keeps verbatim, clipped to `clip` (first, last)
    characters; an ASSISTANT row among them, without calls, stays raw behind the head (CMP-35). `text` is "" where the
    strategy has no summary. `layout` "layers": facts and summary are messages of
    their own. Token counts are estimates of the whole request.
    """

    text: str
    profile: Profile
    layout: Layout = "one"
    facts: tuple[Fact, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    words: tuple[int, ...] = ()
    clip: tuple[int, int] = (300, 300)
    state: str = ""
    archive: str = ""
    keywords: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    model: str = ""
    topic: str = ""
    chunks: int = 1
    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class Dropped:
    """Kind "drop" (emergency guard): rows with Checkpoint.after < seq < Checkpoint.until are not shown (CMP-25)."""

    reason: str = "overflow"


Body = Cleared | Folded | Clipped | Summary | Dropped
_KINDS: Mapping[str, type[Body]] = {
    "clear": Cleared,
    "fold": Folded,
    "clip": Clipped,
    "summary": Summary,
    "drop": Dropped,
}
_NAMES: Mapping[type[Body], Any] = {body: name for name, body in _KINDS.items()}


def checkpoint(body: Body, *, after: int = 0, until: int) -> Checkpoint:
    """A checkpoint that says `body`. `after` and `until` bound the rows that it is about, both left out."""
    return Checkpoint(_NAMES[type(body)], after, until, _plain(asdict(body)))


def body_of(made: Checkpoint) -> Body | None:
    """What a checkpoint says; None for "undo", which has no body. Unknown keys of a newer version are left aside."""
    kind = _KINDS.get(made.kind)
    if kind is None:
        return None
    known = {f.name for f in fields(kind)}
    values = {k: _tuple(v) for k, v in made.body.items() if k in known}
    if kind is Summary:
        values["facts"] = tuple(Fact(**f) for f in values.get("facts", ()))
        values["anchors"] = tuple(Anchor(**a) for a in values.get("anchors", ()))
    return kind(**values)


def row_ref(seq: int) -> str:
    """The reference of a row."""
    return f"r{seq}"


def range_ref(first: int, last: int) -> str:
    """The reference of the rows `first` to `last`, both included."""
    return f"r{first}-r{last}"


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """The form that JSON gives back, so that a checkpoint is equal before and after it was stored."""
    return {k: _listed(v) for k, v in values.items()}


def _listed(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_listed(v) for v in value]
    return _plain(value) if isinstance(value, dict) else value
