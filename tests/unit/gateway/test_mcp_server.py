"""Our tools over MCP, driven by the official package's client in one process: tiers, results, consent."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, ElicitResult, TextContent, Tool

from agent_core.tools.spec import Artifact, Preview, ToolContext, ToolFailure, ToolOutput, tool
from gateway.clock import SystemClock
from gateway.mcp.consent import VALID_S, Asker
from gateway.mcp.http import VARIABLE, guarded, token_of
from gateway.mcp.serve import Wanted, allowed
from gateway.mcp.server import ToolServer
from gateway.mcp.tiers import TIERS, offered
from gateway.problems import OperatorError
from gateway.settings.settings import Settings
from gateway.toolbox import toolbox
from tests.house import Watch

ERAS = pytest.mark.parametrize("era", ["legacy", "auto"])  # both handshakes of the protocol
FORM = {"yes": True}


def names(tier: int, *, person: bool = True, approvals: bool = False) -> set[str]:
    return {spec.name for spec in offered(toolbox(), tier, person=person, approvals=approvals)}


def test_each_tier_adds_its_tools_and_nothing_else_is_ever_shown() -> None:
    """MCP-1, MSC-4."""
    assert names(1) == {"query_history"}
    two = "search_stock_by_name analyze_stock get_market_overview screen_stocks run_backtest"
    assert {*two.split(), "market_regime", "wyckoff_diagnose", "query_history"} <= names(2)
    three = {"portfolio", "generate_ai_report", "generate_strategy_decision"}
    assert three <= names(3)
    assert not three & names(2)
    inner = "ask_user remember compact check_background_tasks exec_command write_file web_fetch place_order"
    assert not set(inner.split()) & names(3, approvals=True)
    assert frozenset().union(*TIERS.values()) <= toolbox().names  # no name that does not exist


def test_approval_tools_and_a_persons_tools_are_hidden_unless_they_are_asked_for() -> None:
    """MCP-3."""
    assert "update_portfolio" not in names(3)
    assert "update_portfolio" in names(3, approvals=True)
    assert names(3, person=False) == TIERS[2]


@pytest.mark.parametrize(
    ("serve", "wanted", "cure"),
    [
        ({}, Wanted(tier=3, user="web:alice"), "mcp.serve.tier: 3"),
        ({"tier": 1}, Wanted(tier=2), "--tier 1"),
        (
            {"tier": 3},
            Wanted(3, approvals=True, user="web:alice"),
            "mcp.serve.approval_tools: true",
        ),
        ({"tier": 3}, Wanted(tier=3), "--user"),
    ],
)
def test_options_alone_open_nothing_that_the_settings_do_not_allow(
    serve: dict[str, Any], wanted: Wanted, cure: str
) -> None:
    """MCP-3: flag and settings must agree."""
    settings = Settings.model_validate({"mcp": {"serve": serve}})
    with pytest.raises(OperatorError, match=cure):
        allowed(settings, wanted)


class Kit:
    """Tools that note what they were called with."""

    def __init__(self, twice: str = "") -> None:
        self.twice = twice
        self.seen: list[ToolContext] = []

    def tools(self) -> list[Any]:
        async def show(ctx: ToolContext, amount: int) -> Preview:
            return Preview(
                f"You will pay {amount}.", twice=self.twice, bound=f"b{amount}", complete=True
            )

        @tool(
            title={"en": "Pay", "zh": "付款"}, requires_approval=True, effect="write", preview=show
        )
        async def pay(ctx: ToolContext, amount: int) -> ToolOutput:
            """Pay.

            Args:
                amount: How much.
            """
            self.seen.append(ctx)
            return ToolOutput(f"paid {amount}")

        @tool(title={"en": "Draw", "zh": "画图"})
        async def draw(ctx: ToolContext, how: str = "well") -> ToolOutput:
            """Draw a picture."""
            self.seen.append(ctx)
            ctx.progress("half done", 0.5)
            await asyncio.sleep(0)  # lets the news go out
            if how == "badly":
                raise ToolFailure("no such picture; name another")
            if how == "not":
                raise RuntimeError("secret internals")
            files = (
                Artifact("a.png", "image/png", b"png"),
                Artifact("a.pdf", "application/pdf", b"pdf"),
            )
            return ToolOutput('{"source":"bundled"}', artifacts=files)

        return [pay, draw]


@asynccontextmanager
async def client(
    kit: Kit, era: str = "auto", answer: ElicitResult | None = None, **more: Any
) -> AsyncIterator[tuple[Client, list[str]]]:
    """A client of the kit; `answer` is what its person says to each question, None: it cannot ask."""
    asked: list[str] = []

    async def elicit(_: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        assert answer is not None
        return answer

    server = ToolServer(kit.tools(), SystemClock(), owner="web:alice", **more).build()
    callback = None if answer is None else elicit
    async with Client(server, mode=era, elicitation_callback=callback) as opened:
        yield opened, asked


def text_of(result: CallToolResult) -> str:
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


def yes(**marks: bool) -> ElicitResult:
    return ElicitResult(action="accept", content=dict(marks))


@ERAS
async def test_a_tool_is_listed_as_its_spec_has_it_and_answers_with_its_files(era: str) -> None:
    """MCP-2."""
    kit = Kit()
    async with client(kit, era) as (opened, _):
        listed = {t.name: t for t in (await opened.list_tools()).tools}
        draw: Tool = listed["draw"]
        [spec] = [s for s in kit.tools() if s.name == "draw"]
        assert (draw.description, draw.title) == (spec.description, "Draw")
        assert draw.input_schema["properties"] == spec.parameters["properties"]
        assert draw.annotations is not None
        assert draw.annotations.read_only_hint is True
        assert listed["pay"].annotations is not None
        assert listed["pay"].annotations.destructive_hint is True
        told: list[tuple[float, str | None]] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, message))

        result = await opened.call_tool("draw", {}, progress_callback=hear)
    assert not result.is_error
    assert json.loads(text_of(result)) == {"source": "bundled"}
    assert [block.type for block in result.content] == ["text", "image", "resource"]
    assert base64.b64decode(result.content[1].data) == b"png"  # type: ignore[union-attr]
    assert told == [(0.5, "half done")]
    assert kit.seen[0].owner == "web:alice"


@ERAS
async def test_failures_are_results_that_say_what_and_never_how_it_broke_inside(era: str) -> None:
    kit = Kit()
    async with client(kit, era) as (opened, _):
        failed = await opened.call_tool("draw", {"how": "badly"})
        broken = await opened.call_tool("draw", {"how": "not"})
        unfit = await opened.call_tool("draw", {"how": 3})
        unknown = await opened.call_tool("exec_command", {"command": "id"})
    assert [r.is_error for r in (failed, broken, unfit, unknown)] == [True] * 4
    assert text_of(failed) == "no such picture; name another"
    assert text_of(broken) == "draw failed inside (RuntimeError)."
    assert text_of(unfit).startswith("draw was not run: how:")
    assert text_of(unknown) == "There is no tool 'exec_command' here."


@ERAS
async def test_a_yes_is_asked_for_through_the_client_and_bound_to_what_was_shown(era: str) -> None:
    kit = Kit()
    async with client(kit, era, yes(yes=True)) as (opened, asked):
        result = await opened.call_tool("pay", {"amount": 7})
    assert text_of(result) == "paid 7"
    assert asked == ["Pay\n\nYou will pay 7."]
    assert kit.seen[0].consent is not None
    assert kit.seen[0].consent.bound == "b7"


@ERAS
@pytest.mark.parametrize(
    "answer",
    [None, ElicitResult(action="decline"), ElicitResult(action="cancel"), yes(yes=False), yes()],
)
async def test_without_a_yes_nothing_is_run(era: str, answer: ElicitResult | None) -> None:
    """TGV-5: also where the client cannot ask at all."""
    kit = Kit()
    async with client(kit, era, answer) as (opened, _):
        result = await opened.call_tool("pay", {"amount": 7})
    assert result.is_error
    assert text_of(result).startswith("pay was not run: ")
    assert kit.seen == []


@ERAS
async def test_what_weighs_more_needs_a_second_mark(era: str) -> None:
    """TGV-8."""
    kit = Kit(twice="That is more than 5 % of all you have.")
    async with client(kit, era, yes(yes=True, sure=False)) as (opened, asked):
        assert (await opened.call_tool("pay", {"amount": 7})).is_error
    assert asked[0].endswith("more than 5 % of all you have.")
    async with client(kit, era, yes(yes=True, sure=True)) as (opened, _):
        assert text_of(await opened.call_tool("pay", {"amount": 7})) == "paid 7"
    assert [ctx.consent.twice for ctx in kit.seen if ctx.consent] == [True]


async def test_a_yes_counts_once_for_its_own_call_and_for_some_minutes() -> None:
    """MSC-3: a model that replays or changes a call gets nothing."""
    kit, clock = Kit(), Watch()
    asker = Asker(monotonic=clock.monotonic)
    given = {"consent": ElicitResult(action="accept", content={"yes": True})}
    async with client(kit, answer=yes(yes=True), asker=asker) as (opened, _):

        async def ticket() -> str:
            asked = await opened.session.call_tool("pay", {"amount": 7}, allow_input_required=True)
            return str(asked.request_state)  # type: ignore[union-attr]

        async def bring(state: str, amount: int = 7) -> CallToolResult:
            return await opened.session.call_tool(
                "pay", {"amount": amount}, input_responses=given, request_state=state
            )

        state = await ticket()
        assert (await bring(state, amount=700)).is_error  # another call, which uses the yes up
        assert (await bring(state)).is_error
        state = await ticket()
        assert not (await bring(state)).is_error
        assert (await bring(state)).is_error
        state = await ticket()
        clock.seconds += VALID_S + 1
        assert (await bring(state)).is_error
        assert (await bring("made up")).is_error
    assert len(kit.seen) == 1


async def test_http_lets_nobody_in_without_the_token(tmp_path: Any) -> None:
    token = token_of(tmp_path, "")
    assert token_of(tmp_path, "") == token
    assert (tmp_path / "mcp-token").stat().st_mode & 0o777 == 0o600
    with pytest.raises(OperatorError, match=VARIABLE):
        token_of(tmp_path, "short")
    passed: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        passed.append(scope["type"])

    async def ask(header: str | None) -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message.get("status"))

        headers = [] if header is None else [(b"authorization", header.encode())]
        await guarded(app, token)({"type": "http", "headers": headers}, None, send)
        return sent

    for wrong in (None, "", token, "Bearer ", f"Bearer {token}x", f"bearer {token}"):
        assert (await ask(wrong))[0] == 401
    assert passed == []
    assert await ask(f"Bearer {token}") == []
    assert passed == ["http"]
