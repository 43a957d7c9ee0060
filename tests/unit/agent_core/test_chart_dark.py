"""A light chart in the dark theme is what would have been drawn in it; any other picture is left alone."""

import datetime as dt
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from agent_core.finance.chart_dark import PIXELS, darkened, marked
from agent_core.finance.chart_theme import THEMES
from agent_core.finance.charts import ChartRequest, draw
from agent_core.finance.equity_chart import EquityRequest, Titles, draw_equity
from agent_core.finance.portfolio_chart import Allocation, Part, draw_allocation
from agent_core.finance.sources.bundled import BundledSource

DAY = dt.date.fromisoformat


def pixels(png: bytes) -> Any:
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def picture(**info: str) -> bytes:
    from PIL.PngImagePlugin import PngInfo

    out, texts = io.BytesIO(), PngInfo()
    for name, value in info.items():
        texts.add_text(name.replace("_", "-"), value)
    Image.new("RGB", (4, 4), "#1d4ed8").save(out, format="PNG", pnginfo=texts)
    return out.getvalue()


def alike(light: bytes, dark: bytes) -> tuple[float, float]:
    """Which share of the pixels is nearly the same as if it had been drawn, and how far off all are on average."""
    turned = darkened(light)
    assert turned is not None
    off = np.abs(pixels(turned) - pixels(dark)).max(axis=2)
    return float((off <= 24).mean()), float(off.mean())


@pytest.mark.slow
async def test_a_chart_of_prices_is_as_if_it_had_been_drawn_dark() -> None:
    bars = await BundledSource().bars("GOOG", DAY("2011-01-03"), DAY("2012-12-31"))
    request = ChartRequest(bars, shown=250, name="Alphabet", name_zh="谷歌", kind="full")
    same, off = alike(draw(request), draw(replace(request, theme="dark")))
    assert same > 0.98
    assert off < 3


def test_an_equity_curve_is_as_if_it_had_been_drawn_dark() -> None:
    dates = tuple(DAY("2020-01-01") + dt.timedelta(days=i) for i in range(60))
    values = [100 + (i * 37 % 23) for i in range(60)]
    titles = Titles("macd · GOOG", "backtest", "Hold GOOG")
    request = EquityRequest(dates, values, values[::-1], titles, titles)
    same, off = alike(draw_equity(request), draw_equity(replace(request, theme="dark")))
    assert same > 0.98
    assert off < 3


def test_a_picture_of_a_book_is_as_if_it_had_been_drawn_dark() -> None:
    parts = [Part(f"S{n}", "", 30.0 - n, (None, 4.0, -3.0)[n % 3]) for n in range(5)]
    request = Allocation(parts, "1.00 USD", "below", "下方")
    same, off = alike(draw_allocation(request), draw_allocation(replace(request, theme="dark")))
    assert same > 0.97
    assert off < 4


def test_colours_are_turned_one_for_one_and_the_result_says_so() -> None:
    turned = darkened(picture(Swarmgate_Theme="light"))
    assert turned is not None
    wanted = tuple(int(THEMES["dark"].price[i : i + 2], 16) for i in (1, 3, 5))
    assert tuple(pixels(turned)[0, 0]) == wanted
    assert darkened(turned) is None, "it is dark already"
    assert marked("dark") == {"Swarmgate-Theme": "dark"}


@pytest.mark.parametrize(
    "data", [picture(), picture(Swarmgate_Theme="dark"), b"", b"\x89PNG\r\n\x1a\n", b"GIF89a"]
)
def test_other_pictures_are_left_alone(data: bytes) -> None:
    assert darkened(data) is None


def test_a_picture_of_too_many_pixels_is_left_alone_unread() -> None:
    from PIL.PngImagePlugin import PngInfo

    out, texts = io.BytesIO(), PngInfo()
    texts.add_text("Swarmgate-Theme", "light")
    Image.new("1", (PIXELS // 1000 + 1, 1000)).save(out, format="PNG", pnginfo=texts)
    assert darkened(out.getvalue()) is None
