"""What a model request tells the demo planner: whose words, which tools were called in this turn, what came back."""

import datetime as dt
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, TypeGuard

from agent_core.models.demo_ask import Language
from agent_core.ports import ModelRequest
from agent_core.types import Block, Context, Message, Text, ToolResult, ToolUse

DELEGATE = "delegate_to_"
MAX_TEXTS = 12  # texts looked back for the symbol that a follow-up means
# Where a text block is not (only) the person's words: notes of the runtime, background, recalled memories.
TAGGED = re.compile(r"<([a-z][a-z_-]*)>.*?</\1>|\[上下文信息\].*?\[/上下文信息\]", re.DOTALL)
# Names, types and sizes of files that came along, which may look like words: `chart.png (image/png, 0.1 MB)`.
ATTACHED = re.compile(r"^\[attached file: [^\]\n]*\][^\n]*$", re.MULTILINE)
BACKGROUND = (
    "\n\nContext:\n"  # stands between a delegated task and what the supervisor adds (SUB-6)
)
SPOKEN = re.compile(
    r"language: (en|zh)"
)  # a whole block: of a plan's task, which was written for whoever asks
NOW = re.compile(r"\bnow:\s*(\d{4}-\d{2}-\d{2})")
NEWS = "<task-notification>"  # in a Context block: background tasks have ended (BGT-4)
CLOSING = re.compile(
    r"answer\s+(?:now|from\s+what|without)|without\s+(?:calling\s+)?(?:any\s+|further\s+|more\s+)?tools?|"
    r"no\s+(?:further|more)\s+tools?|call\s+nothing|wrap\s+up|"
    r"(?:不要|不得|请勿|不能|不)再?调用(?:任何)?工具|直接(?:回答|作答)|收尾",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that is made or to be made."""

    name: str
    args: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Equal for equal calls."""
        return f"{self.name} {json.dumps(dict(self.args), sort_keys=True, ensure_ascii=False)}"

    @property
    def agent(self) -> str | None:
        """The sub-agent that it delegates to, or None."""
        return self.name.removeprefix(DELEGATE) if self.name.startswith(DELEGATE) else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A call of this turn with its result. `data` holds the fields of a JSON result, {} when there are none."""

    call: Call
    content: str
    is_error: bool
    data: Mapping[str, Any] = field(default_factory=dict)
    has_files: bool = False

    @property
    def cut(self) -> bool:
        """A result of which no field could be read, since it was too long and stands elsewhere."""
        return not self.is_error and not self.data and self.call.agent is None

    @property
    def task(self) -> str:
        """The id of the background task that the call began, "" where it brought its result at once."""
        begun = self.data.get("task_id") if "note" in self.data and "tool" in self.data else None
        return str(begun or "")


@dataclass(frozen=True, slots=True)
class Turn:
    """The present turn. `texts` are the person's, oldest first; the last `own` of them belong to this turn.

    `background` is what was handed over with a delegated task. `news`: it began with the results of background tasks,
    and not with anybody's words. `spoken` is the person's language, where a plan's task is in its own.
    """

    texts: tuple[str, ...] = ()
    own: int = 0
    outcomes: tuple[Outcome, ...] = ()
    closed: bool = False
    today: dt.date | None = None
    background: str = ""
    news: bool = False
    spoken: Language | None = None

    def of(self, name: str) -> list[Outcome]:
        """Outcomes of one tool that brought something."""
        return [o for o in self.outcomes if o.call.name == name and not o.is_error]

    def made(self, call: Call) -> bool:
        """Whether exactly this call was made in this turn."""
        return any(o.call.key == call.key for o in self.outcomes)

    def failures(self, name: str) -> int:
        """How often a tool failed in this turn."""
        return sum(o.is_error for o in self.outcomes if o.call.name == name)


def read_turn(request: ModelRequest) -> Turn:
    """Read the request's messages. A text that arrives between calls and answer joins the turn; others begin one."""
    texts: list[str] = []
    own = 0
    calls: dict[str, ToolUse] = {}
    outcomes: list[Outcome] = []
    closed = False
    today: dt.date | None = None
    handed = ""
    news = False
    spoken: Language | None = None
    for message in request.messages:
        if message.role == "assistant":
            calls = {call.id: call for call in message.calls} if message.calls else {}
            own = own if message.calls else 0
            continue
        outcomes += _outcomes(message, calls)
        today = _today(message) or today
        spoken = _spoken(message) or spoken
        if _is_news(message):
            own, outcomes, closed, news = 0, [], False, True
        background, words = _own_words(message)
        if words:
            if not calls or not (own or news):
                own, outcomes, closed, news = 0, [], False, False
            handed = background or handed
            texts += [background] if background else []
            texts.append(words)
            own += 1
        closed = closed or _closes(message)
    asked = tuple(texts[-MAX_TEXTS:])
    return Turn(asked, min(own, MAX_TEXTS), tuple(outcomes), closed, today, handed, news, spoken)


def _is_news(message: Message) -> bool:
    return any(isinstance(b, Context) and NEWS in b.text for b in message.blocks)


def _own(block: Block) -> TypeGuard[Text]:
    """Whether these are the person's words, and not the content of a file that came along."""
    return isinstance(block, Text) and not block.text.startswith("[content of the attached file")


def _own_words(message: Message) -> tuple[str, str]:
    """(background handed over with a task, the words themselves); the names of files where there are no words."""
    parts = (TAGGED.sub(" ", b.text).strip() for b in message.blocks if _own(b))
    words, _, background = "\n".join(filter(None, parts)).partition(BACKGROUND)
    return background.strip(), ATTACHED.sub("", words).strip() or words.strip()


def _closes(message: Message) -> bool:
    """Whether the runtime says that no tool may be called any more."""
    for block in message.blocks:
        if isinstance(block, Text):
            if any(CLOSING.search(match[0]) for match in TAGGED.finditer(block.text)):
                return True
        elif isinstance(block, ToolResult) and block.is_error and CLOSING.search(block.content):
            return True
    return False


def _today(message: Message) -> dt.date | None:
    for block in message.blocks:
        if isinstance(block, Context) and (match := NOW.search(block.text)):
            try:
                return dt.date.fromisoformat(match[1])
            except ValueError:
                return None
    return None


def _spoken(message: Message) -> Language | None:
    for block in message.blocks:
        if isinstance(block, Context) and (match := SPOKEN.fullmatch(block.text)):
            return "zh" if match[1] == "zh" else "en"
    return None


def _outcomes(message: Message, calls: Mapping[str, ToolUse]) -> list[Outcome]:
    found: list[Outcome] = []
    for block in message.blocks:
        if isinstance(block, ToolResult) and block.call_id in calls:
            use = calls[block.call_id]
            data = {} if block.is_error else fields_of(block.content)
            call = Call(use.name, use.args or {})
            found.append(Outcome(call, block.content, block.is_error, data, bool(block.artifacts)))
    return found


def fields_of(content: str) -> dict[str, Any]:
    """The fields of a JSON object; of one that was cut, those that are whole. Numbers keep their digits (Decimal)."""
    decoder = json.JSONDecoder(
        parse_float=_number, parse_int=_number, parse_constant=lambda _: None
    )
    try:
        whole = decoder.decode(content.strip())
    except ValueError:
        return _whole_fields(content, decoder)
    return whole if isinstance(whole, dict) else {}


def _number(literal: str) -> Decimal | None:
    try:
        return Decimal(literal)
    except InvalidOperation:
        return None


def _whole_fields(content: str, decoder: json.JSONDecoder) -> dict[str, Any]:
    found: dict[str, Any] = {}
    at = content.find("{") + 1
    if not at:
        return found
    try:
        while True:
            key, at = decoder.raw_decode(content, _skip(content, at))
            at = _skip(content, at)
            if not isinstance(key, str) or content[at : at + 1] != ":":
                return found
            value, at = decoder.raw_decode(content, _skip(content, at + 1))
            at = _skip(content, at)
            if content[at : at + 1] not in {",", "}"}:  # a number may go on beyond the cut
                return found
            found[key] = value
            if content[at] == "}":
                return found
            at += 1
    except ValueError:
        return found


def _skip(content: str, at: int) -> int:
    while at < len(content) and content[at].isspace():
        at += 1
    return at
