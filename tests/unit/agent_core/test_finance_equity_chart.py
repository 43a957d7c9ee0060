"""The picture of a backtest: size, themes, languages; nothing is cut off, and no glyph is missing."""

import datetime as dt
import io
import math
from typing import Literal

import numpy as np
import pytest
from matplotlib.image import imread

from agent_core.finance import chart_fonts
from agent_core.finance.equity_chart import (
    EquityRequest,
    Titles,
    draw_equity,
    drawdowns,
    growth,
)


def request(
    count: int = 250,
    language: Literal["en", "zh"] = "en",
    theme: Literal["light", "dark"] = "light",
    *,
    split: bool = False,
) -> EquityRequest:
    dates = tuple(dt.date(2010, 1, 1) + dt.timedelta(days=i) for i in range(count))
    equity = [1000 * (1 + 0.3 * math.sin(i / 20) + i / 400) for i in range(count)]
    return EquityRequest(
        dates,
        equity,
        [1000 + i for i in range(count)],
        Titles("macd(12,26,9) · GOOG", "backtest 2010-01-01 – 2010-12-31, daily", "Hold GOOG"),
        Titles("macd(12,26,9) · GOOG 谷歌", "回测 2010-01-01 – 2010-12-31，日线", "持有 GOOG"),
        dates[count * 7 // 10] if split else None,
        language,
        theme,
    )


def pixels(wanted: EquityRequest) -> "np.ndarray":
    return np.asarray(imread(io.BytesIO(draw_equity(wanted))))[:, :, :3]


@pytest.mark.parametrize("count", [3, 250, 3270])
def test_any_length_of_window_is_drawn_and_keeps_off_the_edges(count: int) -> None:
    picture = pixels(request(count, split=True))
    assert picture.shape[:2] == (940, 1280)
    assert (picture.min(axis=2) < 0.7).sum() > 5000
    for edge in (picture[:, :8], picture[:, -8:], picture[-6:]):
        assert edge.min() > 0.98


def test_the_dark_theme_has_dark_paper() -> None:
    assert pixels(request(theme="dark"))[2, 2, 0] < 0.1


def test_without_a_han_font_the_words_are_english(monkeypatch: pytest.MonkeyPatch) -> None:
    """matplotlib warns of a missing glyph, and a warning fails a test."""
    draw_equity(request(language="zh", split=True))
    monkeypatch.setattr(chart_fonts, "HAN_FONTS", ())
    chart_fonts.han_font.cache_clear()
    try:
        assert (pixels(request(language="zh")) == pixels(request())).all()
    finally:
        chart_fonts.han_font.cache_clear()


def test_curves_begin_at_nothing_and_drawdowns_are_from_the_highest_value_before() -> None:
    assert growth([50, 100, 75]) == [0, 100, 50]
    assert drawdowns([50, 100, 75, 120]) == [0, 0, -25, 0]
