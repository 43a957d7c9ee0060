"""What requests say of the situation: once, until it changes (ASM-9, ASM-13)."""

from agent_core.assembly.situations import told_once
from agent_core.types import Context, Message, Text, assistant, user

ALICE = "author: alice (telegram:1)"


def said(*lines: str, text: str = "hello") -> Message:
    return Message("user", (Context("\n".join(lines)), Text(text)))


def contexts(messages: tuple[Message, ...]) -> list[str]:
    """What each user message says beside the words, "" for nothing."""
    return [
        "|".join(b.text.replace("\n", "|") for b in m.blocks if isinstance(b, Context))
        for m in messages
        if m.role == "user"
    ]


def test_what_was_said_is_not_said_again() -> None:
    first = said("now: 10:00 UTC", "place: private chat", "language: en")
    later = said("now: 10:01 UTC", "place: private chat", "language: en")
    sent = told_once((first, assistant("hi"), first, assistant("hi"), later))
    whole = "now: 10:00 UTC|place: private chat|language: en"
    assert contexts(sent) == [whole, "", "now: 10:01 UTC"]
    assert [m.text for m in sent] == ["hello", "hi", "hello", "hi", "hello"]


def test_a_change_comes_with_its_clock() -> None:
    english = said("now: 10:00 UTC", "place: private chat", "language: en")
    chinese = said("now: 10:00 UTC", "place: private chat", "language: zh")
    sent = told_once((english, chinese, chinese, english))
    assert contexts(sent)[1:] == ["now: 10:00 UTC|language: zh", "", "now: 10:00 UTC|language: en"]


def test_who_speaks_in_a_group_is_always_said() -> None:
    alice = said("now: 10:00 UTC", "place: group chat", "language: en", ALICE)
    bob = said("now: 10:00 UTC", "place: group chat", "language: en", "author: bob (telegram:2)")
    sent = told_once((alice, alice, bob, alice))
    assert contexts(sent)[1:] == [ALICE, "author: bob (telegram:2)", ALICE]


def test_other_context_stays_and_no_message_becomes_empty() -> None:
    situation = Context("now: 10:00 UTC")
    recalled = Message("user", (situation, Context("a memory", "recall"), Text("hi")))
    bare = Message("user", (situation,))
    plain = user("now: 10:00 UTC")
    assert contexts(told_once((recalled, recalled, bare)))[1:] == ["a memory", "now: 10:00 UTC"]
    assert told_once((recalled, plain))[1] is plain


def test_what_was_sent_stays_a_prefix() -> None:
    """A new message changes nothing before it."""
    messages = [
        said(
            f"now: 10:0{n // 3} UTC", "place: private chat", f"language: {'zh' if n % 5 else 'en'}"
        )
        for n in range(12)
    ]
    whole = told_once(messages)
    assert all(told_once(messages[:n]) == whole[:n] for n in range(len(messages)))
