"""Bodies near the real formats: recorded ones with some places changed, and their bytes cut, doubled and turned."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, TypeVar

from hypothesis import strategies as st

Json = Any
T = TypeVar("T")
Path = tuple[str | int, ...]

DEEP: Json = []
for _ in range(40):
    DEEP = [DEEP]
_TEXTS = (
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "\udfff\ud800 turned",
    "/memory show 1",
    "<@U0BOT>",
    "@swarm_bot",
    "'; drop table inbox; --",
    "%s %n {0} ${x}",
    "../../etc/passwd",
    "\u202egnp.exe",
    "👨‍👩‍👧" * 30,
    "x" * 5_000,
    "-1",
    "1e309",
    "٣",
)
_NUMBERS = (0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**30, 10**400, 0.5, -0.0, 1e308, float("inf"))


class Recorded(list[T]):
    """What is mutated. A failure prints what came of it, not all of it."""

    def __repr__(self) -> str:
        return f"Recorded({len(self)})"


JUNK = st.one_of(
    st.sampled_from([None, True, False, [], {}, [None], {"": ""}, [[]], DEEP]),
    st.sampled_from(_NUMBERS),
    st.just(float("nan")),
    st.sampled_from(_TEXTS),
    st.text(max_size=20),
    st.integers(),
)


def places(value: Json, here: Path = ()) -> Iterator[Path]:
    """Every place in a JSON value but the root."""
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*here, key)
            yield from places(one, (*here, key))


def at(value: Json, path: Path) -> Json:
    """What stands there; None where nothing does."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


@st.composite
def mutated(draw: st.DrawFn, recorded: Recorded[Json], *, most: int = 3) -> Json:
    """One of the recorded values with up to `most` places changed, taken out, or filled from another place."""
    value = deepcopy(draw(st.sampled_from(recorded)))
    for _ in range(draw(st.integers(0, most))):
        found = list(places(value))
        if not found:
            break
        *above, key = draw(st.sampled_from(found))
        holder = at(value, tuple(above))
        way = draw(st.integers(0, 5))
        if way == 0:
            del holder[key]
        elif way == 1:
            holder[key] = deepcopy(at(value, draw(st.sampled_from(found))))
        else:
            holder[key] = deepcopy(draw(JUNK))
    return value


@st.composite
def damaged(draw: st.DrawFn, bodies: Recorded[bytes]) -> bytes:
    """The bytes of a recorded body, cut off, doubled, turned or nested."""
    body = bytearray(draw(st.sampled_from(bodies)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(body)))
        way = draw(st.integers(0, 5))
        if way == 0:
            del body[place:]
        elif way == 1:
            body[place:place] = draw(st.binary(max_size=8))
        elif way == 2:
            del body[place : place + draw(st.integers(1, 12))]
        elif way == 3:
            body[place:place] = body[: draw(st.integers(0, 40))]
        elif way == 4:
            body[place:place] = draw(st.sampled_from([b"[", b'{"a":', b"9"])) * 1_500
        elif place < len(body):
            body[place] ^= 1 << draw(st.integers(0, 7))
    return bytes(body)


def dumped(value: Json) -> bytes:
    """As a platform would send it; half a surrogate pair travels as its escape."""
    return json.dumps(value).encode()
