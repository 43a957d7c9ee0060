"""A report as PDF on A4 pages, by reportlab: text that can be searched, fonts inside, a notice on each page."""

import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

from agent_core.finance.chart_theme import THEMES
from agent_core.finance.report_document import (
    Block,
    Bullets,
    Document,
    Paragraph,
    Picture,
    Section,
    Table,
    unbroken,
)
from agent_core.finance.report_fonts import han_subset, is_latin, latin_files

LATIN, BOLD, HAN = "Swarmgate", "SwarmgateBold", "SwarmgateHan"
MARGIN = 56.0  # points, at all sides
INSET = 6.0  # points that the library leaves free within its frames
WHOLE = 12  # rows; a table with more may be split between pages
CELL, PAD = 8.5, 4.0
BULLET = "•"
_SETTING = threading.Lock()  # the library's fonts belong to the whole process
_COLOURS = THEMES["light"]


def to_pdf(document: Document) -> bytes:
    """The file; equal documents give equal bytes. Raises NoGlyphs where no font here has a character of it."""
    words = [*map(unbroken, document.words()), _page(document, 1234567890)]
    han = han_subset(words, BULLET)
    with _SETTING, _fonts(han):
        return _Pages(document, han=han is not None).file()


def _page(document: Document, number: int) -> str:
    return f"第 {number} 页" if document.language == "zh" else f"Page {number}"


