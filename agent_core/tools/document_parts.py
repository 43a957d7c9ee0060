"""What the readers of documents share: a document as parts of text, and archives whose sizes are judged before use."""

import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from typing import Literal

from agent_core.tools.spec import ToolFailure

Kind = Literal["pdf", "word", "excel", "table", "text"]
UNPACKED = 200 * 2**20  # bytes that an archive may unpack to
RATIO = 200  # ... times its own size, above which it is taken for a bomb
FREE = 10 * 2**20  # unpacked bytes that any archive may have, however well it packs
ENTRIES = 5_000
CHARS = 4_000_000  # of the text of one document


@dataclass(frozen=True, slots=True)
class Part:
    """A page of a PDF or a sheet of a workbook; other documents are one part without a name."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document's text. `note` says what was left out, "" for nothing."""

    kind: Kind
    parts: tuple[Part, ...]
    title: str = ""
    note: str = ""

    def text(self, only: str = "") -> str:
        """All parts with their names as marks, or the part of that name. Raises KeyError for a part that is not."""
        if only:
            return {part.name.lower(): part.text for part in self.parts}[only.lower()]
        return "\n\n".join(
            f"[{part.name}]\n{part.text}" if part.name else part.text for part in self.parts
        )


def unpacked(data: bytes) -> zipfile.ZipFile:
    """The archive, once its sizes are judged. Raises ToolFailure for one that is broken, encrypted or a bomb."""
    try:
        archive = zipfile.ZipFile(BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise ToolFailure("The file is damaged: it cannot be unpacked. Send it again.") from error
    entries = archive.infolist()
    if any(entry.flag_bits & 1 for entry in entries):
        raise ToolFailure("The file is encrypted. Send it without a password.")
    total = sum(entry.file_size for entry in entries)
    if len(entries) > ENTRIES or total > UNPACKED or total > max(FREE, RATIO * len(data)):
        raise ToolFailure("The file unpacks to far more than a document holds; it is not read.")
    return archive


def entry_of(archive: zipfile.ZipFile, name: str, limit: int = UNPACKED) -> bytes:
    """One file of an archive; a size that lies is cut off by the limit. Raises KeyError, ToolFailure."""
    try:
        with archive.open(name) as file:
            data = file.read(limit + 1)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise ToolFailure("The file is damaged: it cannot be unpacked. Send it again.") from error
    if len(data) > limit:
        raise ToolFailure("The file unpacks to far more than a document holds; it is not read.")
    return data


def joined(pieces: Iterable[str], limit: int = CHARS) -> tuple[str, bool]:
    """Pieces up to the limit of characters, and whether there were more."""
    kept: list[str] = []
    size = 0
    for piece in pieces:
        if size + len(piece) > limit:
            kept.append(piece[: limit - size])
            return "".join(kept), True
        kept.append(piece)
        size += len(piece)
    return "".join(kept), False
