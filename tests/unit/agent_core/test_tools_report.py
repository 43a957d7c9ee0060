"""generate_ai_report: figures that were computed, the same in each form; own records; what is kept; a model's view."""

import asyncio
import datetime as dt
import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from pypdf import PdfReader

from agent_core.book import Alert, Event, Holding, Profile, Report
from agent_core.errors import ModelTimeout
from agent_core.finance.bars import Bars
from agent_core.finance.fx import Rates
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources
from agent_core.models.scripted import Answer as Said
from agent_core.models.scripted import ScriptedModel
from agent_core.ports import Model
from agent_core.runtime.grounding import sources, ungrounded
from agent_core.tools import notices
from agent_core.tools.report import Answer, Shelf, report_tools
from agent_core.tools.spec import ToolFailure, ToolOutput, ToolSpec
from gateway.turns.grounds import invented
from tests.unit.agent_core.made_bars import bars_of
from tests.unit.agent_core.made_prices import MadeSource, weekdays
from tests.unit.agent_core.report_desk import Book, Books, context, one_worker

__all__ = ["one_worker"]
BUNDLED = Sources([BundledSource()])
NOW = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
PLAIN = {
    "kind": "market",
    "symbols": ["GOOG"],
    "format": "markdown",
}  # the quickest: it has no picture
QUARTER = {"symbols": ["GOOG"], "start": "2012-10", "end": "2012-12", "format": "markdown"}


def spec(shelf: Shelf | None = None, prices: Sources = BUNDLED) -> ToolSpec:
    (found,) = report_tools(prices, shelf)
    return found


async def run(
    tool: ToolSpec | None = None, args: dict[str, Any] | None = None, **how: Any
) -> ToolOutput:
    return await (tool or spec()).call(context(**how), args or QUARTER)


def fields(made: ToolOutput) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made.content)
    return found


def text(made: ToolOutput) -> str:
    """The words of a Markdown report."""
    file = made.artifacts[0]
    assert file.name.endswith(".md")
    return file.data.decode()  # type: ignore[union-attr]


def words(pdf: Any) -> str:
    return " ".join(
        " ".join(page.extract_text() for page in PdfReader(io.BytesIO(pdf.data)).pages).split()
    )


def test_it_runs_in_the_background_and_changes_nothing_outside() -> None:
    """TGV-3."""
    tool = spec()
    assert tool.background
    assert tool.read_only
    assert not tool.requires_approval
    assert (tool.credibility, tool.title["zh"]) == ("logic tool", "研究报告")


@pytest.mark.parametrize(
    ("language", "args"),
    [
        ("zh", QUARTER),
        ("en", {"symbols": ["GOOG", "AAPL"], "start": "2012", "format": "markdown"}),
        ("en", {"kind": "market", "topic": "Four names", "format": "markdown"}),
    ],
)
async def test_every_number_of_a_report_is_in_its_answer(
    language: Any, args: dict[str, Any]
) -> None:
    """CRD-2, and the check that answers are held to: nothing in the file was computed anywhere else."""
    made = await run(args=args, language=language)
    Answer.model_validate_json(made.content)
    whole = text(made)
    assert [f.text for f in ungrounded(whole, sources([made.content]), 0.0001)] == []
    assert notices.past(language) in whole
    figure = re.search(r"[0-9]+\.[0-9]{2} %", whole)
    assert figure
    wrong = whole.replace(figure[0], f"7{figure[0]}", 1)
    assert ungrounded(wrong, sources([made.content]), 0.0001), "one digit more is found"


async def test_its_figures_are_those_of_the_prices() -> None:
    bars = (await BUNDLED.bars("GOOG", None, None, None)).window(
        dt.date(2012, 10, 1), dt.date(2012, 12, 31)
    )
    made = await run()
    (found,) = fields(made)["symbols"]
    assert (found["first_close"], found["last_close"]) == (
        round(bars.close[0], 2),
        round(bars.close[-1], 2),
    )
    assert found["change_pct"] == round((bars.close[-1] / bars.close[0] - 1) * 100, 2)
    assert (found["high"], found["low"]) == (round(max(bars.high), 2), round(min(bars.low), 2))
    falls = [(1 - low / max(bars.close[: i + 1])) * 100 for i, low in enumerate(bars.close)]
    assert found["drawdown_pct"] == round(max(falls), 2)
    assert (found["source"], found["end"], found["days"]) == ("bundled", str(bars.as_of), len(bars))
    for said in (
        f"{bars.close[-1]:,.2f} USD",
        f"-{max(falls):.2f}"[1:],
        "bundled",
        "objective fact",
        "heuristic",
    ):
        assert said in text(made)
    assert made.summary.startswith(
        "Report on GOOG Alphabet (Google). GOOG: 707.38 USD on 2012-12-31"
    )


