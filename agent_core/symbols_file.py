"""The tables of symbols as files: the one that ships, and the one that an operator has fetched from data sources.

The fetched one (`swarmgate symbols refresh`) only adds to ours. It holds thousands of names, and among them words that
people use for other things (NOW, ALL, 太阳能, 好想你), so in running text only those of its names count that can hardly
be anything else; a code or name that is asked for by itself is found in any case.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

COLUMNS = ("id", "market", "currency", "name", "name_zh", "source")
_NEEDED = COLUMNS[:-1]
_SPOKEN = re.compile(r"[\u3400-\u9fff]{4,}|\S+ \S.{4,}")


def shipped() -> Iterator[dict[str, str]]:
    """The rows that ship, with their `aliases`."""
    text = files("agent_core").joinpath("symbols.csv").read_text(encoding="utf-8")
    return csv.DictReader(io.StringIO(text))


def fetched(path: Path) -> list[dict[str, str]]:
    """The rows of a fetched table; without the file none. Raises ValueError with the line of a row that is none."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = []
        for row in reader:
            if None in row or any(not row.get(name) for name in _NEEDED):
                raise ValueError(f"{path} line {reader.line_num}: no symbol; fetch it anew")
            rows.append({name: row.get(name) or "" for name in COLUMNS})
    return rows


def write(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    """Write a fetched table, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([row[name] for name in COLUMNS] for row in rows)
    beside = path.with_name(path.name + ".new")
    beside.write_text(text.getvalue(), encoding="utf-8")
    beside.replace(path)


def is_spoken(name: str) -> bool:
    """Whether a fetched name counts in running text: four Han characters, or several Latin words."""
    return _SPOKEN.fullmatch(name) is not None
