"""Lines over prices, and several symbols in one picture."""

import io
from typing import Literal

import numpy as np
import pytest
from matplotlib.image import imread

from agent_core.finance import chart_overlays, charts, indicators
from agent_core.finance.bars import Bars
from agent_core.finance.chart_theme import THEMES
from agent_core.finance.charts import ChartRequest
from agent_core.finance.comparison_chart import (
    ComparisonRequest,
    common_days,
    draw_comparison,
    growth_pct,
    spread,
)
from agent_core.finance.sources.bundled import SYMBOLS, BundledSource
from tests.unit.agent_core.made_bars import bars_of, days


async def bundled(length: int = 250) -> list[Bars]:
    series = [await BundledSource().bars(symbol, None, None) for symbol in SYMBOLS]
    return [bars.rows(len(bars) - length, len(bars)) for bars in series]


def pixels(png: bytes) -> "np.ndarray":
    return np.asarray(imread(io.BytesIO(png)))[:, :, :3]


def drawn_in(picture: "np.ndarray", color: str) -> int:
    """How many pixels have a colour, within what smoothing changes."""
    wanted = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return int((np.abs(picture - wanted).max(axis=2) < 0.04).sum())


@pytest.mark.parametrize(("theme", "language"), [("light", "en"), ("dark", "zh")])
async def test_every_series_has_a_line_of_its_colour_and_nothing_is_cut_off(
    theme: Literal["light", "dark"], language: Literal["en", "zh"]
) -> None:
    """A missing glyph warns, and a warning fails a test."""
    picture = pixels(draw_comparison(ComparisonRequest(tuple(await bundled()), language, theme)))
    assert picture.shape[:2] == (720, 1280)
    colors = THEMES[theme]
    assert all(drawn_in(picture, color) > 300 for color in colors.lines[:4])
    assert drawn_in(picture, colors.lines[5]) < 300
    paper = picture[2, 2]
    edges = (picture[:, :8], picture[:, -8:], picture[-6:])
    assert all(np.abs(edge - paper).max() < 0.02 for edge in edges)


async def test_overlays_are_lines_over_the_prices_each_in_its_colour() -> None:
    (bars, *_) = await bundled(400)
    overlays = chart_overlays.parse(["boll", "vwap"])
    picture = pixels(charts.draw(ChartRequest(bars, 250, "Apple", "苹果", overlays=overlays)))
    band, line, unused = THEMES["light"].lines[1:4]
    assert min(drawn_in(picture, band), drawn_in(picture, line)) > 300
    assert drawn_in(picture, unused) < 20


async def test_overlays_are_warm_where_earlier_bars_are_known() -> None:
    (bars, *_) = await bundled(400)
    asked = chart_overlays.parse(["ema50", "boll20", "donchian10", "vwap"])
    ema, boll, channel, vwap = chart_overlays.overlays(asked, bars, 100)
    assert ema.line == indicators.ema(bars.close, 50)[-100:]
    assert boll.line[0] is not None
    assert boll.lower == indicators.bollinger(bars.close).lower[-100:]
    assert channel.line[-1] == max(bars.high[-10:])
    assert vwap.line == indicators.vwap(bars.rows(300, 400))
    assert [one.label for one in (ema, boll, channel, vwap)] == [
        "EMA50",
        "BOLL20",
        "DONCHIAN10",
        "VWAP",
    ]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["rsi"], "not drawn over prices"),
        (["sma5"] * 5, "at most 4"),
        (["sm5"], "did you mean sma"),
    ],
)
def test_overlays_that_are_none_name_those_that_are(names: list[str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        chart_overlays.parse(names)


def test_series_are_compared_since_their_first_common_day() -> None:
    d = days(4)
    early = bars_of([1, 2, 3, 4])
    late = bars_of([10, 20], dates=[d[1], d[3]])
    shared = common_days([early, late])
    assert shared == [d[1], d[3]]
    assert growth_pct(early, shared) == [0, 100]
    assert growth_pct(late, shared) == [0, 100]
    with pytest.raises(ValueError, match="no two days"):
        draw_comparison(ComparisonRequest((early, bars_of([1], dates=[d[0]]))))


def test_names_at_the_edge_keep_off_each_other_in_their_order() -> None:
    assert spread([5.0, 1.0, 1.1], 2) == [5.0, 1.0, 3.0]
    assert spread([1.0, 1.0, 1.0], 2) == [1.0, 3.0, 5.0]
