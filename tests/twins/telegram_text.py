"""What Telegram makes of a text: entities parsed out of HTML or MarkdownV2, lengths in UTF-16 units."""

import html
import re
from dataclasses import dataclass, field
from typing import Any

MAX_TEXT, MAX_CAPTION = 4096, 1024
Entity = dict[str, Any]

HTML_TAGS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
    "tg-emoji": "custom_emoji",
}
TOKEN = re.compile(r"<(?P<end>/?)(?P<tag>[a-zA-Z][\w-]*)(?P<attrs>[^<>]*)>|(?P<bad><)")
REFERENCE = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|lt|gt|amp|quot);")
ATTRIBUTE = re.compile(r"""([\w-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|(\S+)))?""")


class TextError(Exception):
    """The text is refused; the argument is Telegram's description."""


def utf16(text: str) -> int:
    """Length in UTF-16 code units, as Telegram counts."""
    return len(text.encode("utf-16-le")) // 2


@dataclass(slots=True)
class _Open:
    tag: str
    at: int
    attrs: dict[str, str] = field(default_factory=dict)


class _Html:
    def __init__(self, source: str) -> None:
        self.source = source
        self.text = ""
        self.entities: list[Entity] = []
        self.stack: list[_Open] = []

    def parse(self) -> tuple[str, list[Entity]]:
        at = 0
        for match in TOKEN.finditer(self.source):
            self._plain(self.source[at : match.start()])
            at = match.end()
            offset = len(self.source[: match.start()].encode())
            if match["bad"]:
                raise TextError(
                    f"can't parse entities: Unsupported start tag at byte offset {offset}"
                )
            if match["end"]:
                self._close(match["tag"].lower(), offset)
            else:
                self._open(match["tag"].lower(), match["attrs"], offset)
        self._plain(self.source[at:])
        if self.stack:
            tag = self.stack[-1].tag
            raise TextError(
                f"can't parse entities: Can't find end tag corresponding to start tag \"{tag}\""
            )
        return self.text, self.entities

    def _plain(self, piece: str) -> None:
        self.text += REFERENCE.sub(lambda m: html.unescape(m[0]), piece)

    def _open(self, tag: str, attrs: str, offset: int) -> None:
        found = {m[1]: html.unescape(m[2] or m[3] or m[4] or "") for m in ATTRIBUTE.finditer(attrs)}
        spoiler = tag != "span" or found.get("class") == "tg-spoiler"
        if tag not in HTML_TAGS or not spoiler:
            raise TextError(
                f'can\'t parse entities: Unsupported start tag "{tag}" at byte offset {offset}'
            )
        self.stack.append(_Open(tag, utf16(self.text), found))

    def _close(self, tag: str, offset: int) -> None:
        if not self.stack:
            raise TextError(f"can't parse entities: Unexpected end tag at byte offset {offset}")
        opened = self.stack.pop()
        if opened.tag != tag:
            raise TextError(
                f"can't parse entities: Unmatched end tag at byte offset {offset}, "
                f'expected "</{opened.tag}>", found "</{tag}>"'
            )
        length = utf16(self.text) - opened.at
        entity: Entity = {"type": HTML_TAGS[tag], "offset": opened.at, "length": length}
        if tag == "a":
            if not (url := opened.attrs.get("href")):
                return
            entity["url"] = url
        if tag == "blockquote" and "expandable" in opened.attrs:
            entity["type"] = "expandable_blockquote"
        language = opened.attrs.get("class", "").removeprefix("language-")
        if tag == "code" and language and self.stack and self.stack[-1].tag == "pre":
            self.stack[-1].attrs["language"] = language
            return
        if tag == "pre" and "language" in opened.attrs:
            entity["language"] = opened.attrs["language"]
        if length:
            self.entities.append(entity)


MD_RESERVED = set("_*[]()~`>#+-=|{}.!")
MD_MARKS = {
    "*": "bold",
    "_": "italic",
    "__": "underline",
    "~": "strikethrough",
    "||": "spoiler",
    "`": "code",
    "```": "pre",
}
MD_TOKEN = re.compile(r"\\(.)|```|`|\|\||__|[*_~]|\[|\]\(([^)]*)\)|(.)", re.DOTALL)


def parse_markdown_v2(source: str) -> tuple[str, list[Entity]]:
    """Text and entities of MarkdownV2. Raises TextError."""
    text, entities, stack = "", [], list[tuple[str, int]]()

    def close(mark: str, **more: str) -> None:
        _, at = stack.pop()
        kind = "text_link" if mark == "[" else MD_MARKS[mark]
        entities.append({"type": kind, "offset": at, "length": utf16(text) - at, **more})

    for match in MD_TOKEN.finditer(source):
        token, escaped, url, plain = match[0], match[1], match[2], match[3]
        inside_code = bool(stack) and stack[-1][0] in {"`", "```"}
        if escaped:
            text += escaped
        elif inside_code and token != stack[-1][0]:
            text += token
        elif url is not None and stack and stack[-1][0] == "[":
            close("[", url=url)
        elif token in MD_MARKS or token == "[":
            if stack and stack[-1][0] == token:
                close(token)
            else:
                stack.append((token, utf16(text)))
        elif plain and plain in MD_RESERVED and not (plain == ">" and text[-1:] in {"", "\n"}):
            raise TextError(
                f"can't parse entities: Character '{plain}' is reserved and must be escaped "
                "with the preceding '\\'"
            )
        else:
            text += token
    if stack:
        raise TextError(
            f"can't parse entities: Can't find end of the entity starting at {stack[-1][1]}"
        )
    return text, entities


def parse(source: str, mode: str | None) -> tuple[str, list[Entity]]:
    """The visible text and its entities, trimmed as Telegram trims. Raises TextError."""
    if not mode:
        text, entities = source, list[Entity]()
    elif mode.lower() == "html":
        text, entities = _Html(source).parse()
    elif mode.lower() == "markdownv2":
        text, entities = parse_markdown_v2(source)
    else:
        raise TextError("unsupported parse_mode")
    lead = utf16(text) - utf16(text.lstrip())
    text = text.strip()
    total, kept = utf16(text), list[Entity]()
    for e in entities:
        start = max(0, e["offset"] - lead)
        end = min(total, e["offset"] + e["length"] - lead)
        if end > start:
            kept.append({**e, "offset": start, "length": end - start})
    return text, sorted(kept, key=lambda e: (e["offset"], -e["length"]))


def checked(
    source: str | None, mode: str | None, limit: int, what: str
) -> tuple[str, list[Entity]]:
    """As `parse`, and within Telegram's limits. Raises TextError."""
    text, entities = parse(source or "", mode)
    if not text and what == "message":
        raise TextError("message text is empty")
    if utf16(text) > limit:
        raise TextError(f"{what} is too long")
    return text, entities


COMMAND = re.compile(r"(?:(?<=\s)|^)/[A-Za-z0-9_]{1,32}(?:@\w+)?")
MENTION = re.compile(r"(?<!\w)@\w{3,32}")
URL = re.compile(r"https?://\S+")


def found_entities(text: str) -> list[Entity]:
    """The entities that Telegram finds by itself in what people write."""
    kinds = ((COMMAND, "bot_command"), (MENTION, "mention"), (URL, "url"))
    found = [
        {"type": kind, "offset": utf16(text[: m.start()]), "length": utf16(m[0])}
        for pattern, kind in kinds
        for m in pattern.finditer(text)
    ]
    return sorted(found, key=lambda e: int(str(e["offset"])))
