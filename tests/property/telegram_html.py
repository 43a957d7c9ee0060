"""Telegram's HTML rules, checked without our own code: known tags, nesting, escapes, no code inside other entities."""

import re
from html import unescape

_TOKEN = re.compile(r"<(/?)([a-z]+)((?: [^<>]*)?)>|([^<>]+)")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#x?[0-9a-fA-F]+);")
_ATTRIBUTES = {
    "a": re.compile(r' href="[^"<>]+"'),
    "code": re.compile(r'(?: class="language-[\w+#.-]+")?'),
}
MARKS = {"b", "i", "u", "s"}
KNOWN = MARKS | {"a", "code", "pre", "blockquote"}


class BadHtmlError(AssertionError):
    """Telegram would refuse it, or show it otherwise than meant."""


def visible(html: str) -> str:
    """The text that Telegram shows. Raises BadHtmlError."""
    stack: list[str] = []
    shown: list[str] = []
    at = 0
    while at < len(html):
        match = _TOKEN.match(html, at)
        if match is None:
            raise BadHtmlError(f"stray angle at {at}: {html[at : at + 40]!r}")
        at = match.end()
        closing, tag, attributes, text = match.groups()
        if text is not None:
            if "&" in _ENTITY.sub("", text):
                raise BadHtmlError(f"bare ampersand in {text!r}")
            shown.append(unescape(text))
        elif closing:
            if not stack or stack.pop() != tag:
                raise BadHtmlError(f"</{tag}> closes nothing")
        else:
            _check_open(tag, attributes, stack)
            stack.append(tag)
    if stack:
        raise BadHtmlError(f"unclosed {stack}")
    return "".join(shown)


def _check_open(tag: str, attributes: str, stack: list[str]) -> None:
    if tag not in KNOWN:
        raise BadHtmlError(f"unknown tag {tag}")
    if not _ATTRIBUTES.get(tag, re.compile("")).fullmatch(attributes):
        raise BadHtmlError(f"bad attributes {attributes!r} of {tag}")
    if tag in stack:
        raise BadHtmlError(f"{tag} inside itself")
    if tag == "code" and stack == ["pre"]:
        return
    if {"code", "pre"} & set(stack):
        raise BadHtmlError(f"{tag} inside code")
    if tag in {"code", "pre"} and (MARKS | {"a"}) & set(stack):
        raise BadHtmlError(f"{tag} inside {stack}")
    if tag in {"pre", "blockquote"} and stack:
        raise BadHtmlError(f"{tag} inside {stack}")
