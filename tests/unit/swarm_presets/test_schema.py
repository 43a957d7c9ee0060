"""The typed models and the JSON Schema made from them accept and reject the same files."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from swarm_presets.positions import Source, plain
from swarm_presets.scalars import seconds
from swarm_presets.schema import PresetFile, schema_json
from swarm_presets.syntax import parse
from tests.unit.swarm_presets.catalogue import FIXTURES
from tests.unit.swarm_presets.judge import accepts

SCHEMA = schema_json()
FILES = sorted(FIXTURES.rglob("*.yaml"))


def models_accept(value: Any) -> bool:
    try:
        PresetFile.model_validate(value)
    except ValidationError:
        return False
    return True


def read(file: Path) -> Any:
    text = file.read_text("utf-8")
    tree, _ = parse(text, Source(file.name, tuple(text.split("\n"))))
    return plain(tree) if tree else None


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FIXTURES)))
def test_models_and_schema_agree_on_each_file(file: Path) -> None:
    value = read(file)
    assert models_accept(value) == accepts(SCHEMA, value, SCHEMA)


FULL: dict[str, Any] = {
    "version": 1,
    "name": "desk",
    "title": "A desk",
    "description": "Words.",
    "extends": ["base"],
    "abstract": False,
    "models": {"fast": {"use": "auto", "effort": "low"}},
    "defaults": {"model": "fast", "limits": {"time": "3m"}, "concurrency": 2},
    "supervisor": {"role": "Head", "prompt": {"file": "a.md"}, "tools": {"add": ["chart"]}},
    "agents": {
        "research": {
            "role": "Researcher",
            "description": "Looks.",
            "prompt": "Look.",
            "tools": ["chart"],
            "limits": {
                "time": "90s",
                "tool_rounds": 8,
                "input_tokens": "20k",
                "output_tokens": 4096,
                "output_chars": 2500,
                "usd": 0.1,
            },
            "context": {"from_supervisor": "brief"},
            "policy": {
                "error": {
                    "next_action": "use_partial",
                    "retryable": True,
                    "max_retries": 1,
                    "backoff": "0s",
                    "fallback_tools": ["chart"],
                    "delegate_to": "other",
                    "say": "Words.",
                }
            },
        }
    },
    "delegation": {"max_parallel": 3, "max_depth": 1, "max_delegations": 12},
}
VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        2,
        8,
        -1,
        10**9,
        0.5,
        0.0,
        "",
        " ",
        "x",
        "X",
        "no",
        "1",
        "a b",
        "中文",
    ),
    *("90s", "4m", "0s", "0.0m", "1.5h", "4min", "-1s", "20k", "1.5M", "0k", "k", "20 k"),
    *("auto", "a/b", "low", "brief", "use_result", "x" * 50, "x" * 600, "4m\n", "desk\n"),
    *([], [1], ["chart"], ["a b"], [None], {}, {"file": "a"}, {"file": ""}, {"add": ["x"]}),
    *({"x": {}}, {"x": None}, {"X": {}}, {"time": "1s"}, {"error": {}}, {"use": "auto"}),
]


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document, and one new key in each map."""
    found = [here] if here else []
    if isinstance(value, dict):
        found += [(*here, "new")]
        for key, inner in value.items():
            found += paths(inner, (*here, key))
    if isinstance(value, list):
        for index, inner in enumerate(value):
            found += paths(inner, (*here, index))
    return found


def put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    node = changed
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = copy.deepcopy(value)
    return changed


def test_a_full_document_is_accepted_by_both() -> None:
    assert models_accept(FULL)
    assert accepts(SCHEMA, FULL, SCHEMA)


@given(path=st.sampled_from(paths(FULL)), value=st.sampled_from(VALUES))
@settings(max_examples=300, deadline=None)
def test_models_and_schema_agree_wherever_a_value_changes(path: Any, value: Any) -> None:
    changed = put(FULL, path, value)
    assert models_accept(changed) == accepts(SCHEMA, changed, SCHEMA), (path, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("90s", 90.0), ("4m", 240.0), ("500ms", 0.5), ("1.5h", 5400.0), ("2d", 172800.0)],
)
def test_durations_are_seconds(text: str, value: float) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["90", "s", "4 m", "4min", "-1s", "1e3s", ""])
def test_what_is_no_duration_has_no_seconds(text: str) -> None:
    with pytest.raises(ValueError, match=r"^.*$"):
        seconds(text)


@pytest.mark.parametrize(
    ("written", "tokens"), [("20k", 20_000), ("1.5M", 1_500_000), ("0.5k", 500), (700, 700)]
)
def test_tokens_may_be_written_short(written: object, tokens: int) -> None:
    file = PresetFile.model_validate(
        put(FULL, ("agents", "research", "limits", "input_tokens"), written)
    )
    assert file.agents is not None
    agent = file.agents["research"]
    assert agent is not None
    assert agent.limits is not None
    assert agent.limits.input_tokens == tokens


def test_a_text_is_never_a_number_and_true_is_no_version() -> None:
    assert not models_accept(FULL | {"version": "1"})
    assert not models_accept(FULL | {"version": True})
