"""What presets cost to check: a folder of them read at a start, and again after one edit. Wall time, medians.

python tests/bench/presets.py [--presets 100] [--times 5]
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from gateway.redact import Redactor  # noqa: E402 - put on the path first
from gateway.toolbox import Equipment, toolbox  # noqa: E402
from swarm_presets.files import Reader  # noqa: E402
from swarm_presets.loader import PresetSet, load_folder  # noqa: E402

NAMES = ("trading-desk", "research-desk", "single-stock", "solo")


def fill(folder: Path, count: int) -> list[Path]:
    """So many presets, made of the shipped ones in turn, each whole by itself or over the shipped base."""
    made = []
    for number in range(count):
        name = NAMES[number % len(NAMES)]
        text = (files("swarm_presets") / "presets" / f"{name}.yaml").read_text("utf-8")
        made.append(folder / f"{number}.yaml")
        made[-1].write_text(text.replace(f"name: {name}", f"name: desk-{number}", 1), "utf-8")
    return made


def median_ms(work: Callable[[], object], times: int, before: Callable[[int], object]) -> float:
    """Milliseconds."""
    taken = []
    for number in range(times):
        before(number)
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1_000


def main() -> None:
    """Print both figures beside their bounds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--presets", type=int, default=100)
    parser.add_argument("--times", type=int, default=5)
    asked = parser.parse_args()
    tools = toolbox(Equipment()).names
    with tempfile.TemporaryDirectory() as place:
        made = fill(Path(place), asked.presets)

        def load(reader: Reader | None = None) -> PresetSet:
            return load_folder(Path(place), tools=tools, redact=Redactor().text, reader=reader)

        assert not load().broken, "the shipped presets do not hold"
        kept = Reader()
        load(kept)

        def edit(number: int) -> None:
            made[0].write_text(made[0].read_text("utf-8") + f"# edit {number}\n", "utf-8")

        first = median_ms(load, asked.times, lambda _: None)
        again = median_ms(lambda: load(kept), asked.times, edit)
    print(f"{asked.presets} presets, median of {asked.times}")
    print(f"read and checked anew   {first:7.0f} ms   (wanted: 1000)")
    print(
        f"read after one edit     {again:7.0f} ms   (wanted:  500, with 100-300 for the editor to be done)"
    )


if __name__ == "__main__":
    main()
