"""Answers that are not taken: rounds of repair, what follows when none is left, and what a resumed run does."""

import asyncio
import json
from typing import Any

import pytest

from agent_core.events import StreamReset, TextDelta
from agent_core.models.scripted import Answer, ScriptedModel
from agent_core.ports import ModelRequest
from agent_core.runtime.accept import REPAIR, known_to
from agent_core.runtime.internal import INTERNAL
from agent_core.runtime.team import Grounding, OutputContract
from agent_core.types import ToolResult, Usage
from gateway.storage.db import Database
from tests.harness import Desk, agent, call, delegate, message, post, team
from tests.house import on_sqlite

SCHEMA = {
    "type": "object",
    "required": ["rating"],
    "properties": {"rating": {"enum": ["buy", "hold"]}, "price": {"type": "number"}},
}
RATED = OutputContract("json", SCHEMA, "Rating: **{{ rating }}**")
GROUNDED = Grounding("required")
LOOK = Answer(calls=(call("echo", "e1", words="the price is 41.5"),))


def reported(request: ModelRequest, index: int = -1) -> dict[str, Any]:
    results = [b for m in request.messages for b in m.blocks if isinstance(b, ToolResult)]
    return json.loads(results[index].content)  # type: ignore[no-any-return]


async def child(db: Database, *script: Answer | str, **more: object) -> dict[str, Any]:
    """The result object of a delegation to an agent that answers by this script."""
    model = ScriptedModel([Answer(calls=(delegate("research"),)), *script, "done"])
    the_team = team(agent(), agent("research", ("echo",), **more))
    await Desk(db, model).ask("go", the_team)
    assert not model.violations
    return reported(model.requests[-1])


async def supervisor(db: Database, *script: Answer | str, **more: object) -> tuple[Desk, str]:
    desk = Desk(db, ScriptedModel(list(script)))
    words = more.pop("words", "go")
    return desk, await desk.ask(str(words), team(agent(tools=("echo",), **more)))


# Output contracts ---------------------------------------------------------------------------------


@on_sqlite
async def test_an_answer_that_holds_brings_data_and_words_for_people(db: Database) -> None:
    body = await child(db, '{"rating": "buy"}', output=RATED)
    assert (body["status"], body["data"]) == ("completed", {"rating": "buy"})
    assert body["result"] == "Rating: **buy**"


@on_sqlite
async def test_a_broken_answer_is_repaired_with_its_faults_listed(db: Database) -> None:
    model = ScriptedModel(
        [Answer(calls=(delegate("research"),)), '{"rating": "maybe"}', '{"rating": "hold"}', "done"]
    )
    desk = Desk(db, model)
    await desk.ask("go", team(agent(), agent("research", output=RATED)))
    assert reported(model.requests[-1])["data"] == {"rating": "hold"}
    repair = model.requests[2].messages[-1].text
    assert "/rating: 'maybe' is not one of ['buy', 'hold']" in repair
    assert [m.text for m in model.requests[2].messages][1] == '{"rating": "maybe"}'
    assert model.requests[1].system == model.requests[2].system
    assert model.requests[1].tools == model.requests[2].tools


@on_sqlite
@pytest.mark.parametrize("rounds", [0, 1, 2])
async def test_after_the_last_repair_it_is_invalid_output(db: Database, rounds: int) -> None:
    body = await child(
        db, *["nothing"] * (rounds + 1), output=OutputContract("json", SCHEMA, max_repairs=rounds)
    )
    assert body["status"] == "invalid_output"
    assert "no valid JSON" in body["error"]
    assert (body["partial"], body["result"], body["data"]) == ("nothing", "", None)
    assert body["policy"]["next_action"] == "use_partial"


@on_sqlite
async def test_a_blank_answer_is_empty_and_not_repaired(db: Database) -> None:
    assert (await child(db, Answer("  "), output=RATED))["status"] == "empty"


@on_sqlite
async def test_tools_may_be_called_in_a_round_of_repair(db: Database) -> None:
    body = await child(
        db,
        '{"rating": 1}',
        LOOK,
        '{"rating": "buy", "price": 41.5}',
        output=RATED,
        grounding=GROUNDED,
    )
    assert body["data"] == {"rating": "buy", "price": 41.5}


