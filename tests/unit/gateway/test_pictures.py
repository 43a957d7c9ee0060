"""Pictures as models take them."""

import io

import pytest
from PIL import Image

from gateway.inbound.pictures import MAX_BYTES, MAX_EDGE, NoPicture, is_picture, prepare
from tests.unit.gateway.media_house import drawn


@pytest.mark.parametrize(
    ("form", "media_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")],
)
def test_a_small_picture_stays_as_it_is(form: str, media_type: str) -> None:
    data = drawn(form=form)
    picture = prepare(data)
    assert (picture.data, picture.media_type) == (data, media_type)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_large_one_is_scaled_down(form: str) -> None:
    picture = prepare(drawn(4000, 1000, form))
    with Image.open(io.BytesIO(picture.data)) as image:
        assert image.size == (MAX_EDGE, 392)
        assert Image.MIME[image.format or ""] == picture.media_type


def test_a_heavy_one_of_few_pixels_gets_light() -> None:
    out = io.BytesIO()
    Image.merge("RGB", [Image.effect_noise((1500, 1500), 90) for _ in range(3)]).save(out, "PNG")
    assert len(out.getvalue()) > MAX_BYTES
    picture = prepare(out.getvalue())
    assert len(picture.data) <= MAX_BYTES
    assert picture.media_type == "image/jpeg"


def test_a_scaled_photo_stands_upright() -> None:
    """EXIF orientation 6: the camera was turned; models do not read EXIF."""
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = prepare(drawn(3000, 1000, "JPEG", exif=exif))
    with Image.open(io.BytesIO(picture.data)) as image:
        assert image.height > image.width


def test_transparency_stays() -> None:
    out = io.BytesIO()
    Image.new("RGBA", (2000, 2000), (0, 0, 0, 0)).save(out, "PNG")
    picture = prepare(out.getvalue())
    assert picture.media_type == "image/png"
    with Image.open(io.BytesIO(picture.data)) as image:
        assert image.mode == "RGBA"


def bomb() -> bytes:
    """A PNG whose head promises 30,000 by 30,000 pixels."""
    import struct
    import zlib

    head = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    return (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GIF89a",
        b"\x89PNG\r\n\x1a\n",
        b"%PDF-1.7",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        drawn(3000, 3000)[:200],
        drawn(300, 300, "BMP"),
        *(drawn(300, 300, form)[:-40] for form in ("JPEG", "PNG", "WEBP")),
        bomb(),
    ],
)
def test_what_is_no_picture_is_said(data: bytes) -> None:
    with pytest.raises(NoPicture):
        prepare(data)


def test_what_is_sent_as_a_picture() -> None:
    assert is_picture("x", "image/heic")
    assert is_picture("Chart.PNG", "application/octet-stream")
    assert not is_picture("a.txt", "text/plain")
