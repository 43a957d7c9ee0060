"""Emphasis beside Han, kana and Hangul.

CommonMark lets `**` close only where spaces or punctuation say so; scripts without spaces have neither, so that
`**重点：**内容` would stay literal. Here a neighbour of such a script counts as a space does.
"""

import re

from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.emphasis import tokenize

_UNSPACED = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)


def emphasis(state: StateInline, silent: bool) -> bool:
    """The tokenizer for `*` and `_`; a `*` may open after, and close before, a letter of such a script."""
    start, known = state.pos, len(state.delimiters)
    if not tokenize(state, silent):
        return False
    if state.src[start] == "*":
        before = state.src[start - 1 : start]
        after = state.src[state.pos : state.pos + 1]
        opens = bool(_UNSPACED.match(before)) and bool(after.strip())
        closes = bool(_UNSPACED.match(after)) and bool(before.strip())
        for delimiter in state.delimiters[known:]:
            delimiter.open |= opens
            delimiter.close |= closes
    return True
