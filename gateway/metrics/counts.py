"""Sums and histograms in plain dictionaries: what counting costs on the path of a message, and all that it costs.

The client library is loaded by the first scrape only (exposition.py).
"""

from bisect import bisect_left
from dataclasses import dataclass, field

Labels = tuple[str, ...]


@dataclass(slots=True)
class Sums:
    """A sum for each tuple of label values; it never falls."""

    values: dict[Labels, float] = field(default_factory=dict)

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Add to one sum."""
        self.values[labels] = self.values.get(labels, 0.0) + by


@dataclass(slots=True)
class Spread:
    """How many observations fell at or below each bound. `counts` has one entry more, for what lies above them all."""

    counts: list[int]
    total: float = 0.0


@dataclass(slots=True)
class Histograms:
    """A histogram for each tuple of label values. `bounds` ascend."""

    bounds: tuple[float, ...]
    values: dict[Labels, Spread] = field(default_factory=dict)

    def observe(self, value: float, *labels: str) -> None:
        """Count one observation."""
        spread = self.values.get(labels)
        if spread is None:
            spread = self.values[labels] = Spread([0] * (len(self.bounds) + 1))
        spread.counts[bisect_left(self.bounds, value)] += 1
        spread.total += value
