"""Keys of a preset as a run meets them: written in YAML, compiled, and enforced on a scripted model."""

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.finance.sources.ecb import EcbSource
from agent_core.models.scripted import Answer
from agent_core.models.tokens import mixed
from agent_core.ports import ModelRequest
from agent_core.runtime.scenes import Scene, brought
from agent_core.runtime.team import Team
from agent_core.tools.registry import Registry
from agent_core.tools.spec import ToolContext, ToolOutput, tool
from agent_core.types import Context
from gateway.storage.db import Database
from swarm_presets.loader import load_folder
from swarm_presets.plan import plan
from swarm_presets.problems import render
from tests.harness import Desk, call, delegate
from tests.house import House, on_sqlite

TOOLS = frozenset({"echo", "slow"})


def compiled(folder: Path, text: str) -> Team:
    (folder / "desk.yaml").write_text(f"version: 1\nname: desk\n{text}")
    loaded = load_folder(folder, tools=TOOLS)
    assert "desk" in loaded.teams, render(loaded.problems)
    return loaded.teams["desk"]


@on_sqlite
async def test_calls_beyond_the_supervisors_limit_are_refused(db: Database, tmp_path: Path) -> None:
    team = compiled(tmp_path, "supervisor: {tools: [echo], limits: {tool_calls: 2}}\n")
    made = [call("echo", f"c{n}", words=str(n)) for n in range(3)]
    desk = Desk(db, [Answer(calls=tuple(made)), Answer("what I have")])
    assert "what I have" in await desk.ask("go", team)
    assert desk.tools.calls == [("echo", "0"), ("echo", "1")]


@on_sqlite
async def test_calls_beyond_an_agents_limit_are_refused(db: Database, tmp_path: Path) -> None:
    """What `defaults` say flows into each agent, and not into the supervisor."""
    team = compiled(
        tmp_path,
        """
supervisor: {tools: [echo]}
defaults: {limits: {tool_calls: 1}}
agents: {helper: {role: Helper, prompt: Help., tools: [echo]}}
""",
    )
    assert team.supervisor.limits.tool_calls is None
    made = [call("echo", f"c{n}", words=str(n)) for n in range(2)]
    script = [
        Answer(calls=(delegate("helper"),)),
        Answer(calls=tuple(made)),
        Answer("half"),
        Answer("done"),
    ]
    desk = Desk(db, script)
    await desk.ask("go", team)
    assert desk.tools.calls == [("echo", "0")]
    assert "limit of tool calls" in str([row.message for row in await desk.rows("d1")])


@on_sqlite
async def test_the_same_call_may_be_made_as_often_as_the_preset_says(
    db: Database, tmp_path: Path
) -> None:
    """DOM-1, with the preset's number: `slow` gives no result that could be taken again."""
    team = compiled(tmp_path, "supervisor: {tools: [slow]}\ndelegation: {same_call_limit: 4}\n")
    same = [Answer(calls=(call("slow", f"c{n}", n=1),)) for n in range(5)]
    desk = Desk(db, [*same, Answer("enough")])
    assert "enough" in await desk.ask("go", team)
    assert desk.tools.calls == [("slow", "1")] * 4
    refused = "The same call was made 5 times with nothing new"
    assert refused in str([row.message for row in await desk.rows()])


def test_the_limit_of_same_calls_counts_for_every_agent(tmp_path: Path) -> None:
    text = """
supervisor: {tools: []}
agents: {helper: {role: Helper, prompt: Help., tools: [echo]}}
"""
    usual = compiled(tmp_path, text)
    assert usual.agents["helper"].limits.same_calls == 2
    strict = compiled(tmp_path, text + "delegation: {same_call_limit: 1}\n")
    assert {a.limits.same_calls for a in (strict.supervisor, strict.agents["helper"])} == {1}


@on_sqlite
async def test_the_supervisor_reads_no_more_than_its_limit(db: Database, tmp_path: Path) -> None:
    """Its history is compacted as if its model's window were smaller."""
    team = compiled(tmp_path, "supervisor: {tools: [], limits: {input_tokens: 3k}}\n")
    seen: list[int] = []

    def answer(request: ModelRequest) -> Answer:
        seen.append(mixed(request.system, request.messages, request.tools))
        return Answer("word " * 400)

    desk = Desk(db, answer)
    for n in range(12):
        await desk.ask(f"question {n}", team, key=f"m:1:{n}")
    assert max(seen) <= 3_000
    assert seen[-1] > 500


@on_sqlite
async def test_an_answer_over_the_limit_is_cut_and_says_so(db: Database, tmp_path: Path) -> None:
    team = compiled(tmp_path, "supervisor: {tools: [], limits: {output_chars: 200}}\n")
    desk = Desk(db, [Answer("a" * 201), Answer("b" * 200)])
    said = await desk.ask("go", team)
    cut = "_The answer is cut here: it is longer than the limit of 200 characters._"
    assert said == "a" * 200 + "…\n\n" + cut
    assert (await desk.rows())[-1].message.text == "a" * 201  # the transcript has all of it
    assert await desk.ask("again", team, key="m:1:2") == "b" * 200


def test_the_plan_counts_what_the_supervisor_may_read(tmp_path: Path) -> None:
    team = compiled(
        tmp_path, "supervisor: {tools: [], limits: {input_tokens: 3k, tool_rounds: 1}}\n"
    )
    tree = load_folder(tmp_path, tools=TOOLS).trees["desk"]
    assert plan(team, tree, lambda _: None, lambda _: 200_000).total.input_tokens == 6_000


