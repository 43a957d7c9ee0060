"""Server-sent events from bytes, for providers that stream them.

The SDKs build a typed object for each event, which costs more than all else in a call (measured: 20 deltas through the
Anthropic helper 4.7 ms of CPU, read as bytes 3.2 ms; OpenAI 5.7 and 3.3). The gateway needs three fields of each.
"""

from collections.abc import AsyncIterator


async def frames(chunks: AsyncIterator[bytes]) -> AsyncIterator[tuple[str, str]]:
    """Yield (event, data) of each event with data, in order. `event` is "" where the stream names none."""
    async for batch in batches(chunks):
        for frame in batch:
            yield frame


async def batches(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[tuple[str, str]]]:
    """What `frames` yields, as it came: the events that a chunk completes, at least one.

    LF and CRLF end lines. A last event without its empty line is still given, for servers that forget it.
    """
    rest = b""
    async for chunk in chunks:
        rest += chunk
        if b"\r" in rest:
            rest = rest.replace(b"\r\n", b"\n")
        *whole, rest = rest.split(b"\n\n")
        if found := [frame for text in whole if (frame := _parse(text))]:
            yield found
    if last := _parse(rest):
        yield [last]


def _parse(frame: bytes) -> tuple[str, str] | None:
    event, data = "", []
    for line in frame.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ").removesuffix("\r")
        if name == "data":
            data.append(value)
        elif name == "event":
            event = value
    return (event, "\n".join(data)) if data else None