async def test_a_pdf_and_a_page_say_what_the_markdown_says() -> None:
    plain = PLAIN | {"format": "pdf"}
    assert await run(args=plain) == await run(args=plain), (
        "equal calls at one time give equal files"
    )
    (pdf,) = (await run(args=QUARTER | {"format": "pdf"})).artifacts
    assert pdf.name == "report-stock-GOOG-2012-10-01_2012-12-31.pdf"
    (page,) = (await run(args=QUARTER | {"format": "html"})).artifacts
    html = page.data.decode().replace("\u00a0", " ")  # type: ignore[union-attr]
    for said in (
        "707.38 USD",
        "Trend and levels",
        "GOOG: the newest",
        "Phase after Wyckoff, a heuristic",
    ):
        there = said in text(await run())
        assert (said in words(pdf), said in html) == (there, there)
    assert html.count("data:image/png") == 2


async def test_nothing_later_than_as_of_reaches_a_report() -> None:
    days = weekdays(300)
    close = [100 + i % 7 for i in range(299)] + [9999.0]
    whole = bars_of(close, dates=days, symbol="GOOG")
    day = days[-2]
    told = await run(spec(prices=Sources([MadeSource((whole,))])), PLAIN, as_of=str(day))
    cut = whole.until(day)
    known = await run(spec(prices=Sources([MadeSource((cut,))])), PLAIN, as_of=str(day))
    assert told.content == known.content
    assert text(told) == text(known)
    assert "9,999" not in text(told)
    assert f"Data to {day}" in text(told)


def _event(
    kind: str, said: str, day: str, codes: tuple[str, ...] = ("GOOG",), level: str = "logic tool"
) -> Event:
    return Event(
        kind, said, dt.datetime.fromisoformat(f"{day}T12:00:00+00:00"), codes, credibility=level
    )


async def test_own_records_are_told_with_date_and_level_in_a_private_chat_alone() -> None:
    """MSC-5, CRD-2, DESIGN.md 3.4."""
    book = Book()
    for event in (
        _event("decision", "GOOG: hold until 750", "2026-01-02"),
        _event("news", "a guru is thrilled", "2026-01-03", level="emotional view"),
        _event("trade", "sold IBM", "2026-01-03", codes=("IBM",)),
        _event("decision", "GOOG: too old", "2025-06-01"),
    ):
        await book.put("telegram:1", event)
    await book.put("telegram:2", _event("decision", "bob on GOOG", "2026-01-03"))
    await book.put("telegram:1", Alert("GOOG above 800", NOW, "GOOG"))
    await book.put("telegram:1", Alert("GOOG was above 700", NOW, "GOOG", state="done"))
    made = await run(spec(Shelf(book, Books())), PLAIN)
    own = text(made).split("## Your own records")[1].split("##")[0]
    rows = [line for line in own.splitlines() if line.startswith("| 20")]
    assert rows == [
        "| 2026-01-03 | news | a guru is thrilled | emotional view |",
        "| 2026-01-02 | decision | GOOG: hold until 750 | logic tool |",
        "| 2026-01-05 | alert | GOOG above 800 |  |",
    ]
    assert fields(made)["credibility"] == "emotional view", (
        "the least credible part decides for all"
    )
    group = await run(spec(Shelf(book, Books(place=False))), PLAIN)
    assert "guru" not in text(group) + group.content
    early = await run(spec(Shelf(book, Books())), PLAIN, as_of="2026-01-02")
    assert "guru" not in text(early)
    assert "hold until 750" in text(early)


async def test_a_report_is_kept_with_an_event_and_renews_profiles() -> None:
    """RMB-2, SIX-1: its conclusion, for its owner; a fused signal is not a report's to change."""
    book = Book()
    await book.put(
        "telegram:1", Profile("GOOG", "old", NOW, signal="buy on 2012-01-03", source="x")
    )
    made = await run(spec(Shelf(book)))
    assert fields(made)["kept"]
    (report,) = book.of(Report)
    assert (report.title, report.codes, report.at) == (
        "Report on GOOG Alphabet (Google)",
        ("GOOG",),
        NOW,
    )
    assert report.text == fields(made)["conclusion"]
    (event,) = book.of(Event)
    assert (event.kind, event.codes, event.source) == ("report", ("GOOG",), "generate_ai_report")
    profile = book.of(Profile)[-1]
    assert (profile.text, profile.signal, profile.source) == (
        report.text,
        "buy on 2012-01-03",
        "generate_ai_report",
    )
    assert {owner for owner, _ in book.kept} == {"telegram:1"}
    assert not fields(await run(args=PLAIN))["kept"], "without a book nothing is"


# A model's view ---------------------------------------------------------------------------------------------------


async def viewed(*script: Said | str, **how: Any) -> tuple[ToolOutput, ScriptedModel]:
    model = ScriptedModel(script)
    asked: Model = model
    return await run(spec(Shelf(ungrounded=invented)), PLAIN, model=asked, **how), model


