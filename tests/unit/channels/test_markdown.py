"""Markdown as Telegram HTML and as plain text."""

import subprocess
import sys

import pytest

from channels.markdown import to_plain, to_telegram
from tests.pace import cpu_seconds


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("plain & <simple>", "plain &amp; &lt;simple&gt;"),
        ("**b** *i* ~~s~~ `c<d`", "<b>b</b> <i>i</i> <s>s</s> <code>c&lt;d</code>"),
        ("# Title", "<b>Title</b>"),
        ("## **Title**", "<b>Title</b>"),
        ("Title\n---", "Title\n———"),
        ("**a `b` c**", "<b>a</b> <code>b</code> <b>c</b>"),
        ("[x](https://a.b/?c=1&d=2)", '<a href="https://a.b/?c=1&amp;d=2">x</a>'),
        ("[`x`](https://a.b)", '<a href="https://a.b">x</a>'),
        ("![chart](https://a.b/c.png)", '<a href="https://a.b/c.png">chart</a>'),
        ("![](https://a.b/c.png)", '<a href="https://a.b/c.png">https://a.b/c.png</a>'),
        ("[x](javascript:alert(1))", "x (javascript:alert(1))"),
        ("[report](files/报告.md)", "report (files/报告.md)"),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("- a\n- b\n  - c", "• a\n• b\n\u2003• c"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("*   **bold**", "• <b>bold</b>"),  # buckyos#567
        ("> a\n> b", "<blockquote>a\nb</blockquote>"),
        ("> a\n> > b", "<blockquote>a\nb</blockquote>"),
        ("```py title\nx < 1\n```", '<pre><code class="language-py">x &lt; 1</code></pre>'),
        ("```\nx\n```", "<pre>x</pre>"),
        ("[INFO]: started", "[INFO]: started"),
        ("    indented", "indented"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("a\nb", "a\nb"),
        ("&amp; &copy;", "&amp; ©"),
    ],
)
def test_telegram_html(source: str, html: str) -> None:
    assert to_telegram(source) == html


def test_bold_closes_beside_han() -> None:
    assert to_telegram("**重点：**内容") == "<b>重点：</b>内容"
    assert to_telegram("内容**“重点”**内容") == "内容<b>“重点”</b>内容"


def test_tables_are_aligned_by_width() -> None:
    table = "| 名称 | Price |\n|:--|--:|\n| 苹果 | 1.5 |\n| A&B | 20.25 |"
    assert to_telegram(table) == (
        "<pre>名称  Price\n────  ─────\n苹果    1.5\nA&amp;B   20.25</pre>"
    )


def test_a_table_too_wide_for_a_phone_is_turned_where_that_helps() -> None:
    head = "| Symbol | First close | Last close | Change | Highest |\n|---|--:|--:|--:|--:|\n"
    rows = (
        "| AAPL | 411.23 | 532.17 | 29.41 % | 705.07 |\n| MSFT | 26.77 | 26.71 | -0.21 % | 32.95 |"
    )
    assert to_telegram(head + rows) == (
        "<pre>Symbol          AAPL     MSFT\n"
        "───────────  ───────  ───────\n"
        "First close   411.23    26.77\n"
        "Last close    532.17    26.71\n"
        "Change       29.41 %  -0.21 %\n"
        "Highest       705.07    32.95</pre>"
    )
    many = "\n".join([rows] * 4)
    assert "Symbol  First close" in to_telegram(head + many)  # turned it would be as wide


def test_cells_beyond_the_head_are_kept() -> None:
    assert "3 | 4" in to_telegram("| a | b |\n|---|---|\n| 1 | 2 | 4 |".replace("2", "3"))


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("**bol", "**bol"),
        ("see `cod", "see `cod"),
        ("see [li](htt", "see [li](htt"),
        ("```py\nx = ", '<pre><code class="language-py">x = </code></pre>'),
        ("```", ""),
        ("| a | b |\n|--", "| a | b |\n|--"),
        ("- ", "• "),
        ("", ""),
    ],
)
def test_text_that_ends_anywhere(source: str, html: str) -> None:
    assert to_telegram(source) == html


def test_deep_nesting_is_shown_as_written() -> None:
    assert to_telegram(">" * 500 + " x") == "&gt;" * 500 + " x"
    assert "x" in to_telegram("- " * 3000 + "x")


def test_lone_surrogates_can_be_sent() -> None:
    assert to_telegram("a \ud83d **b**") == "a \ufffd <b>b</b>"
    to_telegram("\udc4d").encode()


def test_plain_text_has_no_markup() -> None:
    source = "# T\n\n**b** [x](https://a.b)\n\n> q\n\n- `a`\n  - b\n\n```\nc\n```"
    assert to_plain(source) == "T\n\nb x (https://a.b)\n\n> q\n\n• a\n  • b\n\nc"


def test_a_typical_reply_takes_a_millisecond_at_most() -> None:
    reply = (
        "Here is **the summary** of AAPL:\n\n- Price: `189.5`\n- Trend: *up*\n\n" + "Words. " * 60
    )
    to_telegram(reply)  # loads the parser
    assert cpu_seconds(lambda: to_telegram(reply), 20) < 0.001  # measured 0.2 ms


def test_the_parser_is_loaded_only_for_markup() -> None:
    code = (
        "import sys; from channels.markdown import to_telegram as t; t('plain'); "
        "assert 'markdown_it' not in sys.modules; t('**b**'); assert 'markdown_it' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
