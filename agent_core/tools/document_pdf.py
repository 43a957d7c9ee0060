"""The text of a PDF, page by page. A page without text is a picture: nothing is guessed from it."""

import logging
from io import BytesIO
from typing import TYPE_CHECKING

from agent_core.tools.document_parts import CHARS, Document, Part
from agent_core.tools.spec import ToolFailure

if TYPE_CHECKING:
    from pypdf import PdfReader

PAGES = 500
EMPTY = 8  # characters; a page with fewer has no text, at most a page number


def read(data: bytes) -> Document:
    """Every page as a part `page N`. Raises ToolFailure for what is broken, locked, or scanned throughout."""
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(
        logging.CRITICAL
    )  # it reports every flaw that it can read past
    try:
        return _pages(_opened(data))
    except (
        *(PyPdfError, ValueError, LookupError, TypeError, AttributeError, OSError),
        *(RecursionError, ArithmeticError, AssertionError, NotImplementedError),
    ) as error:
        # pypdf raises what its code meets in a damaged file, beside errors of its own
        raise ToolFailure("The PDF is damaged and cannot be read. Send it again.") from error


def _opened(data: bytes) -> "PdfReader":
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    try:
        document = PdfReader(BytesIO(data))
        if not document.is_encrypted or document.decrypt(""):
            return document
    except (DependencyError, FileNotDecryptedError):
        pass
    raise ToolFailure("The PDF is locked with a password. Send it without.")


def _pages(document: "PdfReader") -> Document:
    count = len(document.pages)
    parts: list[Part] = []
    blank: list[int] = []
    size = 0
    for number, page in enumerate(document.pages, 1):
        if number > PAGES or size > CHARS:
            break
        text = page.extract_text().strip()
        size += len(text)
        if len(text) < EMPTY:
            blank.append(number)
        parts.append(Part(f"page {number}", text))
    if parts and len(blank) == len(parts):
        raise ToolFailure(
            f"The PDF has {count} pages without text: it is scanned. Send it as pictures, or with its text recognised."
        )
    notes = []
    if blank:
        notes.append(f"pages without text, perhaps pictures: {_listed(blank)}")
    if len(parts) < count:
        notes.append(f"only the first {len(parts)} of {count} pages are read")
    title = document.metadata.title if document.metadata else ""
    return Document("pdf", tuple(parts), " ".join(str(title or "").split())[:200], "; ".join(notes))


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:20]))
    return f"{shown} and {len(numbers) - 20} more" if len(numbers) > 20 else shown