@on_sqlite
async def test_files_go_with_a_result_as_its_contract_says(db: Database) -> None:
    """`attach` names tools; `echo` makes no file here, so none is left out by mistake either."""
    body = await child(
        db, '{"rating": "buy"}', output=OutputContract("json", SCHEMA, attach=("chart",))
    )
    assert body["status"] == "completed"


@on_sqlite
async def test_the_supervisors_data_are_shown_by_their_template_and_never_stream(
    db: Database,
) -> None:
    desk, text = await supervisor(db, '{"rating": 7}', '{"rating": "buy"}', output=RATED)
    assert text == "Rating: **buy**"
    assert not any(isinstance(e, TextDelta) for e in desk.events)


@on_sqlite
async def test_a_supervisor_that_does_not_get_it_right_is_shown_with_a_warning(
    db: Database,
) -> None:
    _, text = await supervisor(db, "no", "still no", output=RATED)
    assert (
        text == "_Note: this answer does not have the form that its preset asks for._\n\nstill no"
    )


# Grounding ----------------------------------------------------------------------------------------


@on_sqlite
async def test_an_invented_number_is_sent_back_and_mended(db: Database) -> None:
    model = ScriptedModel(
        [Answer(calls=(delegate("research"),)), LOOK, "It is 99.9.", "It is 41.5.", "done"]
    )
    await Desk(db, model).ask("go", team(agent(), agent("research", ("echo",), grounding=GROUNDED)))
    assert reported(model.requests[-1])["result"] == "It is 41.5."
    assert "not found in any tool result within 0.50%: 99.9." in model.requests[3].messages[-1].text


@on_sqlite
async def test_a_number_that_stays_invented_is_invalid_output(db: Database) -> None:
    body = await child(db, LOOK, "It is 99.9.", "It is 99.9, really.", grounding=GROUNDED)
    assert body["status"] == "invalid_output"
    assert "99.9" in body["error"]
    assert body["partial"] == "It is 99.9, really."


@on_sqlite
@pytest.mark.parametrize(
    ("task", "status"), [("Is 41.5 fair?", "completed"), ("Is 77.7 fair?", "invalid_output")]
)
async def test_a_task_makes_only_those_numbers_true_that_its_author_had(
    db: Database, task: str, status: str
) -> None:
    """A supervisor cannot make up a number and have it confirmed by an agent that repeats it."""
    said = task.removeprefix("Is ").removesuffix(" fair?")
    script = [Answer(calls=(delegate("research", task),)), f"You ask about {said}.", "done"]
    model = ScriptedModel(script)
    research = agent("research", grounding=Grounding("required", max_repairs=0))
    await Desk(db, model).ask("I paid 41.5 for it", team(agent(), research))
    assert reported(model.requests[-1])["status"] == status


@on_sqlite
async def test_a_supervisor_answers_from_what_the_person_said_and_from_its_agents(
    db: Database,
) -> None:
    script = [Answer(calls=(delegate("research"),)), "It is 41.5.", "You hold 300 at 41.5."]
    lead = agent(grounding=GROUNDED)
    desk = Desk(db, ScriptedModel(script))
    assert await desk.ask("I hold 300", team(lead, agent("research"))) == "You hold 300 at 41.5."


@on_sqlite
async def test_what_a_result_object_counts_is_no_source(db: Database) -> None:
    """Tokens, seconds and limits are in the result object; "usage" makes no number true."""
    script = [
        Answer(calls=(delegate("research"),)),
        Answer("It is 41.5.", usage=Usage(7_341, 20, usd=0.0)),
        "Sales were 7,341.",
        "Sales were 7,341.",
    ]
    desk = Desk(db, ScriptedModel(script))
    text = await desk.ask("go", team(agent(grounding=GROUNDED), agent("research")))
    assert text == "_Note: no tool result holds these numbers: 7,341._\n\nSales were 7,341."


