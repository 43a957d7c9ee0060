"""Random Markdown as models write it, and worse: well-formed blocks, cut-off ones, and plain noise."""

from hypothesis import strategies as st

_WORDS = (
    "price trend the of and up down. Why? Yes! 苹果公司 价格。 走势，上涨！ מחיר سعر é́ 👍🏽 👨‍👩‍👧 🇩🇪 🇨🇳 a&b 1 < 2 x>y "
    "**bold** *it* ~~no~~ `code` `` a`b `` [link](https://a.b/c?d=1&e=2) [rel](x.md) ![i](https://i/p.png) "
    "<https://a.b> &amp; \\* ** * _ ` ~~ [ ]( | # https://x.y/z 3. - + **重点：**内容 [`c`](https://q) __u__ \ud83d "
    "<b> <script> e.g. 2012. — … \u200f\u202b"
)
WORDS = st.sampled_from(_WORDS.split(" "))
LINE = st.lists(WORDS, min_size=1, max_size=14).map(" ".join)
PARAGRAPH = st.lists(LINE, min_size=1, max_size=4).map("\n".join)
HEADING = st.tuples(st.integers(1, 6), LINE).map(lambda pair: "#" * pair[0] + " " + pair[1])
MARKER = st.sampled_from(
    ["- ", "* ", "+ ", "1. ", "12) ", "   ", "  - ", "    - ", "\t- ", "      1. "]
)
LIST = st.lists(st.tuples(MARKER, LINE).map("".join), min_size=1, max_size=8).map("\n".join)
QUOTE = st.lists(
    st.tuples(st.sampled_from(["> ", ">", "> > ", ">> - "]), LINE).map("".join), max_size=4
).map("\n".join)
CODE_LINE = st.one_of(
    st.sampled_from(
        [
            "x = 1",
            "    return 2",
            "",
            "# no heading",
            "| a | b |",
            "`",
            "``` x",
            "  ~~~",
            "y" * 90,
            "汉" * 40,
        ]
    ),
    LINE,
)
INFO = st.sampled_from(["", "python", "c++", " js title=1", "<x>"])


@st.composite
def fences(draw: st.DrawFn) -> str:
    mark = draw(st.sampled_from(["```", "````", "~~~"]))
    lead = draw(st.sampled_from(["", "", "  ", "> ", "- ", "    "]))
    inner = lead.replace("-", " ")
    body = draw(st.lists(CODE_LINE, max_size=12))
    lines = [lead + mark + draw(INFO), *(inner + line for line in body)]
    if draw(st.integers(0, 5)):
        lines.append(inner + mark)
    return "\n".join(lines)


@st.composite
def tables(draw: st.DrawFn) -> str:
    count = draw(st.integers(1, 4))
    cell = st.one_of(WORDS, LINE)
    rows = draw(st.lists(st.lists(cell, min_size=1, max_size=count + 1), max_size=8))
    head = draw(st.lists(WORDS, min_size=count, max_size=count))
    delimiter = draw(
        st.lists(st.sampled_from(["-", ":--", "--:", ":-:"]), min_size=count, max_size=count)
    )
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, delimiter, *rows])


NOISE = st.text(alphabet="`~*_[]()#>|-+1.\\&<! \t\n\ra汉👍\u200d\ufe0f\u0301:", max_size=120)
BLOCK = st.one_of(PARAGRAPH, HEADING, LIST, QUOTE, fences(), tables(), st.just("---"), NOISE)
JOINT = st.sampled_from(["\n\n", "\n\n", "\n", "\n\n\n"])
MARKDOWN = st.lists(st.tuples(BLOCK, JOINT).map("".join), max_size=8).map("".join)
CUT_OFF = st.tuples(MARKDOWN, st.integers(0, 400)).map(lambda pair: pair[0][: pair[1]])
TEXTS = st.one_of(MARKDOWN, CUT_OFF, NOISE)
