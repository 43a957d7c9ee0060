"""A report's three forms: the same words in each, nothing of them is markup, and equal reports give equal bytes."""

import datetime as dt
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from markdown_it import MarkdownIt
from matplotlib.font_manager import fontManager
from pypdf import PdfReader

from agent_core.finance import chart_fonts, report_fonts
from agent_core.finance.charts import ChartRequest, draw
from agent_core.finance.report_document import (
    Bullets,
    Document,
    Paragraph,
    Picture,
    Section,
    Table,
)
from agent_core.finance.report_fonts import NoGlyphs
from agent_core.finance.report_html import to_html
from agent_core.finance.report_markdown import to_markdown
from agent_core.finance.report_pdf import shared, to_pdf
from tests.unit.agent_core.made_bars import bars_of

PNG = draw(ChartRequest(bars_of([10.0, 11.0, 12.0, 11.5]), 4, "Test", "测试"))
NOTICE = "Past results say nothing about the future; not investment advice."
SHARP = "<script>alert(1)</script> & *stars* [link](http://example.com) | pipe"
REPORT = Document(
    "Report on TEST",
    "Data to 2013-03-01",
    (
        Section("Summary", (Paragraph("The close rose by 29.53 %."), Bullets((SHARP, "second"))), "logic tool"),
        Section(
            "Price",
            (Picture("test.png", PNG, PNG, "TEST in four days"), Table(("Figure", "Value"), (("Close", "806.19"),))),
        ),
    ),
    (NOTICE,),
)  # fmt: skip
FAMILY = "Swarmgate Test Han"


def text_of(pdf: bytes) -> str:
    pages = PdfReader(io.BytesIO(pdf)).pages
    return " ".join(" ".join(page.extract_text() for page in pages).split())


