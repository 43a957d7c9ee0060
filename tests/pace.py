"""What a piece of work costs, whatever the speed of the machine: beside a fixed piece of Python in the same moment.

The same machine may be half as fast an hour later, so that a bound in seconds is either loose or red by chance.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable

# What `yardstick` takes on the machine whose seconds the bounds of tests speak of.
REFERENCE_SECONDS = 0.75e-3


def yardstick() -> None:
    """A piece of what the product is made of: JSON, words, dictionaries."""
    rows = [{"name": f"row {n}", "value": n * 1.5, "text": "five words " * 5} for n in range(200)]
    words = (
        word for row in json.loads(json.dumps(rows)) for word in re.findall(r"\w+", row["text"])
    )
    Counter(words).most_common()


def cpu_seconds(work: Callable[[], object], rounds: int = 5) -> float:
    """CPU seconds of `work` on the machine of reference: the least of some rounds over the least of the yardstick."""
    pairs = [(_measured(work), _measured(yardstick)) for _ in range(rounds)]
    taken, yards = zip(*pairs, strict=True)
    return min(taken) / min(yards) * REFERENCE_SECONDS


def _measured(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
