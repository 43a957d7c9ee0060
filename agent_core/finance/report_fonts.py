"""Fonts for PDF reports: DejaVu Sans, which comes with matplotlib, and for other glyphs the machine's Han font.

A PDF carries its glyphs with it, so the Han font is cut down to those that a document uses. Fonts with cubic outlines
(most Noto and Source Han files) get quadratic ones, since the PDF library takes no others.
"""

import io
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_core.errors import SwarmgateError
from agent_core.finance.chart_fonts import han_font

if TYPE_CHECKING:
    from fontTools.ttLib import TTFont

# Of a variable font the default instance is taken; of the rest a printed page needs nothing.
_DROPPED = [
    "fvar",
    "gvar",
    "avar",
    "HVAR",
    "VVAR",
    "MVAR",
    "STAT",
    "GSUB",
    "GPOS",
    "GDEF",
    "BASE",
    "vhea",
    "vmtx",
    "DSIG",
]
SHOWN = 8  # characters that a failure names
MAX_ERROR = 1.0  # of an outline, in units of the font (1000 or more to the em)


class NoGlyphs(SwarmgateError):
    """There is no font here for some characters of a text, the first few of which are `characters`."""

    def __init__(self, characters: str) -> None:
        super().__init__(characters)
        self.characters = characters

    def __str__(self) -> str:
        return f"no font on this machine has {self.characters}"


def latin_files() -> tuple[Path, Path]:
    """The files of the regular and the bold face."""
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return folder / "DejaVuSans.ttf", folder / "DejaVuSans-Bold.ttf"


@lru_cache(maxsize=1)
def latin_glyphs() -> frozenset[int]:
    """The code points that both Latin faces have."""
    from fontTools.ttLib import TTFont

    found = []
    for file in latin_files():
        with TTFont(file) as font:
            found.append(frozenset(font.getBestCmap() or ()))
    return frozenset.intersection(*found)


def is_latin(text: str) -> bool:
    """Whether the Latin faces have every glyph of a text."""
    return latin_glyphs().issuperset(map(ord, text))


def han_subset(texts: Iterable[str], also: str = "") -> bytes | None:
    """A TrueType font with the glyphs of those texts that the Latin faces cannot show; None where they show all.

    `also` are characters that the caller sets beside such texts.

    Raises NoGlyphs where there is no Han font here, or it lacks a glyph.
    """
    wanted = "".join(sorted({char for text in texts if not is_latin(text) for char in text}))
    if not wanted:
        return None
    wanted += also
    font = _han()
    glyphs = set(font.getBestCmap() or ()) if font else set()
    lacking = {char for char in wanted if ord(char) not in glyphs}
    if font is None or lacking:
        raise NoGlyphs("".join(sorted(lacking, key=lambda char: (is_latin(char), char))[:SHOWN]))
    return _cut(font, wanted)


def _han() -> "TTFont | None":
    """The machine's Han font, opened."""
    name = han_font()
    if name is None:
        return None
    from matplotlib.font_manager import FontProperties, findfont

    return face(Path(findfont(FontProperties(family=[name]))), name)


def face(file: Path, family: str) -> "TTFont | None":
    """The face of a family in a file of one or several; None where its outlines are of no use here."""
    from fontTools.ttLib import TTCollection, TTFont

    data = io.BytesIO(file.read_bytes())  # read by parts later on, when nobody would close a file
    if file.suffix.lower() in {".ttc", ".otc"}:
        faces = TTCollection(data, lazy=True).fonts
        font = next((f for f in faces if f["name"].getBestFamilyName() == family), faces[0])
    else:
        font = TTFont(data, lazy=True)
    return font if "glyf" in font or "CFF " in font else None


def _cut(font: "TTFont", text: str) -> bytes:
    from fontTools import subset

    options = subset.Options(notdef_outline=True, name_IDs=["*"], hinting=False, layout_features=[])
    options.drop_tables += _DROPPED
    cutter = subset.Subsetter(options)
    cutter.populate(text=text)
    cutter.subset(font)
    if "CFF " in font:
        _make_quadratic(font)
    out = io.BytesIO()
    font.save(out)
    return out.getvalue()


def _make_quadratic(font: Any) -> None:
    """Outlines of CFF become those of TrueType, in place."""
    from fontTools.pens.cu2quPen import Cu2QuPen
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from fontTools.ttLib import newTable

    drawn, made = font.getGlyphSet(), {}
    for name in font.getGlyphOrder():
        pen = TTGlyphPen(None)
        drawn[name].draw(Cu2QuPen(pen, MAX_ERROR, reverse_direction=True))
        made[name] = pen.glyph()
    font["loca"], font["glyf"] = newTable("loca"), newTable("glyf")
    font["glyf"].glyphOrder, font["glyf"].glyphs = font.getGlyphOrder(), made
    del font["CFF "]
    most = font["maxp"]
    most.tableVersion = 0x00010000
    for field in (
        "maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs", "maxStackElements",
        "maxSizeOfInstructions", "maxComponentElements", "maxPoints", "maxContours", "maxCompositePoints",
        "maxCompositeContours", "maxComponentDepth",
    ):  # fmt: skip
        setattr(most, field, 0)
    most.maxZones = 1
    font["post"].formatType = 3.0
    font.sfntVersion = "\000\001\000\000"
