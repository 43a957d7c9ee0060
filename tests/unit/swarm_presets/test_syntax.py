"""YAML 1.2's core schema, and text that nobody should be able to break the loader with."""

from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swarm_presets import nodes
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
    ],
    ids=["deep", "too deep", "large"],
)
def test_what_no_preset_needs_is_refused(text: str) -> None:
    assert read(text) == (None, ["SW001"])


def test_a_small_file_never_unfolds_into_a_huge_one() -> None:
    rows = [f"{b}: &{b} [{','.join(['*' + a] * 10)}]" for a, b in pairwise("abcdefgh")]
    value, codes = read("a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "\n".join(rows))
    assert set(codes) == {"SW001"}
    assert len(codes) <= 10  # the same mistake is not told a hundred times
    assert len(str(value)) < 300


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


def shape(node: yaml.Node | None) -> object:
    """Values, styles, and the places of what is written; those of what is left out differ by a column."""
    if isinstance(node, yaml.MappingNode):
        return [(shape(key), shape(value)) for key, value in node.value]
    if isinstance(node, yaml.SequenceNode):
        return [shape(item) for item in node.value]
    if isinstance(node, yaml.ScalarNode) and node.value:
        return node.value, node.style or None, node.start_mark.line, node.start_mark.column
    return None


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="there is one way here")
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_where_both_ways_read_a_text_they_read_the_same(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(text)))
        text = text[:place] + data.draw(st.sampled_from(PIECES)) + text[place + 3 :]
    text = text.replace("\t", " ")
    try:
        root, shared = nodes.fast(text)
        other, others = nodes.slow(text)
    except yaml.YAMLError:
        return  # what libyaml refuses is read again in Python
    assert len(shared) == len(others)
    assert shape(root) == shape(other)
