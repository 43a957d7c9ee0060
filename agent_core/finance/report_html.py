"""A report as one HTML file: styles and pictures are inside, it loads nothing and runs nothing.

It follows the reader's choice of light or dark, with pictures to match, and prints on light paper.
"""

import base64
from html import escape

from agent_core.finance.chart_theme import THEMES, Theme
from agent_core.finance.report_document import (
    Block,
    Bullets,
    Document,
    Paragraph,
    Picture,
    Section,
    Table,
    unbroken,
)

_STYLE = """
:root { color-scheme: light dark; %(light)s }
@media (prefers-color-scheme: dark) { @media screen { :root { %(dark)s } } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", "Noto Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif }
main { max-width: 52rem; margin: 0 auto; padding: 2rem 1rem 3rem }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; padding-top: .9rem; border-top: 1px solid var(--grid) }
.below, .small, figcaption, footer { color: var(--faint); font-size: .875rem }
.label { font-size: .75rem; font-weight: 400; color: var(--faint); border: 1px solid var(--grid); border-radius: 1rem;
  padding: .1rem .55rem; margin-left: .4rem; white-space: nowrap; vertical-align: middle }
p { margin: .6rem 0; overflow-wrap: anywhere }
ul { padding-left: 1.2rem } li { margin: .25rem 0; overflow-wrap: anywhere }
.wide { overflow-x: auto; margin: .8rem 0 }
table { border-collapse: collapse; width: 100%%; font-size: .9rem }
th, td { padding: .35rem .5rem; border-bottom: 1px solid var(--grid); text-align: left; vertical-align: top }
th { color: var(--faint); font-weight: 600 } th, .short { white-space: nowrap } .long { min-width: 14rem }
.figures td:not(:first-child), .figures th:not(:first-child) { text-align: right; font-variant-numeric: tabular-nums }
figure { margin: 1rem 0 } img { max-width: 100%%; height: auto; display: block; border: 1px solid var(--grid);
  border-radius: 6px }
footer { margin-top: 2.5rem; padding-top: .9rem; border-top: 1px solid var(--grid) }
@media print { main { max-width: none; padding: 0 } figure, tr { break-inside: avoid } h2 { break-after: avoid } }
"""
SHORT = 22  # characters; a cell with no more, such as a date or a price, stays on one line
_LANGUAGES = {"en": "en", "zh": "zh-CN"}


def to_html(document: Document) -> bytes:
    """The page in UTF-8; equal documents give equal bytes."""
    style = _STYLE % {name: _colours(THEMES[name]) for name in ("light", "dark")}
    body = "".join(map(_section, document.sections))
    notices = "".join(f"<p>{_words(notice)}</p>" for notice in document.notices)
    title = _words(document.title)
    # without scripts and addresses there is nothing to load; the policy says so to whoever opens the file
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="{_LANGUAGES[document.language]}">\n<head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{style}</style></head>\n<body><main>"
        f'<header><h1>{title}</h1><p class="below">{_words(document.below)}</p></header>'
        f"{body}<footer>{notices}</footer></main></body>\n</html>\n"
    ).encode()


def _colours(theme: Theme) -> str:
    return (
        f"--paper: {theme.paper}; --ink: {theme.ink}; --faint: {theme.faint}; --grid: {theme.grid};"
    )


def _section(section: Section) -> str:
    label = f' <span class="label">{_words(section.label)}</span>' if section.label else ""
    blocks = "".join(map(_block, section.blocks))
    return f"\n<section><h2>{_words(section.title)}{label}</h2>{blocks}</section>"


def _block(block: Block) -> str:
    match block:
        case Paragraph():
            kind = ' class="small"' if block.small else ""
            return f"<p{kind}>{_words(block.text)}</p>"
        case Bullets():
            return "<ul>" + "".join(f"<li>{_words(item)}</li>" for item in block.items) + "</ul>"
        case Table():
            return _table(block)
        case Picture():
            return _picture(block)


def _table(table: Table) -> str:
    head = "".join(f"<th>{_words(cell)}</th>" for cell in table.header)
    rows = ("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in table.rows)
    kind = ' class="figures"' if table.figures else ""
    return f'<div class="wide"><table{kind}><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _cell(text: str) -> str:
    kind = "short" if len(text) <= SHORT else "long"
    return f'<td class="{kind}">{_words(text)}</td>'


def _picture(picture: Picture) -> str:
    dark = ""
    if picture.dark is not None:
        media = "screen and (prefers-color-scheme: dark)"
        dark = f'<source media="{media}" srcset="{_inside(picture.dark)}">'
    words = _words(picture.caption)
    return (
        f'<figure><picture>{dark}<img alt="{words}" src="{_inside(picture.light)}"></picture>'
        f"<figcaption>{words}</figcaption></figure>"
    )


def _words(text: str) -> str:
    return escape(unbroken(text))


def _inside(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()
