"""The quick look at a contract's schema never passes what the judge of all schemas refuses."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from swarm_presets.plain_schema import TYPES, is_plain

KEYS = [
    *(
        "type",
        "properties",
        "items",
        "additionalProperties",
        "required",
        "enum",
        "title",
        "description",
    ),
    *("minimum", "maxItems", "minLength", "exclusiveMaximum", "pattern", "$ref", "x"),
]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([*TYPES, "a", ""]),
    st.lists(st.sampled_from([*TYPES, "a"]), max_size=3),
    st.lists(st.integers(), max_size=2),
)
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4) | VALUES,
    lambda inner: (
        st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
        | st.fixed_dictionaries(
            {"properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2)}
        )
    ),
    max_leaves=8,
)


@given(SCHEMAS)
def test_what_is_plain_is_valid(schema: Any) -> None:
    judge = Draft202012Validator(Draft202012Validator.META_SCHEMA)
    if is_plain(schema):
        assert list(judge.iter_errors(schema)) == []


def test_ordinary_contracts_are_plain() -> None:
    figures = {
        "type": "array",
        "items": {"type": "object", "properties": {"value": {"type": ["number", "null"]}}},
    }
    assert is_plain({"type": "object", "properties": {"figures": figures}, "required": ["figures"]})
    assert not is_plain({"type": "object", "properties": {"a": {"$ref": "#/x"}}})
