"""What all charts share: sizes, colours in two themes, and the lock under which one chart is drawn at a time."""

import threading
from dataclasses import dataclass
from typing import Literal

ThemeName = Literal["light", "dark"]
DENSE = 400  # bars; beyond, single bars are thinner than two pixels
EDGE = 0.06  # share of the width in which a centred label would be cut off
DPI = 200
WIDTH, HEIGHT, PANE = 6.4, 3.6, 1.1  # inches
# Points. A phone shows the picture half as wide as it is: these stay readable there.
TITLE, WORDS, TICKS = 12.0, 9.0, 9.5

DRAWING = threading.Lock()  # matplotlib's font objects are not safe in threads


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a chart. `lines` are told apart by people who see no red or green, the first three at least."""

    paper: str
    ink: str
    faint: str
    grid: str
    price: str
    fast: str
    slow: str
    up: str
    down: str
    lines: tuple[str, ...]


THEMES = {
    "light": Theme(
        paper="#ffffff", ink="#1f2933", faint="#616e7c", grid="#e4e7eb",
        price="#1d4ed8", fast="#d97706", slow="#7c3aed", up="#15803d", down="#c81e1e",
        lines=("#1d4ed8", "#d97706", "#7c3aed", "#0f766e", "#be185d", "#57534e"),
    ),
    "dark": Theme(
        paper="#12161c", ink="#e6e9ed", faint="#9aa5b1", grid="#2a323c",
        price="#6ea8fe", fast="#fbbf24", slow="#c4a1ff", up="#4ade80", down="#f87171",
        lines=("#6ea8fe", "#fbbf24", "#c4a1ff", "#2dd4bf", "#f472b6", "#d6d3d1"),
    ),
}  # fmt: skip
