"""The situation of each message, told once: what a request has said is not said again until it changes (ASM-9, ASM-13).

Each user row keeps its whole situation. In a request, a message's first block says what differs from the last one
before it, and nothing where the clock and all else are the same; who speaks in a group is always said. This depends on
nothing but the messages before, so that what was sent once stays the same to the byte.
"""

from collections.abc import Iterator, Sequence

from agent_core.types import Context, Message

CLOCK, AUTHOR = "now: ", "author: "


def told_once(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same messages, as many, without what an earlier one says of the situation."""
    return tuple(_told(messages))


def _told(messages: Sequence[Message]) -> Iterator[Message]:
    before = ""
    for message in messages:
        block = message.blocks[0] if message.blocks else None
        if not (isinstance(block, Context) and block.text.startswith(CLOCK)):
            yield message
            continue
        said = _changed(before, block.text)
        before = block.text
        rest = message.blocks[1:]
        if said == block.text or not (said or rest):
            yield message
        else:
            yield Message(message.role, (Context(said), *rest) if said else rest)


def _changed(before: str, now: str) -> str:
    """The lines that are new, and above them the clock, since whatever changes did so then."""
    if before == now and AUTHOR not in now:
        return ""
    known, lines = before.splitlines(), now.splitlines()
    new = [line for line in lines if line not in known or line.startswith(AUTHOR)]
    if any(not line.startswith((CLOCK, AUTHOR)) for line in new) and lines[0] not in new:
        new.insert(0, lines[0])
    return "\n".join(new)
