"""How the index of recall writes a word and a row's id, so that a score needs nothing but postings and groups.

A word begins with the number of its space, and is letters and digits only: no tokenizer splits it, no query language
reads it, and no other space has it (MEM-17, RCL-10).

An id holds, from high to low, the group, the place in the group, whether the row names a symbol, and the number of
words (255 at most).
"""

import struct
from collections.abc import Sequence

SIZE_BITS, NAMED_BITS, PLACE_BITS = 8, 1, 19
ROW_BITS = NAMED_BITS + SIZE_BITS
GROUP_BITS = PLACE_BITS + ROW_BITS
ROW_SPAN = (1 << ROW_BITS) - 1
MAX_SIZE = (1 << SIZE_BITS) - 1
NAMES = 1 << SIZE_BITS
MAX_DOCS = 256  # rows of one group; a longer session goes on in another part
NEIGHBOURS = 2

# What else is known of a row stands above the number of words around it.
QUESTION, DATED, NAMED = 1 << 15, 1 << 14, 1 << 13
FLAGS = QUESTION | DATED | NAMED
MAX_AROUND = NAMED - 1
_PLACES = (1 << PLACE_BITS) - 1


def term(space: int, word: str) -> str:
    """The word as it is stored for a space."""
    if word.isascii() and word.isalnum():
        return f"{space}w{word}"
    return f"{space}x{word.encode(errors='replace').hex()}"


def doc_id(group: int, place: int, size: int, *, named: bool) -> int:
    """The id of the row at a place (0 for the first) of a group."""
    return group_base(group) | place << ROW_BITS | NAMES * named | min(size, MAX_SIZE)


def group_base(group: int) -> int:
    """The lowest id of a group; the next group's is beyond its last."""
    return group << GROUP_BITS


def row_low(group: int, place: int) -> int:
    """The lowest id that the row at a place may have; the highest is ROW_SPAN above it."""
    return group_base(group) | place << ROW_BITS


def group_of(doc: int) -> int:
    """The group of a row."""
    return doc >> GROUP_BITS


def place_of(doc: int) -> int:
    """The place of a row in its group."""
    return doc >> ROW_BITS & _PLACES


def around(sizes: Sequence[int], flags: Sequence[int]) -> list[int]:
    """For each row: how many words it and its neighbours have, and its flags above them."""
    return [
        min(sum(sizes[max(0, at - NEIGHBOURS) : at + NEIGHBOURS + 1]), MAX_AROUND) | flags[at]
        for at in range(len(sizes))
    ]


def pairs(docs: int) -> int:
    """How many rows stand in all windows of a group together: each with itself and its neighbours."""
    return sum(min(docs, at + NEIGHBOURS + 1) - max(0, at - NEIGHBOURS) for at in range(docs))


def pack(values: Sequence[int]) -> bytes:
    """Numbers below 65,536 as bytes."""
    return struct.pack(f"<{len(values)}H", *values)


def unpack(data: bytes) -> tuple[int, ...]:
    """What `pack` wrote."""
    return struct.unpack(f"<{len(data) // 2}H", data)
