"""A model that answers what it is told to and bills as Anthropic does: the twin's cache over the real wire's bytes.

It takes the very body that the Anthropic adapter would send, so what it bills is what the twin behind HTTP bills.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace

from agent_core.models.anthropic_wire import Form, body
from agent_core.ports import Breakpoint, Chunk, FinishedChunk, ModelInfo, ModelRequest
from agent_core.types import Message, Usage, encode
from tests.bench.context.transcripts import CHARS_PER_TOKEN
from tests.twins.anthropic_cache import Chain, PrefixCache, static_of
from tests.twins.anthropic_rules import blocks_of

# Units of plain input: Anthropic's prompt-caching page; output is five times input on all of its models' prices.
READ, WRITE_5M, WRITE_1H, OUTPUT = 0.1, 1.25, 2.0, 5.0

INFO = ModelInfo("anthropic/billing", 64_000, 8_192, vision=False, cache="breakpoint", price=None)


def price(usage: Usage) -> float:
    """What the calls cost, in tokens of plain input."""
    short = usage.cache_write_tokens - usage.cache_write_1h_tokens
    return (
        usage.input_tokens
        + READ * usage.cache_read_tokens
        + WRITE_5M * short
        + WRITE_1H * usage.cache_write_1h_tokens
        + OUTPUT * usage.output_tokens
    )


@dataclass
class BillingModel:
    """A Model. `clock` gives seconds; `answer` is asked for each answer; `bills` are the usages in order.

    `keep` notes each request with its second in `requests`.
    """

    answer: Callable[[ModelRequest], Message]
    clock: Callable[[], float]
    info: ModelInfo = INFO
    form: Form = field(default_factory=Form)
    bills: list[Usage] = field(default_factory=list)
    keep: bool = False
    requests: list[tuple[float, ModelRequest]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with an empty cache."""
        self.cache = PrefixCache(clock=self.clock)
        self.prefixes = Prefixes(self.info, self.form)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """Answer at once, and bill."""
        message = self.answer(request)
        usage = self.bill(request, message)
        yield FinishedChunk(message, "tool_use" if message.calls else "end", usage, self.info.name)

    def bill(self, request: ModelRequest, message: Message) -> Usage:
        """The usage of a call."""
        if self.keep:
            self.requests.append((self.clock(), request))
        seen = self.cache.bill(*self.prefixes.of(request))
        usage = Usage(
            seen["input_tokens"],
            len(encode(message)) // CHARS_PER_TOKEN,
            seen["cache_read_input_tokens"],
            seen["cache_creation_input_tokens"],
            usd=None,
            cache_write_1h_tokens=seen["cache_creation"]["ephemeral_1h_input_tokens"],
            usd_uncached=None,
        )
        self.bills.append(usage)
        return usage

    async def close(self) -> None:
        """Nothing is open."""


class Prefixes:
    """The prefixes of requests, equal to `prefixes_of(body(request))`.

    A long chat shares nearly all of them with its last request: what stands before the last thing a person said, as far
    as it is the same objects and holds no mark, is taken over, since the wire's form of it hangs on nothing behind it.
    """

    def __init__(self, info: ModelInfo, form: Form) -> None:
        self.info, self.form = info, form
        self.last: ModelRequest | None = None
        self.known: dict[int, Chain] = {}  # index of a message -> everything before it

    def of(self, request: ModelRequest) -> tuple[list[tuple[str, int]], dict[int, str]]:
        """For one request."""
        start = self._start(request)
        rest = replace(
            request,
            messages=request.messages[start:],
            breakpoints=tuple(Breakpoint(m.at - start, m.ttl) for m in request.breakpoints),
        )
        made = body(rest, self.info, self.form)
        if start:
            chain = self.known[start].copy()
            for at, (_, block) in enumerate(static_of(made)):
                if mark := block.get("cache_control"):
                    chain.marks[at] = mark.get("ttl", "5m")
        else:
            self.known.clear()
            chain = Chain(str(made["model"]))
            for kind, block in static_of(made):
                chain.add(kind, block)
        self._add(chain, made, rest, start)
        self.last = request
        return chain.found, chain.marks

    def _start(self, request: ModelRequest) -> int:
        if self.last is None or (self.last.system, self.last.tools) != (
            request.system,
            request.tools,
        ):
            return 0
        same = 0
        for old, new in zip(self.last.messages, request.messages, strict=False):
            if old is not new:
                break
            same += 1
        self.known = {at: chain for at, chain in self.known.items() if at <= same}
        before = min((m.at for m in request.breakpoints), default=same)
        return max((at for at in self.known if at <= before), default=0)

    def _add(self, chain: Chain, made: dict[str, object], rest: ModelRequest, start: int) -> None:
        """The rest, and what is known at the last two places where a person begins to speak."""
        opens = [i for i in range(1, len(rest.messages)) if _opens(rest.messages, i)][-2:]
        merged = _merged(rest.messages)
        places = {merged[i]: start + i for i in opens}
        for at, message in enumerate(made["messages"]):  # type: ignore[arg-type, var-annotated]
            if at in places:
                self.known[places[at]] = chain.copy()
            for block in blocks_of(message):
                chain.add(message["role"], block)


def _opens(messages: tuple[Message, ...], i: int) -> bool:
    """Whether a person begins to speak here, behind a finished answer."""
    before = messages[i - 1]
    return messages[i].role == "user" and before.role == "assistant" and not before.calls


def _merged(messages: tuple[Message, ...]) -> list[int]:
    """The place of each message once neighbours of one role are one."""
    places, at = [], 0
    for i, message in enumerate(messages):
        at += i > 0 and message.role != messages[i - 1].role
        places.append(at)
    return places
