"""Scalars of presets: durations, numbers of tokens; and the JSON Schema that is shipped for editors."""

from importlib.resources import files
from typing import Any

import pytest
from pydantic import ValidationError

from swarm_presets.scalars import seconds
from swarm_presets.schema import PresetFile, schema_text

HEAD: dict[str, Any] = {"version": 1, "name": "desk"}


def models_accept(value: Any) -> bool:
    try:
        PresetFile.model_validate(value)
    except ValidationError:
        return False
    return True


def test_the_shipped_json_schema_is_the_one_of_the_models() -> None:
    """After a change of the models: `swarmgate presets schema -o swarm_presets/swarm.schema.json`."""
    assert (files("swarm_presets") / "swarm.schema.json").read_text("utf-8") == schema_text()


def test_each_shipped_preset_names_the_schema_for_editors() -> None:
    for file in (files("swarm_presets") / "presets").iterdir():
        first = file.read_text("utf-8").split("\n", 1)[0]
        assert first == "# yaml-language-server: $schema=../swarm.schema.json", file.name


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
    agents = {"research": {"limits": {"input_tokens": written}}}
    file = PresetFile.model_validate({**HEAD, "agents": agents})
    assert file.agents is not None
    agent = file.agents["research"]
    assert agent is not None
    assert agent.limits is not None
    assert agent.limits.input_tokens == tokens


def test_a_text_is_never_a_number_and_true_is_no_version() -> None:
    assert not models_accept(HEAD | {"version": "1"})
    assert not models_accept(HEAD | {"version": True})
