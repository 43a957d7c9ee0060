"""Bad weather: faults of a twin at random, each kind with a probability of its own, the same for the same seed.

Where `Fault` rules spoil the requests that a test has in mind, weather spoils any. The nth request of a kind meets the
same fate in each run with its seed, whatever time it takes.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.twins.twin import Call, Fault

# By the name of a kind: the fields of the Fault that it is.
Kinds = Mapping[str, Mapping[str, Any]]


@dataclass
class Weather:
    """What `Twin.weather` asks for each request that no rule of the test takes.

    Attributes:
        seed: decides everything.
        rate: probability of each kind.
        kinds: (what "METHOD /path" must match, kinds) in order; the first that matches is drawn from.
        struck: told of each spoilt request, with the name of the kind.
        counts: how often each kind has struck.
        calm: true stops it.
    """

    seed: int
    rate: float
    kinds: Sequence[tuple[str, Kinds]]
    struck: Callable[["Call", str], None] = lambda _call, _kind: None
    counts: Counter[str] = field(default_factory=Counter)
    calm: bool = False

    def __post_init__(self) -> None:
        self._dice = [random.Random(f"{self.seed} {match}") for match, _ in self.kinds]

    def strikes(self, call: "Call") -> "Fault | None":
        """The fault that a request meets; None mostly."""
        from tests.twins.twin import Fault

        line = f"{call.method} {call.path}"
        for dice, (match, kinds) in zip(self._dice, self.kinds, strict=True):
            if re.search(match, line):
                drawn = (
                    int(dice.random() / self.rate) if self.rate and not self.calm else len(kinds)
                )
                if drawn >= len(kinds):
                    return None
                name, rule = list(kinds.items())[drawn]
                self.counts[name] += 1
                self.struck(call, name)
                return Fault(match, **rule)
        return None
