"""YAML 1.2's core schema, and text that nobody should be able to break the loader with."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swarm_presets.loader import load_folder
from swarm_presets.positions import Source, at, plain
from swarm_presets.problems import render
from swarm_presets.syntax import MAX_CHARACTERS, parse
from tests.unit.swarm_presets.catalogue import FIXTURES, TOOLS


def read(text: str) -> tuple[object, list[str]]:
    tree, problems = parse(text, Source("x.yaml", tuple(text.split("\n"))))
    return (plain(tree) if tree else None), [p.code for p in problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("yes", "yes"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("012", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("-3", -3),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("2012-01-01", "2012-01-01"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("'7'", "7"),
        ('"null"', "null"),
        ("<<", "<<"),
        ("=", "="),
    ],
)
def test_scalars_mean_what_yaml_1_2_says(text: str, value: object) -> None:
    assert read(f"key: {text}") == ({"key": value}, [])


def test_positions_count_from_one_in_characters() -> None:
    text = "name: 桌\nlist: [中文, chart]\n"
    tree, _ = parse(text, Source("x.yaml", tuple(text.split("\n"))))
    assert tree is not None
    node = at(tree, "list", 1)
    assert node is not None
    assert (node.span.line, node.span.column, node.span.length) == (2, 12, 5)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 5_000,
        "a: " + "[" * 100 + "]" * 100,
        "x" * (MAX_CHARACTERS + 1),
        "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
        "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
        "e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
    ],
    ids=["deep", "too deep", "large", "unfolding"],
)
def test_what_no_preset_needs_is_refused(text: str) -> None:
    assert read(text) == (None, ["SW001"])


SEEDS = [file.read_text("utf-8") for file in sorted((FIXTURES / "broken").glob("*.yaml"))]
PIECES = [*"-:{}[]'\"#\t\n中", "  ", "- ", ": ", "null", "&a ", "*a", "!x ", "9" * 50, "|\n", "? "]


@given(data=st.data())
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_damage_to_a_file_makes_the_loader_raise(tmp_path: Path, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 12))
        text = text[:place] + data.draw(st.sampled_from(PIECES)) + text[place + cut :]
    file = tmp_path / "desk.yaml"
    file.write_text(text, "utf-8")
    loaded = load_folder(file, tools=TOOLS, shipped=False)
    for problem in loaded.problems:
        assert 1 <= problem.line <= text.count("\n") + 1
    assert render(loaded.problems).count("error[") == len(loaded.problems)


@given(text=st.text(max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    tree, codes = read(text)
    assert tree is not None or codes
