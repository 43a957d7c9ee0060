"""A chart in the dark theme, made of the pixels of the light one: nothing is drawn or kept twice.

Every pixel of a chart is its paper, one of the theme's colours, or a mix of both (an edge, a fill that lets the paper
through). So it is read as the nearest such mix, and mixed anew of the same colour of the other theme. Charts say their
theme in a text of the PNG; any other picture is left alone.
"""

import io
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from agent_core.finance.chart_theme import THEMES, Theme

if TYPE_CHECKING:
    from numpy.typing import NDArray

MARK = "Swarmgate-Theme"
PIXELS = 4_000_000  # of a picture; charts have about one million


def marked(theme: str) -> dict[str, str]:
    """What a chart's file says of itself: metadata of a PNG, as matplotlib's savefig takes them."""
    return {MARK: theme}


def darkened(png: bytes) -> bytes | None:
    """The same chart in the dark theme; None for what is no light chart of ours. Blocks, for about 0.1 s."""
    import numpy as np
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
            if image.info.get(MARK) != "light" or image.width * image.height > PIXELS:
                return None
            pixels = np.asarray(image.convert("RGB"))
    except (UnidentifiedImageError, OSError):  # it says that it is a PNG, and is none
        return None
    packed = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], dtype=np.uint32)
    colours, where = np.unique(packed.ravel(), return_inverse=True)
    known = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1).astype(float)
    turned = _turned(known)[where].reshape(pixels.shape)
    out = io.BytesIO()
    Image.fromarray(turned).save(out, format="PNG", pnginfo=_text("dark"))
    return out.getvalue()


def _turned(colours: "NDArray[Any]") -> "NDArray[Any]":
    """Each of these colours of the light theme, in the dark one."""
    import numpy as np

    light, dark = (_palette(THEMES[name]) for name in ("light", "dark"))
    paper, inks = light[0], light[1:] - light[0]
    off = colours - paper
    # how much of each ink is in each colour
    share = np.clip(off @ inks.T / (inks * inks).sum(axis=1), 0.0, 1.0)
    gaps = ((off[:, None, :] - share[:, :, None] * inks[None]) ** 2).sum(axis=2)
    best = gaps.argmin(axis=1)
    amount = share[np.arange(len(colours)), best][:, None]
    mixed = dark[0] + amount * (dark[1:][best] - dark[0])
    turned: NDArray[Any] = mixed.round().astype(np.uint8)
    return turned


def _palette(theme: Theme) -> "NDArray[Any]":
    """The paper, then every other colour, as numbers from 0 to 255."""
    import numpy as np

    *named, lines = astuple(theme)
    return np.array(
        [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (*named, *lines)],
        dtype=float,
    )


def _text(theme: str) -> Any:
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    for name, value in marked(theme).items():
        info.add_text(name, value)
    return info
