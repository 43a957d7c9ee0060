"""A file that a person sent, as text: PDF, Word, Excel, tables and plain text, told by content before name.

Runs in the reading process (reading.py). Everything is bounded: pages, cells, and what an archive unpacks to. No macro
is run, no formula computed, no link followed, no external entity read.
"""

from collections.abc import Callable

from agent_core.tools import decode, document_office, document_pdf
from agent_core.tools.document_parts import CHARS, Document, Kind, Part, joined, unpacked
from agent_core.tools.spec import ToolFailure

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LEGACY = {"xls": "xlsx", "doc": "docx", "ppt": "pptx", "dot": "docx"}


def read(name: str, data: bytes) -> Document:
    """The text of a file. Raises ToolFailure in one line for what cannot be read, and why."""
    kind = kind_of(name, data)
    reader: dict[Kind, Callable[[bytes], Document]] = {
        "pdf": document_pdf.read,
        "word": document_office.read_word,
        "excel": document_office.read_excel,
        "table": lambda found: document_office.read_table(name, found),
        "text": _plain,
    }
    return reader[kind](data)


def kind_of(name: str, data: bytes) -> Kind:
    """What a file is. Raises ToolFailure for kinds that are not read here."""
    ending = name.lower().rpartition(".")[2]
    if data[:1024].lstrip().startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(_OLE):
        return _refuse_ole(ending)
    if data.startswith(b"PK"):
        return _archive_kind(data)
    if decode.is_binary(data):
        raise ToolFailure(
            f"{name} is no document that is read here: PDF, Word, Excel, CSV or text."
        )
    return "table" if ending in {"csv", "tsv"} else "text"


def is_readable(name: str, media_type: str) -> bool:
    """Whether name or type promise a document of these kinds that is not shown to the model as plain text anyway."""
    ending = name.lower().rpartition(".")[2]
    kind = media_type.partition(";")[0].strip().lower()
    office = kind.startswith("application/vnd.openxmlformats-officedocument.")
    return (
        ending in {"pdf", "docx", "docm", "xlsx", "xlsm"} or kind == "application/pdf" or office
    ) and ending != "pptx"


def _refuse_ole(ending: str) -> Kind:
    """Old Office files, and new ones with a password, share one wrapping."""
    if ending in _LEGACY:
        better = _LEGACY[ending]
        raise ToolFailure(f"Old .{ending} files are not read; save it as .{better} and send that.")
    raise ToolFailure("The file is encrypted, or of an old Office format. Save it anew without.")


def _archive_kind(data: bytes) -> Kind:
    with unpacked(data) as archive:
        names = set(archive.namelist())
    if "word/document.xml" in names:
        return "word"
    if "xl/workbook.xml" in names:
        return "excel"
    raise ToolFailure("This archive is no Word or Excel document. Send the files in it one by one.")


def _plain(data: bytes) -> Document:
    text, _ = decode.decode(data)
    kept, more = joined([text])
    return Document(
        "text",
        (Part("", kept),),
        note=f"only the first {CHARS:,} characters are read" if more else "",
    )
