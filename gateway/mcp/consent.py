"""A person's yes to a call that came by MCP, asked for through the client (elicitation): once, for that very call.

Text of the model's is never consent: only the answer to a form counts, and the form's marks must be set. A yes is
bound to the tool, its arguments and what was shown; it is used once and ends after some minutes (TGV-5, MSC-3).
"""

import hashlib
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent_core.tools.spec import Consent, Preview, ToolContext, ToolSpec

if TYPE_CHECKING:
    from mcp import types
    from mcp.server.context import ServerRequestContext

VALID_S = 300.0
OPEN = 100  # questions that wait at once
KEY = "consent"
FIRST = 10**15  # questions in chats never count so far; each yes has a number of its own
MUTE = (
    "{tool} was not run: it needs a person's yes, and this client cannot ask them (it offers no elicitation). Ask for "
    "it in a chat of the gateway instead."
)
REFUSED = "{tool} was not run: the person did not say yes."
VOID = "{tool} was not run: the yes is for another call, was used, or is too old. Call again without it."


class NotAsked(Exception):
    """A call that no yes was got for; the one line goes to the client."""


@dataclass(frozen=True, slots=True)
class _Ticket:
    call: str
    preview: Preview
    until: float


@dataclass(slots=True)
class Asker:
    """Asks, in either way that the protocol has: at once, or by a result that the client answers in a second call."""

    monotonic: Callable[[], float] = time.monotonic
    _tickets: OrderedDict[str, _Ticket] = field(default_factory=OrderedDict)

    async def ask(
        self,
        ctx: "ServerRequestContext[Any]",
        params: "types.CallToolRequestParams",
        spec: ToolSpec,
        known: ToolContext,
    ) -> "Consent | types.InputRequiredResult":
        """The yes, or the question for the client to bring back. Raises NotAsked, and ToolFailure as `show` does."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        if params.request_state is not None:
            return self._answered(params, spec)
        capabilities = ctx.session.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            raise NotAsked(MUTE.format(tool=spec.name))
        preview = await spec.show(known, dict(params.arguments or {}))
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._question(params, spec, preview)
        result = await ctx.session.elicit_form(
            _words(spec, params, preview), _form(preview), ctx.request_id
        )
        return self._consent(spec, result.action, result.content, preview)

    def _question(
        self, params: "types.CallToolRequestParams", spec: ToolSpec, preview: Preview
    ) -> "types.InputRequiredResult":
        from mcp import types
        from mcp.types import InputRequiredResult

        ticket = secrets.token_urlsafe(24)
        self._tickets[ticket] = _Ticket(_digest(params), preview, self.monotonic() + VALID_S)
        while len(self._tickets) > OPEN:
            self._tickets.popitem(last=False)
        form = types.ElicitRequestFormParams(
            message=_words(spec, params, preview), requested_schema=_form(preview)
        )
        asked = types.ElicitRequest(params=form)
        return InputRequiredResult(input_requests={KEY: asked}, request_state=ticket)

    def _answered(self, params: "types.CallToolRequestParams", spec: ToolSpec) -> Consent:
        ticket = self._tickets.pop(str(params.request_state), None)
        if ticket is None or ticket.call != _digest(params) or ticket.until < self.monotonic():
            raise NotAsked(VOID.format(tool=spec.name))
        answer: Any = (params.input_responses or {}).get(KEY)
        action, content = getattr(answer, "action", ""), getattr(answer, "content", None)
        return self._consent(spec, action, content, ticket.preview)

    def _consent(
        self, spec: ToolSpec, action: str, content: dict[str, Any] | None, preview: Preview
    ) -> Consent:
        marks = content or {}
        twice = marks.get("sure") is True
        if action != "accept" or marks.get("yes") is not True or (preview.twice and not twice):
            raise NotAsked(REFUSED.format(tool=spec.name))
        number = FIRST + secrets.randbelow(FIRST)
        return Consent(number, by="mcp", twice=twice, bound=preview.bound)


def _digest(params: "types.CallToolRequestParams") -> str:
    what = [params.name, params.arguments or {}]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def _words(spec: ToolSpec, params: "types.CallToolRequestParams", preview: Preview) -> str:
    told = bool(preview.text) and preview.complete
    given = "" if told else json.dumps(params.arguments or {}, ensure_ascii=False, indent=1)
    return "\n\n".join(filter(None, (spec.display("en"), preview.text, given, preview.twice)))


def _form(preview: Preview) -> dict[str, Any]:
    marks = {"yes": {"type": "boolean", "title": "Yes, do this"}}
    if preview.twice:
        marks["sure"] = {"type": "boolean", "title": "I have read why this weighs more"}
    return {"type": "object", "properties": marks, "required": sorted(marks)}
