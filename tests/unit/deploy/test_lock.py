"""What production installs is pinned: every dependency, by hash, within the project's ranges (8 of 8, item 6).

Known vulnerabilities of what is pinned are looked up by `make audit`, which needs the network.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tests.architecture.sources import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCK, BUILD = (ROOT / "deploy" / f"requirements{kind}.lock" for kind in ("", "-build"))
EXTRAS = re.search(r"^EXTRAS \?= (\S+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
ENTRY = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(\[[^]]+\])?==(?P<version>[^\s;]+)( ; (?P<marker>[^\\\n]+?))?"
    r"(?P<hashes>( \\\n {4}--hash=sha256:[0-9a-f]{64})*)$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of one package, for the systems of its marker."""

    name: str
    version: str
    marker: str
    hashes: int

    @property
    def here(self) -> bool:
        return not self.marker or Marker(self.marker).evaluate()


def pins(text: str) -> list[Pin]:
    found = []
    for entry in ENTRY.finditer(text):
        name = canonicalize_name(entry["name"])
        hashes = entry["hashes"].count("--hash=")
        found.append(Pin(name, entry["version"], entry["marker"] or "", hashes))
    return found


PINS = pins(LOCK.read_text("utf-8"))


def wanted() -> Iterator[Requirement]:
    """What the project and the image's extras ask for."""
    project = PROJECT["project"]
    assert EXTRAS is not None
    lines = [line for e in EXTRAS[1].split(",") for line in project["optional-dependencies"][e]]
    return (Requirement(line) for line in (*project["dependencies"], *lines))


def unmet(requirement: Requirement, found: list[Pin]) -> str | None:
    """What is wrong with the pins of a requirement, on whatever system they are for."""
    of_it = [pin for pin in found if pin.name == canonicalize_name(requirement.name)]
    if not of_it:
        return f"{requirement} is not pinned"
    outside = [p.version for p in of_it if not requirement.specifier.contains(p.version)]
    return f"{requirement} is pinned to {', '.join(outside)}" if outside else None


def test_what_the_project_asks_for_is_pinned_within_its_ranges() -> None:
    """`make lock` pins anew what has changed in pyproject.toml."""
    assert [wrong for r in wanted() if (wrong := unmet(r, PINS))] == []
    build = pins(BUILD.read_text("utf-8"))
    asked = [Requirement(line) for line in PROJECT["build-system"]["requires"]]
    assert [wrong for r in asked if (wrong := unmet(r, build))] == []


def test_what_these_ask_for_in_turn_is_pinned_too() -> None:
    """As far as it is installed here: nothing is fetched that has no hash."""
    names = {pin.name for pin in PINS}
    asked: set[tuple[str, str]] = {(r.name, extra) for r in wanted() for extra in ("", *r.extras)}
    seen: set[tuple[str, str]] = set()
    missing = []
    while asked:
        name, extra = asked.pop()
        seen.add((name, extra))
        if canonicalize_name(name) not in names:
            missing.append(name)
        asked |= {(r.name, e) for r in _requires(name, extra) for e in ("", *r.extras)} - seen
    assert missing == []
    assert len(seen) > 60


def _requires(name: str, extra: str) -> Iterator[Requirement]:
    try:
        lines = requires(name) or ()
    except PackageNotFoundError:
        return
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


@pytest.mark.parametrize("file", [LOCK, BUILD], ids=lambda f: f.stem)
def test_a_lock_has_a_hash_for_each_file_and_names_no_place(file: object) -> None:
    text = file.read_text("utf-8")  # type: ignore[attr-defined]
    found = pins(text)
    assert [pin.name for pin in found if pin.hashes == 0] == []
    told = [line for line in text.splitlines() if not line.startswith(("#", "    --hash="))]
    assert len(told) == len(found), "lines that are no pin"
    assert "://" not in text
    here = [pin.name for pin in found if pin.here]
    assert len(here) == len(set(here)), "two versions of one package on one system"


def test_the_oldest_python_of_the_project_is_served() -> None:
    oldest = SpecifierSet(PROJECT["project"]["requires-python"])
    assert "3.11.0" in oldest
    for pin in PINS:
        others = [p for p in PINS if p.name == pin.name]
        env = {"python_version": "3.11", "python_full_version": "3.11.9"}
        if len(others) > 1:
            assert any(Marker(p.marker).evaluate(env) for p in others), pin.name


def test_a_pin_that_is_out_of_range_or_missing_is_seen() -> None:
    found = pins("a==1.0 \\\n    --hash=sha256:" + "0" * 64 + "\n")
    assert [p.hashes for p in found] == [1]
    assert unmet(Requirement("a>=0.9"), found) is None
    assert unmet(Requirement("a>=2"), found) == "a>=2 is pinned to 1.0"
    assert unmet(Requirement("b"), found) == "b is not pinned"
