"""Charts: sizes, languages, themes; pictures without warnings and without boxes."""

import asyncio
import io
from typing import Literal

import numpy as np
import pytest
from matplotlib.image import imread

from agent_core.finance import chart_fonts, charts
from agent_core.finance.charts import ChartRequest, Kind
from agent_core.finance.sources.bundled import BundledSource
from agent_core.finance.sources.chain import Sources


async def request(
    shown: int = 250,
    kind: Kind = "price",
    language: Literal["en", "zh"] = "en",
    theme: Literal["light", "dark"] = "light",
) -> ChartRequest:
    bars = await Sources([BundledSource()]).bars("AAPL", None, None)
    return ChartRequest(bars, shown, "Apple", "苹果", language, kind, theme)


def pixels(png: bytes) -> "np.ndarray":
    return np.asarray(imread(io.BytesIO(png)))


@pytest.mark.parametrize(("kind", "height"), [("price", 720), ("rsi", 940), ("full", 1160)])
async def test_each_indicator_adds_a_pane(kind: Kind, height: int) -> None:
    assert pixels(await charts.render(await request(kind=kind))).shape[:2] == (height, 1280)


@pytest.mark.slow
@pytest.mark.parametrize("shown", [1, 2, 30, 250, 3270])
async def test_any_length_of_window_is_drawn(shown: int) -> None:
    picture = pixels(await charts.render(await request(shown)))
    assert (picture[:, :, :3].min(axis=2) < 0.7).sum() > 5000  # something is on it


async def test_themes_have_their_paper() -> None:
    light = pixels(await charts.render(await request(theme="light")))
    dark = pixels(await charts.render(await request(theme="dark")))
    assert light[2, 2, 0] == 1.0
    assert dark[2, 2, 0] < 0.1


async def test_words_keep_off_the_edges() -> None:
    """Nothing but paper in the outermost pixels: no label is cut off."""
    for shown in (22, 250, 760):
        picture = pixels(await charts.render(await request(shown)))[:, :, :3]
        assert picture[:, :8].min() > 0.98
        assert picture[:, -8:].min() > 0.98
        assert picture[-6:].min() > 0.98


async def test_chinese_is_drawn_without_a_missing_glyph() -> None:
    """matplotlib warns of a missing glyph, and a warning fails a test; without a Han font English stands in."""
    await charts.render(await request(language="zh", kind="full"))


async def test_without_a_han_font_names_are_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart_fonts, "HAN_FONTS", ())
    chart_fonts.han_font.cache_clear()
    try:
        chinese = await charts.render(await request(language="zh"))
        english = await charts.render(await request(language="en"))
    finally:
        chart_fonts.han_font.cache_clear()
    assert (pixels(chinese) == pixels(english)).all()


@pytest.mark.slow
async def test_charts_asked_for_at_once_are_all_drawn_alike() -> None:
    wanted = await request()
    first, *others = await asyncio.gather(*(charts.render(wanted) for _ in range(4)))
    assert all(other == first for other in others)
