"""Every shipped prompt says what the labels of credibility oblige to (CRD-2)."""

from importlib.resources import files

import pytest

from agent_core.book import LEVELS

PROMPTS = sorted(
    (p for p in (files("swarm_presets") / "prompts").iterdir() if p.name.endswith(".md")),
    key=lambda p: p.name,
)


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda p: p.name)
def test_it_names_all_four_levels(prompt) -> None:  # type: ignore[no-untyped-def]
    text = prompt.read_text("utf-8").lower()
    for level in LEVELS:
        assert f"{level}" in text
    assert "never the sole ground" in text
