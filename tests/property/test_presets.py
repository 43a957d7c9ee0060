"""Presets: models and JSON Schema judge alike; what is inherited is merged as the guide says; seals hold."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from pydantic import ValidationError as ModelError

from swarm_presets.loader import PresetSet, load_folder
from swarm_presets.positions import Source, plain
from swarm_presets.problems import render
from swarm_presets.schema import PresetFile, schema_json
from swarm_presets.syntax import parse
from tests.property.preset_documents import FULL, VALUES, paths, put
from tests.unit.swarm_presets.catalogue import FIXTURES, TOOLS

SCHEMA = schema_json()
FILES = sorted(FIXTURES.rglob("*.yaml"))
QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _matches(validator: Any, pattern: str, value: Any, schema: Any) -> Any:
    """In JSON Schema's dialect `$` is the very end; in Python's a line break may follow."""
    del validator, schema
    if isinstance(value, str) and not re.search(pattern.replace("$", r"\Z"), value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


# YAML tells 1 from 1.0, JSON does not.
_TYPES = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, v: type(v) is int)
JUDGE = extend(Draft202012Validator, {"pattern": _matches}, type_checker=_TYPES)(SCHEMA)


def models_accept(value: Any) -> bool:
    try:
        PresetFile.model_validate(value)
    except ModelError:
        return False
    return True


def read(file: Path) -> Any:
    text = file.read_text("utf-8")
    tree, _ = parse(text, Source(file.name, tuple(text.split("\n"))))
    return plain(tree) if tree else None


def test_the_schema_is_a_json_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_a_document_with_every_key_is_accepted_by_both() -> None:
    assert models_accept(FULL)
    assert list(JUDGE.iter_errors(FULL)) == []
    assert FULL.keys() == {f.alias or name for name, f in PresetFile.model_fields.items()}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FIXTURES)))
def test_models_and_schema_agree_on_each_file(file: Path) -> None:
    value = read(file)
    assert models_accept(value) == JUDGE.is_valid(value)


@given(path=st.sampled_from(paths(FULL)), value=st.sampled_from(VALUES))
@settings(max_examples=100, deadline=None)
def test_models_and_schema_agree_wherever_a_value_changes(path: Any, value: Any) -> None:
    changed = put(FULL, path, value)
    assert models_accept(changed) == JUDGE.is_valid(changed), (path, value)


@pytest.mark.slow
@pytest.mark.timeout(300)
@given(path=st.sampled_from(paths(FULL)), values=st.lists(st.sampled_from(VALUES), min_size=2))
@settings(max_examples=1_500, deadline=None)
def test_models_and_schema_agree_on_many_changes(path: Any, values: list[Any]) -> None:
    for value in values:
        changed = put(FULL, path, value)
        assert models_accept(changed) == JUDGE.is_valid(changed), (path, value)


def load(folder: Path, **files: Any) -> PresetSet:
    """Presets written as JSON, which is YAML as well."""
    for name, body in files.items():
        whole = {"version": 1, "name": name, **body}
        (folder / f"{name}.yaml").write_text(json.dumps(whole), "utf-8")
    return load_folder(folder, tools=TOOLS, shipped=False, schema_only=True)


some_tools = st.lists(st.sampled_from(sorted(TOOLS)), unique=True)


@given(base=some_tools, add=some_tools, data=st.data())
@QUICK
def test_tools_are_the_inherited_ones_without_remove_and_with_add(
    tmp_path: Path, base: list[str], add: list[str], data: st.DataObject
) -> None:
    remove = data.draw(st.lists(st.sampled_from(base), unique=True)) if base else []
    loaded = load(
        tmp_path,
        base={"abstract": True, "supervisor": {"tools": base}},
        child={"extends": "base", "supervisor": {"tools": {"add": add, "remove": remove}}},
    )
    assert render(loaded.problems) == ""
    got = plain(loaded.trees["child"])["supervisor"]["tools"]
    kept = [tool for tool in base if tool not in remove]
    assert got == [*kept, *(tool for tool in add if tool not in kept)]


money = st.sampled_from([0.5, 1, 2, 2.5, 10])
pot = st.fixed_dictionaries(
    {"usd": money}, optional={"runs": st.integers(1, 50), "tokens": st.sampled_from(["20k", "1M"])}
)


@given(chain=st.lists(pot, min_size=2, max_size=4))
@QUICK
def test_a_sealed_pot_never_grows_down_a_chain_of_presets(
    tmp_path: Path, chain: list[dict[str, Any]]
) -> None:
    """SW305: whatever is accepted is at most what was sealed above it, in each of its bounds."""
    for file in tmp_path.glob("*.yaml"):
        file.unlink()
    bodies: dict[str, Any] = {}
    for index, body in enumerate(chain):
        bodies[f"p{index}"] = {"supervisor": {}, "budgets": {"user_day": body}}
        if index:
            bodies[f"p{index}"]["extends"] = f"p{index - 1}"
    bodies["p0"]["sealed"] = ["budgets.user_day"]
    loaded = load(tmp_path, **bodies)
    assert "p0" in loaded.trees
    assert {p.code for p in loaded.problems} <= {"SW305", "SW201"}
    shrinks = all(
        _size(later[key]) <= _size(earlier[key])
        for earlier, later in zip(_grown(chain), _grown(chain)[1:], strict=False)
        for key in earlier
    )
    assert (f"p{len(chain) - 1}" in loaded.trees) == shrinks


def _grown(chain: list[dict[str, Any]]) -> list[dict[str, Any]]:
    whole: dict[str, Any] = {}
    return [whole := {**whole, **body} for body in chain]


def _size(value: Any) -> float:
    return float({"20k": 20_000, "1M": 1_000_000}.get(value, value))


rule = st.fixed_dictionaries({"tool": st.sampled_from(["chart", "compact"])})


@given(rules=st.lists(st.lists(rule, max_size=3), min_size=2, max_size=4))
@QUICK
def test_approvals_of_parents_are_all_kept(tmp_path: Path, rules: list[list[Any]]) -> None:
    for file in tmp_path.glob("*.yaml"):
        file.unlink()
    bodies = {f"p{i}": {"abstract": True, "approvals": own} for i, own in enumerate(rules)}
    parents = list(bodies)[:-1]
    bodies[f"p{len(rules) - 1}"] |= {"extends": parents, "abstract": False, "supervisor": {}}
    loaded = load(tmp_path, **bodies)
    assert render(loaded.problems) == ""
    got = plain(loaded.trees[f"p{len(rules) - 1}"]).get("approvals", [])
    assert got == [one for own in rules for one in own]
