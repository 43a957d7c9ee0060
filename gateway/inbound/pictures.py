"""A picture that a person sent, as a model takes it: png, jpeg, gif or webp, not larger than models look at anyway."""

import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
FORMATS["MPO"] = FORMATS["JPEG"]  # what phones write: a JPEG with a second one behind it
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")
# Anthropic scales larger ones down itself (its page on vision), and refuses 5 MB of base64, which is a third longer.
MAX_EDGE = 1568
MAX_BYTES = 15 * 2**20 // 4
# A small file may unfold to gigabytes ("decompression bomb"). A JPEG is decoded at a fraction of its size, so a phone's
# largest photo (200 megapixels) is no trouble; others take four bytes for each pixel.
MAX_PIXELS, MAX_JPEG_PIXELS = 50_000_000, 220_000_000
QUALITY = 85


class NoPicture(Exception):
    """This cannot be opened as a picture, or it is too large to be opened safely."""


def is_picture(name: str, media_type: str) -> bool:
    """Whether the sender says that this is a picture, by type or by the ending of the name."""
    return media_type.startswith("image/") or name.lower().endswith(_ENDINGS)


def can_open(name: str, media_type: str) -> bool:
    """Whether `prepare` knows pictures such as this is said to be."""
    kind = media_type.lower()
    return kind in FORMATS.values() or (
        not kind.startswith("image/") and is_picture(name, media_type)
    )


@dataclass(frozen=True, slots=True)
class Picture:
    """Bytes that a model takes, and what they are."""

    data: bytes
    media_type: str


def prepare(data: bytes) -> Picture:
    """The picture, scaled down where it is too large. CPU-heavy: run it in a thread. Raises NoPicture.

    What it is is read off the bytes: names and media types of senders are often wrong.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # judged below
            image = Image.open(io.BytesIO(data), formats=tuple(FORMATS))
        with image:
            media_type = FORMATS[image.format or ""]
            most = MAX_JPEG_PIXELS if media_type == "image/jpeg" else MAX_PIXELS
            if image.width * image.height > most:
                raise NoPicture(f"{image.width} x {image.height} pixels")
            if max(image.size) <= MAX_EDGE and len(data) <= MAX_BYTES:
                # A provider refuses a damaged one, and with it every later request of the session.
                image.load()
                return Picture(data, media_type)
            return _smaller(image)
    except (OSError, ValueError, SyntaxError, KeyError, Image.DecompressionBombError) as e:
        raise NoPicture(str(e)) from e


def _smaller(image: "Image") -> Picture:
    from PIL import Image, ImageOps

    image.draft("RGB", (MAX_EDGE, MAX_EDGE))  # a JPEG is decoded at a fraction of its size
    upright = ImageOps.exif_transpose(image)
    upright.thumbnail((MAX_EDGE, MAX_EDGE), Image.Resampling.LANCZOS)
    clear = upright.has_transparency_data
    out = io.BytesIO()
    if clear or image.format == "PNG":  # text and charts stay sharp
        upright.convert("RGBA" if clear else "RGB").save(out, "PNG", optimize=False)
        if out.tell() <= MAX_BYTES:
            return Picture(out.getvalue(), "image/png")
        out = io.BytesIO()
    upright.convert("RGB").save(out, "JPEG", quality=QUALITY)
    return Picture(out.getvalue(), "image/jpeg")
