"""What the READMEs show holds: the preset runs as it stands there, the tables are those of the code, links lead
somewhere, and the English and the Chinese one say the same (8 of 8, item 7)."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from agent_core.models.replay import Cassette
from gateway.presets.evals import Runner
from gateway.presets.team_house import load_presets
from gateway.settings.settings import Settings
from gateway.toolbox import Equipment, toolbox
from swarm_presets.evals import cases
from swarm_presets.problems import render
from tests.readme_text import CHINESE, CONTRIBUTING, ENGLISH, ROOT, Readme
from tests.tool_table import shipped, table, table_zh, written

NAME = "compare-stocks"
TROUBLE = ROOT / "deploy" / "troubleshooting.md"
either = pytest.mark.parametrize("file", [ENGLISH, CHINESE], ids=["en", "zh"])
every_page = pytest.mark.parametrize("file", [ENGLISH, CHINESE, TROUBLE], ids=lambda f: f.stem)


async def test_the_preset_of_the_readme_runs_as_it_is_shown(tmp_path: Path) -> None:
    [text] = [b.text for b in Readme(ENGLISH).blocks if f"name: {NAME}\n" in b.text]
    (tmp_path / f"{NAME}.yaml").write_text(text, "utf-8")
    own = {"presets_dir": tmp_path, "data_dir": tmp_path / "data", "models": {"default": "demo"}}
    settings = Settings.model_validate(own)
    presets = load_presets(settings, toolbox(Equipment()))
    assert render(presets.found[NAME]) == ""
    [case] = cases(presets.trees[NAME])
    verdict = await Runner(settings, NAME, Cassette()).run(case)
    assert verdict.passed, verdict.shortfalls


def test_the_tables_of_tools_are_those_of_the_code() -> None:
    """MCP-2: `make docs` writes them anew."""
    tools = shipped()
    for file, made in ((ENGLISH, table(tools)), (CHINESE, table_zh(tools))):
        text = file.read_text("utf-8")
        assert written(text, made) == text, f"make docs writes {file.name} anew"


@either
def test_every_shipped_preset_is_told_of(file: Path) -> None:
    settings = Settings.model_validate({"presets_dir": "nowhere", "models": {"default": "demo"}})
    names = load_presets(settings, toolbox(Equipment())).trees
    told = {name for cell in Readme(file).entries for name in cell}
    assert set(names) - told == set()


def test_both_readmes_have_the_same_code_in_the_same_order() -> None:
    english, chinese = (
        [(b.language, b.step, b.bare) for b in Readme(file).blocks] for file in (ENGLISH, CHINESE)
    )
    assert chinese == english
    followed = [step for _, step, _ in english if step]
    assert len(set(followed)) == len(followed) > 5


def test_both_readmes_have_the_same_headings_links_and_entries_of_tables() -> None:
    english, chinese = Readme(ENGLISH), Readme(CHINESE)
    assert chinese.levels == english.levels
    assert sorted(map(plain, chinese.links)) == sorted(map(plain, english.links))
    assert chinese.entries == english.entries
    assert ("alert",) in english.entries
    assert CHINESE.name in english.links
    assert ENGLISH.name in chinese.links


@every_page
def test_every_link_of_the_repository_leads_somewhere(file: Path) -> None:
    local = [link for link in Readme(file).links if not link.startswith("https://")]
    assert len(local) > 2
    for link in local:
        name, _, anchor = unquote(link).partition("#")
        target = file.parent / name if name else file
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_troubleshooting_fits_a_screen_and_is_named_by_symptom() -> None:
    """MSC-12, MSC-13: the sections to look at after a compaction, and to look at the request before a prompt."""
    text = TROUBLE.read_text("utf-8")
    assert len(text.splitlines()) < 40
    assert "Resolved Questions" in text
    assert "Pending User Asks" in text
    assert text.index("`/why`") < text.index("| symptom |")


def plain(link: str) -> str:
    """A link without its language: the other README, a picture in Chinese, a heading on the same page."""
    return "#" if link.startswith("#") else link.replace(".zh-CN", "")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}


def test_every_change_of_a_recipe_has_its_place_in_the_code() -> None:
    """A slow test follows the recipes to their end; here it is seen at once when code has moved away from one."""
    diffs = [block for block in Readme(CONTRIBUTING).blocks if block.language == "diff"]
    assert len(diffs) > 10
    for block in diffs:
        text = (ROOT / block.file).read_text("utf-8")
        assert block.changed(text) != text
