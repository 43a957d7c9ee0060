"""The end of every report: own records, sources, limits and notices added, and the whole put into its form."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.finance.bars import Bars
from agent_core.finance.report_document import Bullets, Document, Form, Language, Section, Table
from agent_core.finance.report_fonts import NoGlyphs
from agent_core.finance.report_html import to_html
from agent_core.finance.report_markdown import to_markdown
from agent_core.finance.report_pdf import to_pdf
from agent_core.tools import notices, report_own, report_words
from agent_core.tools.calculated import calculated
from agent_core.tools.report_own import Own
from agent_core.tools.report_pictures import safe
from agent_core.tools.report_stock import Made
from agent_core.tools.report_words import LABELS, NONE
from agent_core.tools.spec import Artifact, ToolContext


@dataclass(frozen=True, slots=True)
class Files:
    """A report's files, the report itself first; `form` is the one it has, `note` why it is not the one asked for."""

    files: tuple[Artifact, ...]
    form: Form
    note: str = ""


def document(ctx: ToolContext, made: Made, own: Own, narrative: Section | None) -> Document:
    """The whole report."""
    language = ctx.language
    zh = language == "zh"
    last = max((str(window.as_of) for window in made.windows), default=NONE)
    when = f"{ctx.clock.now():%Y-%m-%d}"
    below = f"数据截至 {last}，生成于 {when}" if zh else f"Data to {last}, made on {when}"
    sections = [
        Section("摘要" if zh else "Summary", made.head, LABELS[language]["logic"]),
        *([narrative] if narrative else []),
        *made.sections,
        *report_own.section(language, own),
        _sources(language, made.windows),
        Section(
            "局限" if zh else "Limits", (Bullets((*made.notes, *report_words.limits(language))),)
        ),
    ]
    return Document(made.title, below, tuple(sections), (notices.past(language),), language)


def _sources(language: Language, windows: Sequence[Bars]) -> Section:
    zh = language == "zh"
    header = (
        ("证券", "来源", "起", "止", "货币", "复权", "取得时间")
        if zh
        else ("Symbol", "Source", "From", "To", "Currency", "Prices", "Fetched")
    )
    rows = tuple(
        (
            one.symbol, one.source, str(one.first), str(one.as_of), one.currency,
            report_words.adjustment(language, one.adjustment),
            f"{one.fetched_at:%Y-%m-%d %H:%M} UTC" if one.fetched_at else NONE,
        )
        for one in windows
    )  # fmt: skip
    return Section(
        "来源" if zh else "Sources", (Table(header, rows, figures=False),), LABELS[language]["fact"]
    )


async def rendered(ctx: ToolContext, whole: Document, form: Form, stem: str, line: str) -> Files:
    """The files. Where a PDF would lack characters it is an HTML page instead, and that is said."""
    name, note = safe(stem), ""
    if form == "pdf":
        try:
            data = await calculated(to_pdf, whole)
        except NoGlyphs as e:
            form, note = "html", _no_pdf(ctx, e)
        else:
            return Files((Artifact(f"{name}.pdf", "application/pdf", data, line),), form)
    if form == "html":
        data = await calculated(to_html, whole)
        return Files((Artifact(f"{name}.html", "text/html", data, line),), form, note)
    text = (await calculated(to_markdown, whole)).encode()
    pictures = [Artifact(p.name, "image/png", p.light, p.caption) for p in whole.pictures()]
    return Files((Artifact(f"{name}.md", "text/markdown", text, line), *pictures), form)


def _no_pdf(ctx: ToolContext, why: NoGlyphs) -> str:
    if ctx.language == "zh":
        return f"改为 HTML 而非 PDF：这台机器没有字体能显示 {why.characters}；安装 Noto Sans CJK 等字体后即可生成 PDF"
    return (
        f"HTML instead of PDF: {why}; with a font such as Noto Sans CJK installed a PDF can be made"
    )
