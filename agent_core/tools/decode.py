"""Bytes of a text into characters: the marked encoding, what the text says of itself, UTF-8, then GB 18030."""

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SELF_SAID = re.compile(
    rb"""<meta[^>]{0,200}?charset=["']?([\w-]{2,40})|<\?xml[^>]{0,100}?encoding=["']([\w-]{2,40})""",
    re.IGNORECASE,
)
_HEAD = 2_048  # bytes within which a page names its encoding
# Browsers take these names for the larger sets that pages really use.
_LARGER = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252"}
# Those that browsers know, by Python's names. A stranger names the encoding, and Python has others that are no text, or
# take minutes for what is made to be slow (punycode).
_ENCODINGS = frozenset(
    {
        *("ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"),
        *(f"iso8859-{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)),
        *(f"cp125{n}" for n in range(9)),
        *("cp866", "cp874", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "tis-620"),
        *("gb2312", "gbk", "gb18030", "big5", "big5hkscs", "cp949", "cp950", "euc_kr"),
        *("euc_jp", "shift_jis", "cp932", "iso2022_jp"),
    }
)


def is_binary(data: bytes) -> bool:
    """Whether this is no text in any encoding that is read here."""
    return not any(data.startswith(bom) for bom, _ in _BOMS) and b"\0" in data


def decode(data: bytes, charset: str | None = None) -> tuple[str, str]:
    """The text and the name of the encoding. `charset` is what was told along with it, which may be wrong.

    Never raises: what fits no encoding is shown with replacement characters.
    """
    for bom, marked in _BOMS:
        if data.startswith(bom):
            return data.decode(marked, "replace"), marked
    said = _SELF_SAID.search(data[:_HEAD])
    named = (said[1] or said[2]).decode("ascii") if said else None
    for name in (charset, named, "utf-8", "gb18030"):
        known = _known(name)
        if known is None:
            continue
        try:
            return data.decode(known), known
        except UnicodeDecodeError:
            continue
    return data.decode(_known(charset) or _known(named) or "utf-8", "replace"), "unknown"


def _known(name: str | None) -> str | None:
    """Python's name of an encoding of the web; None for what is none."""
    try:
        found = codecs.lookup(name or "").name
    except (LookupError, ValueError):
        return None
    return _LARGER.get(found, found) if found in _ENCODINGS else None
