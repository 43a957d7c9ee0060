"""Word and Excel documents and CSV tables as text: cells are joined by ` | `, formulas show the value they last had."""

import csv
import datetime as dt
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from io import BytesIO, StringIO
from itertools import islice
from typing import Any
from xml.etree.ElementTree import ParseError

from agent_core.tools import decode
from agent_core.tools.document_parts import CHARS, Document, Part, entry_of, joined, unpacked
from agent_core.tools.spec import ToolFailure

CELLS = 200_000  # of one document
COLUMNS = 200
ROWS = 50_000  # of one sheet or table
SHEETS = 50
XML = 50 * 2**20
BAR = " | "
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DELIMITERS = ",;\t|"
_SAMPLE = 20_000  # characters by which the delimiter is told


def read_word(data: bytes) -> Document:
    """Paragraphs and tables in order. Text that was deleted under revision is left out."""
    with unpacked(data) as archive:
        root = _xml(entry_of(archive, "word/document.xml", XML))
    body = root.find(f"{_W}body")
    lines = _blocks(body) if body is not None else iter(())
    text, more = joined(f"{line}\n" for line in lines)
    note = f"only the first {CHARS:,} characters are read" if more else ""
    return Document("word", (Part("", text.strip()),), note=note)


def _xml(data: bytes) -> Any:
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        return fromstring(data, forbid_dtd=True)
    except DefusedXmlException:
        raise ToolFailure(
            "The document declares XML entities, which no document needs; it is not read."
        ) from None
    except ParseError as error:
        raise ToolFailure("The document is damaged and cannot be read. Send it again.") from error


def _blocks(body: Any) -> Iterator[str]:
    for child in body:
        if child.tag == f"{_W}p":
            yield _paragraph(child)
        elif child.tag == f"{_W}tbl":
            for row in child.iter(f"{_W}tr"):
                cells = row.findall(f"{_W}tc")
                yield BAR.join(
                    " ".join(_paragraph(p) for p in cell.iter(f"{_W}p")).strip() for cell in cells
                )
            yield ""
        elif child.tag in (f"{_W}sdt", f"{_W}sdtContent"):
            yield from _blocks(child)


def _paragraph(paragraph: Any) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    name = "" if style is None else str(style.get(f"{_W}val", "")).lower()
    words = []
    for node in paragraph.iter():
        if node.tag == f"{_W}t":
            words.append(node.text or "")
        elif node.tag == f"{_W}tab":
            words.append("\t")
        elif node.tag in (f"{_W}br", f"{_W}cr"):
            words.append("\n")
    text = "".join(words).strip()
    if text and name.startswith("heading") and name[7:8].isdigit():
        return f"{'#' * min(int(name[7:8]), 6)} {text}"
    return text


def read_excel(data: bytes) -> Document:
    """Every visible sheet as a part of its name. Values only: no formula is computed and no macro run."""
    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    unpacked(data).close()
    try:
        book = openpyxl.load_workbook(
            BytesIO(data), read_only=True, data_only=True, keep_links=False, keep_vba=False
        )
        try:
            return _sheets(book)
        finally:
            book.close()
    except (
        InvalidFileException,
        zipfile.BadZipFile,
        ParseError,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        IndexError,
        EOFError,
        OSError,
    ) as error:
        # openpyxl raises what its code meets in a damaged file
        raise ToolFailure("The workbook is damaged and cannot be read. Send it again.") from error


def _sheets(book: Any) -> Document:
    shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    parts: list[Part] = []
    notes: list[str] = []
    left, chars = CELLS, CHARS
    for sheet in shown[:SHEETS]:
        rows = sheet.iter_rows(max_row=ROWS, max_col=COLUMNS, values_only=True)
        text, used, more = _table(rows, left, chars)
        left, chars = left - used, chars - len(text)
        parts.append(Part(str(sheet.title), text))
        if more or (sheet.max_row or 0) > ROWS or (sheet.max_column or 0) > COLUMNS:
            notes.append(f"the sheet {sheet.title} is not read to its end")
    hidden = len(book.worksheets) - len(shown)
    if hidden:
        notes.append(f"hidden sheets left out: {hidden}")
    if len(shown) > SHEETS:
        notes.append(f"only the first {SHEETS} of {len(shown)} sheets are read")
    return Document("excel", tuple(parts), note="; ".join(notes))


def read_table(name: str, data: bytes) -> Document:
    """A CSV file in whatever encoding and with whatever delimiter."""
    text, _ = decode.decode(data)
    rows = csv.reader(StringIO(text, newline=""), delimiter=_delimiter(name, text[:_SAMPLE]))
    try:
        table, _, more = _table(islice(rows, ROWS), CELLS, CHARS)
        more = more or next(rows, None) is not None
    except csv.Error as error:
        raise ToolFailure(f"The table cannot be read: {error}.") from error
    note = "the table is not read to its end" if more else ""
    return Document("table", (Part("", table),), note=note)


def _delimiter(name: str, sample: str) -> str:
    """The mark that cuts most lines into equally many cells; csv.Sniffer gives up on short tables."""
    best, score = "\t" if name.lower().endswith(".tsv") else ",", 0.0
    for mark in _DELIMITERS:
        try:
            widths = Counter(
                len(row) for row in csv.reader(StringIO(sample, newline=""), delimiter=mark) if row
            )
        except csv.Error:
            continue
        width, count = max(widths.items(), key=lambda item: item[1], default=(1, 0))
        if width > 1 and count / widths.total() > score:
            best, score = mark, count / widths.total()
    return best


def _table(rows: Iterable[Iterable[object]], cells: int, chars: int) -> tuple[str, int, bool]:
    """Lines of the rows that hold anything, how many cells they took, and whether a bound cut them off."""
    lines: list[str] = []
    used = size = 0
    for row in rows:
        values = [_shown(value) for value in row]
        while values and not values[-1]:
            values.pop()
        if not values:
            continue
        line = BAR.join(values)
        used += len(values)
        size += len(line) + 1
        if used > cells or size > chars:
            return "\n".join(lines), used, True
        lines.append(line)
    return "\n".join(lines), used, False


def _shown(value: object) -> str:
    """A cell as text: whole numbers without a point, days without a midnight."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, dt.datetime):
        return str(value.date()) if value.time() == dt.time() else value.isoformat(" ", "seconds")
    return " ".join(str(value).split())
