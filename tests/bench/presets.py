"""What presets cost to check: a folder of them read at a start, and again after one edit. Medians, wall and CPU time.

python tests/bench/presets.py [--presets 100] [--times 5]

Two mixes: the shipped presets in turn, and trading desks alone, which are the largest of them.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from gateway.redact import Redactor  # noqa: E402 - put on the path first
from gateway.toolbox import Equipment, toolbox  # noqa: E402
from swarm_presets.files import Reader  # noqa: E402
from swarm_presets.loader import PresetSet, load_folder  # noqa: E402

NAMES = ("trading-desk", "research-desk", "single-stock", "solo")
MIXES = {"mixed": NAMES, "desks": NAMES[:1]}


def fill(folder: Path, count: int, names: Sequence[str] = NAMES) -> list[Path]:
    """So many presets, made of these shipped ones in turn, each whole by itself or over the shipped base."""
    made = []
    for number in range(count):
        name = names[number % len(names)]
        text = (files("swarm_presets") / "presets" / f"{name}.yaml").read_text("utf-8")
        made.append(folder / f"{number}.yaml")
        made[-1].write_text(text.replace(f"name: {name}", f"name: desk-{number}", 1), "utf-8")
    return made


def median_of(work: Callable[[], object], times: int, before: Callable[[int], object]) -> str:
    """Milliseconds by the clock and of the processor, which is what counts beside other work."""
    wall, cpu = [], []
    for number in range(times):
        before(number)
        start, busy = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
    return (
        f"{statistics.median(wall) * 1_000:6.0f} ms, CPU {statistics.median(cpu) * 1_000:5.0f} ms"
    )


def main() -> None:
    """Print both figures of each mix beside their bounds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--presets", type=int, default=100)
    parser.add_argument("--times", type=int, default=5)
    asked = parser.parse_args()
    print(f"{asked.presets} presets, median of {asked.times}")
    for mix, names in MIXES.items():
        first, again = measured(asked.presets, asked.times, names)
        print(f"{mix}: read and checked anew   {first}   (wanted: 1000)")
        print(f"{mix}: read after one edit     {again}   (wanted:  500 *)")
    print("* with 100-300 ms for the editor to be done")


def measured(count: int, times: int, names: Sequence[str]) -> tuple[str, str]:
    """The times of the first reading, and of one after an edit."""
    tools = toolbox(Equipment()).names
    with tempfile.TemporaryDirectory() as place:
        made = fill(Path(place), count, names)

        def load(reader: Reader | None = None) -> PresetSet:
            return load_folder(Path(place), tools=tools, redact=Redactor().text, reader=reader)

        assert not load().broken, "the shipped presets do not hold"
        kept = Reader()
        load(kept)

        def edit(number: int) -> None:
            made[0].write_text(made[0].read_text("utf-8") + f"# edit {number}\n", "utf-8")

        first = median_of(load, times, lambda _: None)
        return first, median_of(lambda: load(kept), times, edit)


if __name__ == "__main__":
    main()