class Page(HTMLParser):
    """The words of a page, its tags, and every address in it."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.feed(html.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [
            value or "" for name, value in attrs if name in {"src", "href", "srcset"}
        ]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_page_loads_and_runs_nothing_and_shows_words_as_they_are() -> None:
    page = Page(to_html(REPORT))
    assert "script" not in page.tags
    assert SHARP in page.words
    assert len(page.addresses) == 2, "a picture on light and one on dark paper"
    assert all(address.startswith("data:image/png;base64,") for address in page.addresses)
    assert NOTICE in page.words
    assert "The close rose by 29.53\u00a0%." in page.words, "a number keeps its unit"
    assert b"prefers-color-scheme: dark" in to_html(REPORT)


def test_markdown_shows_words_as_they_are_and_names_its_pictures() -> None:
    html = MarkdownIt("commonmark").enable("table").render(to_markdown(REPORT))
    page = Page(html.encode())
    assert {"table", "ul", "img", "h1", "h2"} <= set(page.tags)
    assert not {"script", "strong", "a"} & set(page.tags)
    assert page.addresses == ["test.png"]
    assert SHARP in "".join(page.words)
    assert NOTICE in page.words


def test_a_pdf_has_the_words_as_text_and_the_notice_on_each_page() -> None:
    many = tuple((f"Row {i}", f"{i}.50") for i in range(120))
    long = replace(
        REPORT, sections=(*REPORT.sections, Section("Rows", (Table(("Row", "Value"), many),)))
    )
    reader = PdfReader(io.BytesIO(to_pdf(long)))
    assert len(reader.pages) > 2
    assert reader.metadata is not None
    assert reader.metadata.title == REPORT.title
    for number, page in enumerate(reader.pages, 1):
        assert NOTICE in page.extract_text()
        assert f"Page {number}" in page.extract_text()
    text = text_of(to_pdf(long))
    for word in (SHARP, "29.53 %", "logic tool", "Row 119", "119.50", "TEST in four days"):
        assert word in text
    assert len(reader.pages[0].images) == 1


def test_equal_reports_give_equal_files() -> None:
    for form in (to_pdf, to_html, to_markdown):
        assert form(REPORT) == form(replace(REPORT))


def test_columns_share_what_room_there_is() -> None:
    assert shared([10.0, 300.0, 20.0], 130.0) == [10.0, 100.0, 20.0]
    assert shared([50.0, 300.0, 300.0], 250.0) == [50.0, 100.0, 100.0]


def made_font(folder: Path, kind: str, characters: str) -> Path:
    """A font of one shape for each character, in TrueType or CFF outlines."""
    names = {ord(char): f"uni{ord(char):04X}" for char in characters}
    order = [".notdef", *names.values()]
    font = FontBuilder(1000, isTTF=kind == "ttf")
    font.setupGlyphOrder(order)
    font.setupCharacterMap(names)
    pens = [TTGlyphPen(None) if kind == "ttf" else T2CharStringPen(1000, None) for _ in order]
    for pen in pens:
        pen.moveTo((100, 0))
        pen.lineTo((900, 0))
        pen.lineTo((900, 800))
        pen.closePath()
    if kind == "ttf":
        font.setupGlyf({name: pen.glyph() for name, pen in zip(order, pens, strict=True)})
    else:
        strings = {name: pen.getCharString() for name, pen in zip(order, pens, strict=True)}
        font.setupCFF("Made", {"FullName": FAMILY}, strings, {})
    font.setupHorizontalMetrics(dict.fromkeys(order, (1000, 100)))
    font.setupHorizontalHeader(ascent=880, descent=-120)
    font.setupNameTable({"familyName": FAMILY, "styleName": "Regular", "psName": "Made-Regular"})
    font.setupOS2()
    font.setupPost()
    file = folder / f"made.{kind}"
    font.save(file)
    return file


@pytest.fixture
def fonts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """The machine has no Han font but those that are added by this."""
    before = list(fontManager.ttflist)
    monkeypatch.setattr(chart_fonts, "HAN_FONTS", (FAMILY,))
    chart_fonts.han_font.cache_clear()

    def add(file: Path) -> None:
        fontManager.addfont(file)
        chart_fonts.han_font.cache_clear()

    yield add
    fontManager.ttflist = before
    chart_fonts.han_font.cache_clear()


HAN = replace(REPORT, language="zh", title="研究报告", notices=("不构成投资建议",))


@pytest.mark.parametrize("kind", ["ttf", "otf"])
def test_han_words_are_in_the_pdf_with_their_glyphs(
    kind: str, tmp_path: Path, fonts: Callable[[Path], None]
) -> None:
    """Fonts with cubic outlines, as most Noto files have, serve as well as those with quadratic ones."""
    letters = "".join(sorted(set("".join(HAN.words())) - {"测", "试"})) + "第页•0123456789"
    fonts(made_font(tmp_path, kind, letters))
    text = text_of(to_pdf(HAN))
    for word in ("研究报告", "不构成投资建议", "第1页", "806.19"):
        assert word in text.replace(" ", "")
    subset = report_fonts.han_subset(["研究", "plain words"])
    assert subset is not None
    glyphs = TTFont(io.BytesIO(subset))
    assert set(glyphs.getBestCmap() or ()) == set(map(ord, "研究"))
    assert glyphs["glyf"]["uni7814"].numberOfContours == 1


def test_each_document_has_the_glyphs_of_its_own_words(
    tmp_path: Path, fonts: Callable[[Path], None]
) -> None:
    """The library keeps fonts by name: those of the document before are not to be met again."""
    fonts(made_font(tmp_path, "otf", "研究报告涨跌•1234567890第页 "))
    for said in ("研究", "报告", "涨跌"):
        document = replace(REPORT, title=said, sections=(), notices=(said,))
        assert text_of(to_pdf(document)).count(said) == 3


def test_what_no_font_shows_is_refused_and_named(
    tmp_path: Path, fonts: Callable[[Path], None]
) -> None:
    with pytest.raises(NoGlyphs, match="不") as caught:
        to_pdf(HAN)
    assert "<" not in caught.value.characters, "first those that need another font"
    fonts(made_font(tmp_path, "ttf", "研究报告"))
    with pytest.raises(NoGlyphs, match="不"):
        to_pdf(HAN)


@pytest.mark.usefixtures("fonts")
def test_latin_words_need_no_han_font() -> None:
    assert report_fonts.han_subset(["−5.10 % · é … – ≤", str(dt.date(2013, 3, 1))]) is None
    assert re.search("29.53.%", text_of(to_pdf(REPORT)))
