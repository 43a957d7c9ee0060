"""The page on security names tests that exist: a threat is held by one, not by a sentence."""

import re

from tests.architecture.sources import ROOT

PAGE = ROOT / "deploy" / "SECURITY.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_test_that_the_page_names_exists() -> None:
    named = NAMED.findall(PAGE.read_text("utf-8"))
    assert len(named) > 40
    lost = [
        f"{file}::{name}"
        for file, name in named
        if not re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)
    ]
    assert lost == []


def test_every_threat_names_a_test() -> None:
    threats = PAGE.read_text("utf-8").partition("## Threats")[2].partition("\n## ")[0]
    parts = threats.split("\n### ")[1:]
    assert len(parts) >= 9
    assert [part.splitlines()[0] for part in parts if not NAMED.search(part)] == []
