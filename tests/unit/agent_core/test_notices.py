"""What the runtime says when the model has no last word (CHN-6)."""

import pytest

from agent_core import errors
from agent_core.errors import (
    ModelAuthRefused,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    SwarmgateError,
)
from agent_core.runtime.notices import code_of, notice

FAILURES = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, ModelError) and kind is not ModelError
]


def made(kind: type[ModelError]) -> ModelError:
    match kind.__name__:
        case "ModelTimeout":
            return ModelTimeout("p", "idle", 3.0)
        case "ModelRateLimited":
            return ModelRateLimited("p", retry_after=3.0)
        case _:
            return kind("p", "sk-secret")


@pytest.mark.parametrize("kind", FAILURES)
def test_each_failure_of_a_model_has_its_own_words(kind: type[ModelError]) -> None:
    code = code_of(made(kind))
    assert code == kind.__name__
    assert notice(code, "en") != notice("internal", "en")
    assert "sk-secret" not in notice(code, "en")


def test_a_more_special_failure_is_named_by_its_nearest_kind() -> None:
    class OutOfCredit(ModelAuthRefused):
        """A kind of tomorrow."""

    assert code_of(OutOfCredit("p")) == "ModelAuthRefused"


@pytest.mark.parametrize("error", [RuntimeError("boom"), ModelError("p"), SwarmgateError()])
def test_anything_else_is_internal(error: Exception) -> None:
    assert code_of(error) == "internal"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_id_under_which_the_log_has_the_details_is_shown(language: str) -> None:
    text = notice("internal", language, "ab12cd")  # type: ignore[arg-type]
    assert "ab12cd" in text
    assert "\n" not in text


def test_both_languages_say_it() -> None:
    assert notice("stopped", "en") == "Stopped."
    assert any("\u4e00" <= c <= "\u9fff" for c in notice("stopped", "zh"))
