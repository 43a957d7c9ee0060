"""Who a person is, and in which language they are answered."""

import pytest

from channels.types import Address, Author
from gateway.people.identity import language_of, person_id


def test_a_person_is_a_stable_id_and_never_a_name() -> None:
    """hermes#44729."""
    address = Address("telegram", "777", "-100", "5")
    assert person_id(address, Author("42", "alice")) == "telegram:42"
    assert person_id(address, Author("42", "somebody else")) == "telegram:42"
    assert person_id(Address("slack", "B1", "C1"), Author("T1:U2")) == "slack:T1:U2"


@pytest.mark.parametrize(
    ("words", "platform", "setting", "own", "expected"),
    [
        ("hello", None, "auto", "", "en"),
        ("分析 AAPL", "en", "auto", "", "zh"),
        ("hello there", "zh-CN", "auto", "", "en"),
        ("42", "zh-CN", "auto", "", "zh"),
        ("42", None, "auto", "", "en"),
        ("/help", "zh-hans", "auto", "", "zh"),
        ("!help", "zh-hans", "auto", "", "zh"),
        ("/help", "en", "auto", "", "en"),
        ("分析", "zh", "en", "", "en"),
        ("hello", "en", "zh", "", "zh"),
        ("hello", "en", "en", "zh", "zh"),
        ("分析", "zh", "zh", "en", "en"),
        ("", None, "auto", "", "en"),
    ],
)
def test_the_language_of_an_answer(
    words: str, platform: str | None, setting: str, own: str, expected: str
) -> None:
    assert language_of(words, platform, setting, own) == expected
