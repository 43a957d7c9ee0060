"""Fonts for charts: one with Han glyphs where the machine has one."""

from functools import lru_cache

# Common on Linux, macOS and Windows, in the order of preference.
HAN_FONTS = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "PingFang SC", "Hiragino Sans GB",
    "Microsoft YaHei", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Noto Sans CJK JP", "Noto Sans CJK TC",
    "Droid Sans Fallback", "SimHei", "Heiti SC", "Arial Unicode MS",
)  # fmt: skip
BASE_FONT = "DejaVu Sans"  # comes with matplotlib


@lru_cache(maxsize=1)
def han_font() -> str | None:
    """The family to draw Han glyphs with, or None."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return next((name for name in HAN_FONTS if name in installed), None)


def has_han() -> bool:
    """Whether Han glyphs can be drawn."""
    return han_font() is not None


def families() -> list[str]:
    """Font families in the order in which matplotlib shall look for a glyph."""
    han = han_font()
    return [BASE_FONT, han] if han else [BASE_FONT]
