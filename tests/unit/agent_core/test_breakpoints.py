"""Where cache marks go (PCH-5)."""

import pytest

from agent_core.assembly.breakpoints import marks


@pytest.mark.parametrize(
    ("turns", "turn", "expected"),
    [
        ([], 1, ()),
        ([1], 1, (0,)),
        ([1, 1, 2], 2, (1, 2)),
        ([1, 1, 2, 2, 2], 2, (1, 4)),
        ([2, 2, 2], 2, (2,)),
        ([1, 1], 2, (1,)),
    ],
)
def test_the_end_of_what_is_stable_and_the_end(
    turns: list[int], turn: int, expected: tuple[int, ...]
) -> None:
    assert marks(turns, turn) == expected


def test_the_stable_mark_stands_still_while_the_turn_grows() -> None:
    before = [1, 1, 1, 2, 2]
    found = [marks(before + [3] * n, 3) for n in range(1, 9)]
    assert {first for first, _ in found} == {4}
    assert all(len(entry) <= 2 for entry in found)
    assert [last for _, last in found] == list(range(5, 13))


def test_the_end_of_this_turn_is_the_stable_mark_of_the_next() -> None:
    """So that the next turn reads what this one wrote."""
    this = [1, 1, 2, 2]
    assert marks(this, 2)[-1] == marks([*this, 3], 3)[0]