async def test_a_view_by_a_model_is_told_as_one_where_each_number_was_computed() -> None:
    """CRD-1: words of a model are no fact."""
    said = "GOOG closed at 806.19 USD.\n\nA heuristic calls it distribution."
    made, model = await viewed(said)
    view = text(made).split("## View")[1].split("##")[0]
    assert view.startswith(" (mixed, written by a model)")
    assert "GOOG closed at 806.19 USD." in view
    assert "scripted/test" in view
    assert fields(made)["credibility"] == "mixed"
    assert '"last_close":806.19' in model.requests[0].messages[0].text
    assert "English" in model.requests[0].system


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("It will reach 850.25 USD.", "not computed here: 850.25"),
        (Said("It closed at 806.19", stop="max_tokens"), "it gave none"),
        (Said("It", error=ModelTimeout("scripted", "idle", 30.0)), "ModelTimeout"),
    ],
)
async def test_a_view_that_cannot_be_trusted_is_left_out_and_that_is_said(
    script: Any, why: str
) -> None:
    made, _ = await viewed(script)
    assert "## View" not in text(made)
    assert fields(made)["narrative"] == ""
    assert why in fields(made)["note"]
    assert fields(made)["credibility"] == "logic tool"


# A book and a market ----------------------------------------------------------------------------------------------


async def test_a_report_on_the_own_book_is_for_a_private_chat() -> None:
    """DESIGN.md 3.4."""
    rates, held = Rates(), Holding("GOOG", 10, 500.0, NOW, currency="USD")
    args = {"kind": "portfolio", "format": "markdown"}
    for shelf, why in (
        (Shelf(), "no portfolio store"),
        (Shelf(books=Books(held, place=False), rates=rates), "private"),
        (Shelf(books=Books(), rates=rates), "empty"),
    ):
        with pytest.raises(ToolFailure, match=why):
            await run(spec(shelf), args)
    made = await run(spec(Shelf(books=Books(held, replace(held, symbol="IBM")), rates=rates)), args)
    rows = [line for line in text(made).splitlines() if line.startswith("| GOOG | 10 |")]
    assert rows == ["| GOOG | 10 | 500.00 USD | 806.19 USD | 8,061.90 USD | +61.24 % | 79.89 % |"]
    assert [f.text for f in ungrounded(text(made), sources([made.content]), 0.0001)] == []
    assert [file.name for file in made.artifacts][1:] == ["portfolio.png"]


async def test_a_market_that_no_font_can_name_is_a_page_and_that_is_said() -> None:
    """Never boxes."""
    made = await run(args={"kind": "market", "topic": "🚀 names", "symbols": ["GOOG", "IBM"]})
    (page,) = made.artifacts
    assert page.name.endswith(".html")
    assert "HTML instead of PDF: no font on this machine has 🚀" in fields(made)["note"]
    assert "🚀 names" in page.data.decode()  # type: ignore[union-attr]
    assert "no font" in made.summary


# Bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({}, "name 1 to 6"),
        ({"topic": "technology in general"}, "name 1 to 6"),
        ({"symbols": list("ABCDEFG")}, "name 1 to 6"),
        ({"symbols": ["NOSUCHNAME"]}, "no symbol is named"),
        ({"symbols": ["GOOG"], "start": "2030"}, "no prices of GOOG"),
        ({"symbols": ["GOOG"], "format": "docx"}, "format"),
        ({"kind": "market", "symbols": [f"S{i}" for i in range(13)]}, "at most 12"),
    ],
)
async def test_what_cannot_be_reported_is_refused_in_one_line(
    args: dict[str, Any], why: str
) -> None:
    with pytest.raises(ToolFailure, match=why) as caught:
        await run(args=args or {"format": "pdf"})
    assert "\n" not in str(caught.value)


async def test_what_is_missing_is_named_and_a_topic_names_symbols() -> None:
    asked = {
        "topic": "GOOG against TSLA",
        "start": "2012-10",
        "end": "2012-12",
        "format": "markdown",
    }
    made = await run(args=asked)
    assert [one["symbol"] for one in fields(made)["symbols"]] == ["GOOG"]
    assert "TSLA" in fields(made)["missing"][0]
    assert "TSLA" in text(made).split("## Limits")[1]


async def test_few_bars_and_days_without_volume_make_a_report_that_says_what_is_missing() -> None:
    thin: Bars = bars_of([10.0, 10.5, 10.2], volume=[0.0, 0.0, 0.0], dates=weekdays(3))
    made = await run(
        spec(prices=Sources([MadeSource((thin,))])), {"symbols": ["TEST"], "format": "markdown"}
    )
    assert "| SMA200 | — |" in text(made)
    assert "Volumes are missing" in text(made)
    assert "3 of 3 days have no volume" in text(made).split("## Limits")[1]


async def test_a_report_that_is_cancelled_is_not_kept_and_ends_the_call_of_its_model() -> None:
    """BGT-1: a cancelled task leaves nothing behind."""
    asked, book = asyncio.Event(), Book()

    async def forever(_: object) -> Said:
        asked.set()
        await asyncio.Event().wait()
        return Said("")

    model = ScriptedModel(forever)
    task = asyncio.create_task(run(spec(Shelf(book, ungrounded=invented)), PLAIN, model=model))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert book.kept == []
    assert model.finished == []