@on_sqlite
async def test_a_rejected_answer_is_taken_back_on_the_screen_and_grounds_nothing(
    db: Database,
) -> None:
    desk, text = await supervisor(db, LOOK, "It is 99.9.", "It is 99.9.", grounding=GROUNDED)
    assert text.startswith("_Note: no tool result holds these numbers: 99.9._")
    assert any(isinstance(e, StreamReset) for e in desk.events)
    notes = [r.meta for r in await desk.rows() if r.meta.get(INTERNAL) == REPAIR]
    assert notes == [{INTERNAL: REPAIR, "mends": ["grounding"]}]


@on_sqlite
async def test_a_repair_is_out_of_sight_in_the_next_turn(db: Database) -> None:
    model = ScriptedModel([LOOK, "It is 99.9.", "It is 41.5.", "Yes, 41.5."])
    desk = Desk(db, model)
    lead = team(agent(tools=("echo",), grounding=GROUNDED))
    await desk.ask("go", lead)
    await desk.ask("sure?", lead, key="m:1:2")
    seen = " ".join(m.text for m in model.requests[-1].messages)
    assert "99.9" not in seen
    assert "not taken" not in seen
    assert desk.reply == "Yes, 41.5."  # an earlier turn's result still counts


@on_sqlite
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("It is 41.5 (echo).", "completed"),
        ("It is 41.5 (Echo).", "completed"),
        ("It is 41.5.", "invalid_output"),
        ("It is 41.5, says https://made.up.", "invalid_output"),
    ],
)
async def test_citations_are_required_where_set(db: Database, answer: str, status: str) -> None:
    rules = Grounding("required", citations="required", max_repairs=0)
    assert (await child(db, LOOK, answer, grounding=rules))["status"] == status


@on_sqlite
async def test_no_repair_where_tools_were_refused_or_money_is_spent(db: Database) -> None:
    """Defect 13: a correction adds nothing to what the run may use."""
    body = await child(db, LOOK, LOOK, "It is 99.9.", grounding=GROUNDED, limits={"tool_rounds": 1})
    assert (body["status"], body["error"]) == ("error", "round_limit")
    paid = Answer("It is 99.9.", usage=Usage(10, 10, usd=0.02))
    poor = await child_again(db, paid, grounding=GROUNDED, limits={"usd": 0.01})
    assert poor["status"] == "invalid_output"


async def child_again(db: Database, *script: Answer | str, **more: object) -> dict[str, Any]:
    model = ScriptedModel([Answer(calls=(delegate("research"),)), *script, "done"])
    desk = Desk(db, model, chat=2)
    await desk.ask("go", team(agent(), agent("research", ("echo",), **more)), key="m:2:1")
    return reported(model.requests[-1])


@on_sqlite
async def test_a_killed_repair_goes_on_and_pays_no_answer_twice(db: Database) -> None:
    model = ScriptedModel(
        [
            Answer(calls=(delegate("research"),)),
            '{"rating": 1}',
            Answer("x", delay=30),
            '{"rating": "buy"}',
            "done",
        ]
    )
    the_team = team(agent(), agent("research", output=RATED))
    await post(db, message("go"))
    first = Desk(db, model)
    running = asyncio.create_task((await first.turn(the_team)).run())
    while len(model.requests) < 3:
        await asyncio.sleep(0.005)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    again = Desk(db, model)
    await (await again.turn(the_team)).run()
    assert again.reply == "done"
    assert "not one of" in model.requests[3].messages[-1].text
    assert reported(model.requests[-1])["data"] == {"rating": "buy"}
    assert len(model.requests) == 5


@on_sqlite
async def test_numbers_of_the_operators_prompt_may_be_quoted(db: Database) -> None:
    prompt = "You are supervisor. Risk at most 1.25% in each trade."
    _, text = await supervisor(db, "The limit is 1.25%.", prompt=prompt, grounding=GROUNDED)
    assert text == "The limit is 1.25%."


def test_a_run_knows_nothing_without_rows() -> None:
    from types import SimpleNamespace

    bare: Any = SimpleNamespace(agent=agent(), tools={})
    assert known_to(bare, []).numbers == ()
