"""What Slack accepts in a message or a view; the same limits as docs.slack.dev/reference/block-kit."""

import re
from collections.abc import Callable
from typing import Any

from tests.twins.slack_state import ApiError, Json

TEXT_LIMIT = 40_000
_ANGLES = re.compile(r"<([^<>]*)>?")
_LINK = re.compile(r"(https?://|mailto:|tel:|slack://)[^|]+(\|[^|]*)?")
_REFERENCE = re.compile(r"[@#][A-Z0-9]+(\|[^|]*)?")


def bad(where: str, what: str) -> ApiError:
    return ApiError("invalid_blocks", response_metadata={"messages": [f"[ERROR] {what} [{where}]"]})


def check(ok: object, where: str, what: str) -> None:
    if not ok:
        raise bad(where, what)


def check_blocks(blocks: Any, *, surface: str = "message") -> None:
    """Raises invalid_blocks."""
    check(isinstance(blocks, list), "json-pointer:/blocks", "must be an array")
    limit = 50 if surface == "message" else 100
    check(len(blocks) <= limit, "/blocks", f"no more than {limit} items allowed")
    tables = [b for b in blocks if b.get("type") == "table"]
    check(len(tables) <= 1, "/blocks", "only_one_table_allowed")
    ids = [b["block_id"] for b in blocks if "block_id" in b]
    check(len(ids) == len(set(ids)), "/blocks", "block_id already exists")
    for n, block in enumerate(blocks):
        rule = RULES.get(block.get("type", ""))
        check(rule, f"/blocks/{n}", f"unsupported type: {block.get('type')}")
        assert rule is not None
        check(len(block.get("block_id", "")) <= 255, f"/blocks/{n}", "block_id too long")
        rule(block, f"/blocks/{n}")


def text(item: Any, where: str, limit: int, kinds: tuple[str, ...] = ("plain_text",)) -> None:
    check(isinstance(item, dict) and item.get("type") in kinds, where, "invalid text object")
    size = len(item.get("text", ""))
    check(size > 0, where, "must be more than 0 characters")
    check(size <= limit, where, f"must be less than {limit + 1} characters")


def section(block: Json, where: str) -> None:
    text(block.get("text"), where, 3000, ("plain_text", "mrkdwn"))


def header(block: Json, where: str) -> None:
    text(block.get("text"), where, 150)


def context(block: Json, where: str) -> None:
    parts = block.get("elements", [])
    check(0 < len(parts) <= 10, where, "1 to 10 elements")
    for part in parts:
        text(part, where, 3000, ("plain_text", "mrkdwn"))


def actions(block: Json, where: str) -> None:
    parts = block.get("elements", [])
    check(0 < len(parts) <= 25, where, "1 to 25 elements")
    ids = [part.get("action_id") for part in parts]
    check(all(ids) and len(ids) == len(set(ids)), where, "action_id missing or not unique")
    for part in parts:
        check(len(part["action_id"]) <= 255, where, "action_id too long")
        element(part, where)


def element(part: Json, where: str) -> None:
    if part["type"] == "button":
        text(part.get("text"), where, 75)
        check(len(part.get("value", "")) <= 2000, where, "value too long")
        check(part.get("style") in {None, "primary", "danger"}, where, "invalid style")
    elif part["type"] == "static_select":
        options = part.get("options", [])
        check(0 < len(options) <= 100, where, "1 to 100 options")
        for option in options:
            text(option.get("text"), where, 75)
            check(0 < len(option.get("value", "")) <= 150, where, "option value too long")
        if "placeholder" in part:
            text(part["placeholder"], where, 150)
    else:
        raise bad(where, f"unsupported element {part['type']}")


def table(block: Json, where: str) -> None:
    rows = block.get("rows", [])
    check(0 < len(rows) <= 100, where, "1 to 100 rows")
    width = len(rows[0])
    check(0 < width <= 20, where, "1 to 20 cells")
    check(all(len(row) == width for row in rows), where, "rows of one length")
    for cell in (cell for row in rows for cell in row):
        text(cell, where, 3000, ("raw_text",))
    total = sum(len(cell["text"]) for row in rows for cell in row)
    check(total <= 10_000, where, "10,000 characters in all tables")
    check(len(block.get("column_settings", [])) <= 20, where, "20 column settings")
    for setting in block.get("column_settings", []):
        check(setting.get("align", "left") in {"left", "center", "right"}, where, "invalid align")


def field(block: Json, where: str) -> None:
    text(block.get("label"), where, 2000)
    part = block.get("element", {})
    check(part.get("type") == "plain_text_input" and part.get("action_id"), where, "bad element")
    check(len(part.get("initial_value", "")) <= 3000, where, "initial_value too long")


RULES: dict[str, Callable[[Json, str], None]] = {
    "section": section,
    "header": header,
    "context": context,
    "actions": actions,
    "divider": lambda _block, _where: None,
    "table": table,
    "input": field,
}


def check_view(view: Json) -> None:
    """Raises invalid_blocks, invalid_arguments."""
    if view.get("type") == "modal":
        text(view.get("title"), "/view/title", 24)
        for key in ("submit", "close"):
            if key in view:
                text(view[key], f"/view/{key}", 24)
    elif view.get("type") != "home":
        raise ApiError("invalid_arguments")
    check(len(view.get("private_metadata", "")) <= 3000, "/view", "private_metadata too long")
    check(len(view.get("callback_id", "")) <= 255, "/view", "callback_id too long")
    check_blocks(view.get("blocks"), surface="view")
    fields = [b for b in view["blocks"] if b["type"] == "input"]
    if view["type"] == "modal" and fields:
        check("submit" in view, "/view", "submit is required with input blocks")


def strays(mrkdwn: str) -> list[str]:
    """Angle brackets that are no link: Slack swallows or misreads them. `<!channel>` pings everybody."""
    return [
        match.group()
        for match in _ANGLES.finditer(mrkdwn)
        if not (_LINK.fullmatch(match[1]) or _REFERENCE.fullmatch(match[1]))
    ]


def mrkdwn_of(blocks: list[Json]) -> list[str]:
    """All texts that Slack reads as mrkdwn."""
    found = []
    for block in blocks:
        parts = [block.get("text"), *block.get("elements", [])]
        found += [p["text"] for p in parts if isinstance(p, dict) and p.get("type") == "mrkdwn"]
    return found
