"""Swapping sets of presets: what is wrong keeps its last good version, what is gone goes."""

from pathlib import Path

from agent_core.tools.registry import Registry
from gateway.presets.team_house import TeamHouse, acting
from gateway.toolbox import toolbox
from swarm_presets.loader import PresetSet, load_folder

TOOLS = frozenset({"chart", "place_order"})


def desk(name: str, role: str = "Head") -> str:
    return f"version: 1\nname: {name}\nsupervisor: {{role: {role}, tools: [chart]}}\n"


def read(folder: Path, **texts: str) -> PresetSet:
    for file in folder.glob("*.yaml"):
        file.unlink()
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return load_folder(folder, tools=TOOLS, shipped=False)


def test_only_what_is_wrong_stays_as_it_was(tmp_path: Path) -> None:
    house = TeamHouse(read(tmp_path, a=desk("a"), b=desk("b"), c=desk("c")), "a")
    swap = house.swap(read(tmp_path, a=desk("a"), b=desk("b", "[x]"), d=desk("d")))
    assert (swap.changed, swap.gone, swap.kept) == (("d",), ("c",), ("b",))
    assert [p.file for p in swap.problems] == ["b.yaml"]
    assert [team.name for team in house.all()] == ["a", "b", "d"]
    again = house.swap(read(tmp_path, a=desk("a"), b=desk("b", "[x]"), d=desk("d")))
    assert not again  # nothing new to tell
    assert again.kept == ("b",)


def test_a_wrong_base_keeps_its_children(tmp_path: Path) -> None:
    child = "version: 1\nname: child\nextends: base\n"
    house = TeamHouse(read(tmp_path, base=desk("base"), child=child), "child")
    swap = house.swap(read(tmp_path, base=desk("base", "[x]"), child=child))
    assert swap.kept == ("base", "child")
    assert house.find("child") is not None


def test_a_file_that_lost_its_name_keeps_the_preset_that_it_was(tmp_path: Path) -> None:
    house = TeamHouse(read(tmp_path, file=desk("a"), other=desk("b")), "b")
    swap = house.swap(read(tmp_path, file="{", other=desk("b")))
    assert swap.kept == ("a",)
    assert house.find("a") is not None


def test_the_default_is_never_taken_away(tmp_path: Path) -> None:
    house = TeamHouse(read(tmp_path, a=desk("a")), "a")
    house.swap(read(tmp_path))
    assert house.fallback().name == "a"


def test_replaced_teams_are_found_by_their_content(tmp_path: Path) -> None:
    house = TeamHouse(read(tmp_path, a=desk("a")), "a")
    first = house.fallback()
    house.swap(read(tmp_path, a=desk("a", "Boss")))
    assert house.by_digest(first.digest) is first
    assert house.by_digest(house.fallback().digest) is house.fallback()
    assert house.by_digest("0" * 64) is None


def test_tools_that_ask_by_themselves_or_stay_with_the_person_need_no_approval_rule() -> None:
    known = {spec.name for spec in toolbox() if spec.effect != "none"}
    assert "ask_user" in known
    assert "ask_user" not in acting(toolbox())
    assert acting(Registry()) == frozenset()