@on_sqlite
@pytest.mark.parametrize(
    ("as_of", "said"),
    [
        ("data: {as_of: 2012-12-31, max_age: 3d}", "look"),
        (
            'inputs: {day: {type: date}}\ndata: {as_of: "{{ inputs.day }}", max_age: 3d}',
            "look, day = 2012-12-31",
        ),
    ],
)
async def test_nothing_later_than_the_presets_day_is_found(
    db: Database, tmp_path: Path, as_of: str, said: str
) -> None:
    """`data.as_of` and `data.max_age` reach every tool, also those of sub-agents."""
    seen: list[tuple[dt.date | None, float | None]] = []

    @tool(title={"en": "Look", "zh": "看"})
    async def look(ctx: ToolContext) -> ToolOutput:
        """Look."""
        seen.append((ctx.as_of, ctx.max_age))
        return ToolOutput("seen")

    text = f"""
supervisor: {{tools: [echo]}}
agents: {{helper: {{role: Helper, prompt: Help., tools: [echo]}}}}
{as_of}
"""
    calls = (delegate("helper"), call("echo", "c1"))
    script = [Answer(calls=calls), Answer(calls=(call("echo", "c2"),)), Answer("a"), Answer("b")]
    async with House(db, script, the_team=compiled(tmp_path, text)) as home:
        found = replace(look, name="echo")
        home.turns.services = replace(home.turns.services, registry=Registry([found]))
        await home.ask(said)
    assert seen == [(dt.date(2012, 12, 31), 3 * 86_400.0)] * 2


def test_the_day_must_be_given_by_an_input_of_days(tmp_path: Path) -> None:
    text = 'inputs: {day: {type: number}}\ndata: {as_of: "{{ inputs.day }}"}\n'
    (tmp_path / "desk.yaml").write_text(
        f"version: 1\nname: desk\nsupervisor: {{tools: [echo]}}\n{text}"
    )
    problems = load_folder(tmp_path, tools=TOOLS).problems
    assert "the input `day` is a number, no day" in [p.message for p in problems]


def test_a_day_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    text = "version: 1\nname: desk\nsupervisor: {tools: [echo]}\ndata: {as_of: 2026-02-30}\n"
    (tmp_path / "desk.yaml").write_text(text)
    problems = load_folder(tmp_path, tools=TOOLS).problems
    assert "`2026-02-30` is no day" in [p.message for p in problems]


@on_sqlite
async def test_a_scene_stands_in_the_context_of_its_message_alone(
    db: Database, tmp_path: Path
) -> None:
    """`scenes`: never in the system text, and not beside a message that does not have the words."""
    text = """
supervisor: {tools: [echo]}
scenes: [{match: [earnings, 财报], text: Check the date of the report.}]
"""
    async with House(db, list(map(Answer, "abc")), the_team=compiled(tmp_path, text)) as home:
        await home.ask("what about the Earnings of GOOG?")
        await home.ask("and AAPL?")
        await home.ask("它的财报呢")
        requests = home.model.requests
    beside = [
        [b.text for b in message.blocks if isinstance(b, Context) and "report" in b.text]
        for message in requests[-1].messages
        if message.role == "user"
    ]
    assert beside == [["Check the date of the report."], [], ["Check the date of the report."]]
    assert not any("report" in request.system for request in requests)
    assert len({request.system for request in requests}) == 1


def test_a_scene_is_found_by_whole_words() -> None:
    scenes = (Scene(("cat", "猫"), "one"), Scene(("Dog food",), "two"))
    assert brought(scenes, "a catalogue of dog foods") == ()
    assert brought(scenes, "Cat, and DOG FOOD!") == ("one", "two")
    assert brought(scenes, "小猫咪") == ("one",)


def test_routes_are_static_system_text(tmp_path: Path) -> None:
    text = """
supervisor: {prompt: You lead., tools: [echo, slow]}
routes: [{match: [screen, 选股], tools: [echo, slow]}]
"""
    assert compiled(tmp_path, text).supervisor.prompt == (
        "You lead.\n\nWhere a request fits one of these, work in this order:\n"
        "- “screen”, “选股”: `echo`, then `slow`"
    )


@on_sqlite
@pytest.mark.parametrize(
    ("data", "names"), [("data: {sources: [ecb]}", ("ecb",)), ("", ("bundled", "ecb"))]
)
async def test_a_run_sees_the_data_sources_of_its_preset(
    db: Database, tmp_path: Path, data: str, names: tuple[str, ...]
) -> None:
    """`data.sources` hold for every tool, also those of sub-agents; without them a run sees all."""
    seen: list[tuple[str, ...]] = []
    chain = Sources([BundledSource(), EcbSource()])

    @tool(title={"en": "Look", "zh": "看"})
    async def look(ctx: ToolContext) -> ToolOutput:
        """Look."""
        seen.append(chain.names)
        return ToolOutput("seen")

    text = f"""
supervisor: {{tools: [echo]}}
agents: {{helper: {{role: Helper, prompt: Help., tools: [echo]}}}}
{data}
"""
    calls = (delegate("helper"), call("echo", "c1"))
    script = [Answer(calls=calls), Answer(calls=(call("echo", "c2"),)), Answer("a"), Answer("b")]
    async with House(db, script, the_team=compiled(tmp_path, text)) as home:
        found = replace(look, name="echo")
        home.turns.services = replace(home.turns.services, registry=Registry([found]))
        await home.ask("look")
    assert seen == [names, names]