class _Pages:
    """One document while it is laid out."""

    def __init__(self, document: Document, *, han: bool) -> None:
        from reportlab.lib.pagesizes import A4

        self.document = document
        self.has_han = han
        self.width = A4[0] - 2 * (MARGIN + INSET)
        self.size = A4

    def file(self) -> bytes:
        """Lay all out."""
        from reportlab.platypus import SimpleDocTemplate

        out = io.BytesIO()
        pages = SimpleDocTemplate(
            out, pagesize=self.size, leftMargin=MARGIN, rightMargin=MARGIN, topMargin=MARGIN, bottomMargin=MARGIN,
            title=self.document.title, author="Swarmgate", lang=self.document.language, invariant=1,
        )  # fmt: skip
        pages.build(self._story(), onFirstPage=self._foot, onLaterPages=self._foot)
        return out.getvalue()

    def _story(self) -> list[Any]:
        document = self.document
        story = [
            self._text(document.title, 18, bold=True, after=2),
            self._text(document.below, 9, faint=True),
        ]
        for section in document.sections:
            story += self._section(section)
        story.append(self._space(12))
        story += [self._text(notice, 8.5, faint=True, after=2) for notice in document.notices]
        return story

    def _section(self, section: Section) -> list[Any]:
        from reportlab.platypus import HRFlowable, KeepTogether

        line = HRFlowable(
            width="100%", thickness=0.6, color=_COLOURS.grid, spaceBefore=12, spaceAfter=6
        )
        head = [line, self._text(section.title, 12.5, bold=True, after=2)]
        if section.label:
            head.append(self._text(section.label, 8, faint=True, after=4))
        made: list[Any] = []
        for block in section.blocks:
            parts, head = [*head, *self._block(block)], []
            long = isinstance(block, Table) and len(block.rows) > WHOLE
            made += parts if long else [KeepTogether(parts)]
        return made

    def _block(self, block: Block) -> list[Any]:
        match block:
            case Paragraph():
                return [self._text(block.text, 8.5 if block.small else 10, faint=block.small)]
            case Bullets():
                return [
                    self._text(f"{BULLET} {item}", 9.5, hang=10, after=3) for item in block.items
                ]
            case Table():
                return self._table(block)
            case Picture():
                return self._picture(block)

    def _picture(self, picture: Picture) -> list[Any]:
        from reportlab.lib.utils import ImageReader
        from reportlab.platypus import Image

        wide, high = ImageReader(io.BytesIO(picture.light)).getSize()
        image = Image(io.BytesIO(picture.light), self.width, self.width * high / wide)
        return [image, self._text(picture.caption, 8, faint=True)]

    def _table(self, table: Table) -> list[Any]:
        from reportlab.platypus import Table as Grid

        widths = self._widths(table)
        cells = [
            [self._cell(cell, right=table.figures and i > 0, faint=row is table.header) for i, cell in enumerate(row)]
            for row in (table.header, *table.rows)
        ]  # fmt: skip
        style = [
            ("LINEBELOW", (0, 0), (-1, -1), 0.4, _COLOURS.grid), ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("LEFTPADDING", (0, 0), (-1, -1), PAD), ("RIGHTPADDING", (0, 0), (-1, -1), PAD),
            ("TOPPADDING", (0, 0), (-1, -1), 2.5), ("BOTTOMPADDING", (0, 0), (-1, -1), 3.5),
        ]  # fmt: skip
        grid = Grid(cells, colWidths=widths, style=style, repeatRows=1, hAlign="LEFT")
        return [grid, self._space(8)]

    def _widths(self, table: Table) -> list[float]:
        """As wide as their words where there is room; else wide columns share what the narrow ones leave."""
        from reportlab.pdfbase.pdfmetrics import stringWidth

        rows = (table.header, *table.rows)
        natural = [
            max(stringWidth(row[i], self._font(row[i]), CELL) for row in rows) + 2 * PAD + 2
            for i in range(len(table.header))
        ]
        if sum(natural) <= self.width:
            spare = (self.width - sum(natural)) / len(natural)
            return [width + spare for width in natural]
        return shared(natural, self.width)

    def _cell(self, text: str, *, right: bool, faint: bool) -> Any:
        return self._text(text, CELL, faint=faint, right=right, after=0)

    def _text(
        self, text: str, size: float, *, bold: bool = False, faint: bool = False, right: bool = False,
        hang: float = 0.0, after: float = 6.0,
    ) -> Any:  # fmt: skip
        from reportlab.lib.colors import HexColor
        from reportlab.lib.styles import ParagraphStyle
        from reportlab.platypus import Paragraph as Flow

        font = self._font(text, bold=bold)
        style = ParagraphStyle(
            "text", fontName=font, fontSize=size, leading=size * 1.4, spaceAfter=after, alignment=2 if right else 0,
            textColor=HexColor(_COLOURS.faint if faint else _COLOURS.ink), leftIndent=hang, firstLineIndent=-hang,
            wordWrap="CJK" if font == HAN else "LTR", splitLongWords=1,
        )  # fmt: skip
        return Flow(escape(unbroken(text), quote=False), style)

    def _font(self, text: str, *, bold: bool = False) -> str:
        if self.has_han and not is_latin(text):
            return HAN
        return BOLD if bold else LATIN

    def _space(self, points: float) -> Any:
        from reportlab.platypus import Spacer

        return Spacer(1, points)

    def _foot(self, canvas: Any, pages: Any) -> None:
        """The first notice and the page's number, at the lower edge."""
        words = self.document.notices[0] if self.document.notices else ""
        number = _page(self.document, pages.page)
        canvas.saveState()
        canvas.setFillColor(_COLOURS.faint)
        canvas.setFont(self._font(words), 7.5)
        canvas.drawString(MARGIN + INSET, MARGIN / 2, words)
        canvas.setFont(self._font(number), 7.5)
        canvas.drawRightString(MARGIN + INSET + self.width, MARGIN / 2, number)
        canvas.restoreState()


def shared(natural: Sequence[float], width: float) -> list[float]:
    """Widths that add up to `width`: who needs no more than an equal share gets it, the others share the rest."""
    given: dict[int, float] = {}
    for i in sorted(range(len(natural)), key=natural.__getitem__):
        share = (width - sum(given.values())) / (len(natural) - len(given))
        given[i] = min(natural[i], share)
    return [given[i] for i in range(len(natural))]


@contextmanager
def _fonts(han: bytes | None) -> Iterator[None]:
    """The fonts under their names; the Han font for one document alone, as each has glyphs of its own."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    for name, file in zip((LATIN, BOLD), latin_files(), strict=True):
        if name not in pdfmetrics.getRegisteredFontNames():
            pdfmetrics.registerFont(TTFont(name, str(file)))
    font = None if han is None else TTFont(HAN, io.BytesIO(han))
    if font is not None:
        pdfmetrics.registerFont(font)
    try:
        yield
    finally:
        if font is not None:
            known: Any = (
                pdfmetrics  # it never forgets a font, and takes the first of a name or face for all
            )
            del known._fonts[HAN]  # noqa: SLF001 - it offers no other way
            del known._dynFaceNames[font.face.name]  # noqa: SLF001
