"""The twins of a soak: they know what is said and answered, keep no request longer than needed, and have weather."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from aiohttp import web

from tests.soak import crowd
from tests.soak.crowd import Said
from tests.twins.anthropic import AnthropicTwin, blocks_of, words_of
from tests.twins.llm_script import Answered, Cut
from tests.twins.telegram import TelegramTwin
from tests.twins.telegram_api import Api
from tests.twins.telegram_args import Args
from tests.twins.telegram_state import Chat, Json, Stored
from tests.twins.twin import CALL, Call
from tests.twins.weather import Weather

SLOW = {"ok": False, "error_code": 429, "description": "Too Many Requests: retry after 1"}
Kinds = dict[str, dict[str, Any]]
RESETS: Kinds = {"reset before": {"drop": "before"}, "reset after": {"drop": "after"}}
TELEGRAM: Kinds = RESETS | {
    "429": {"status": 429, "body": SLOW | {"parameters": {"retry_after": 1}}},
    "5xx": {"status": 502, "body": "<html>Bad Gateway</html>"},
}
# Above the client's ten seconds of patience for a send; a poll may be slower than that by itself.
SENDS: Kinds = TELEGRAM | {"stall": {"delay_after": 12.0}}
POLLS: Kinds = TELEGRAM | {"stall": {"delay": 2.0}}
LIMITED = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
MODEL: Kinds = RESETS | {
    "429": {"status": 429, "body": LIMITED, "headers": {"retry-after": "1"}},
    "5xx": {"status": 529, "body": BUSY},
    "stall": {"delay": 3.0},
}
CUTS: Sequence[Cut] = ("drop", "stall", "error", "eof")
KEPT = 2_000  # calls whose bodies are kept


class HeardApi(Api):
    """The Bot API that tells of each visible message of the bot."""

    hears: Callable[[int, str], None] = staticmethod(lambda _chat, _text: None)

    def post(self, chat: Chat, args: Args, content: Json) -> Stored:
        stored = super().post(chat, args, content)
        self.hears(chat.id, stored.text)
        return stored


class SoakTelegram(TelegramTwin):
    """The platform. `hears` is called with the chat and the text of each message that becomes visible."""

    def __init__(self, seed: int, rate: float) -> None:
        super().__init__()
        self.heard = self.api = HeardApi(self.state, self.changes)
        self.weather = Weather(seed, rate, [("getUpdates$", POLLS), ("", SENDS)])

    def hear(self, hears: Callable[[int, str], None]) -> None:
        """Tell of what becomes visible."""
        self.heard.hears = hears


class SoakModel(AnthropicTwin):
    """The model: it answers by `crowd.turn`, after a moment, and some of its streams break off.

    Attributes:
        spoilt: faults that the calls for each message met.
        doubtful: digests of calls that ended here, perhaps unseen by the client: the connection was reset after them.
        ended: the calls that were answered to their end, oldest first.
    """

    def __init__(self, seed: int, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.spoilt: Counter[Said] = Counter()
        self.doubtful: set[str] = set()
        self.ended: list[Answered] = []
        self.cuts: Counter[str] = Counter()
        self._doubted: list[Call] = []
        self._at_hand: Call | None = None
        self._dice = random.Random(f"{seed} model")
        kinds = [("/v1/messages$", MODEL)]
        self.weather = Weather(seed + 1, rate, kinds, self._struck)

    def choose(self, history: Sequence[tuple[str, str]], digest: str) -> Answered:
        """See ScriptBook."""
        text, done = latest(history)
        answer = Answered(len(self.answers) + 1, digest, text, crowd.turn(text, done))
        changes: dict[str, Any] = {"delay": self._dice.uniform(0.0, 0.05)}
        if self._dice.random() < self.rate:
            changes["cut"] = (self._dice.randint(1, 6), self._dice.choice(CUTS))
            self.cuts[f"stream: {changes['cut'][1]}"] += 1
            self._spoil(text)
        answer.turn = replace(answer.turn, **changes)
        self.answers.append(answer)
        if any(call is self._at_hand for call in self._doubted):
            self.doubtful.add(digest)
        return answer

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        self._at_hand = request[CALL]  # up to `choose`, which nothing is awaited before
        return await super()._messages(request)

    async def _answer(
        self, request: web.Request, body: dict[str, Any], answer: Answered
    ) -> web.StreamResponse:
        try:
            return await super()._answer(request, body, answer)
        finally:  # also where the client was killed once it had read the end
            if answer.finished:
                self.ended.append(answer)

    def _struck(self, call: Call, kind: str) -> None:
        messages = call.params.get("messages", ())
        text, _ = latest([(m["role"], words_of(m["content"])) for m in messages])
        self._spoil(text)
        if kind == "reset after":
            self._doubted = [*self._doubted[-9:], call]

    def _spoil(self, text: str) -> None:
        if (said := crowd.asked(text)) is not None:
            self.spoilt[said] += 1


def mark_of(answer: Answered) -> str:
    """By which an answer is found in a transcript: the id of its first tool call, else its words."""
    calls = (b["id"] for b in blocks_of(answer.turn, answer.n) if b["type"] == "tool_use")
    return next(calls, answer.turn.text)


def latest(history: Sequence[tuple[str, str]]) -> tuple[str, int]:
    """The newest words of a person, or of who delegates, and how many answers follow them."""
    done = 0
    for role, text in reversed(history):
        if role == "assistant":
            done += 1
        elif text and crowd.asked(text.splitlines()[-1]):
            return text.splitlines()[-1], done
    return "", done


def forget_calls(*twins: SoakTelegram | SoakModel) -> None:
    """Let go of the bodies of old requests: twenty thousand prompts are more than a test may keep."""
    for twin in twins:
        del twin.calls[:-KEPT]
