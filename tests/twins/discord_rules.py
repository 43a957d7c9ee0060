"""What Discord refuses in a message, a dialog or a command; and what no client may send at all."""

import re
from collections.abc import Iterable
from typing import Any

from tests.twins.discord_state import ApiError, Json, invalid

MESSAGE_FIELDS = {
    "content", "nonce", "enforce_nonce", "tts", "embeds", "allowed_mentions", "message_reference",
    "components", "sticker_ids", "attachments", "flags", "poll", "payload_json",
}  # fmt: skip
COMMAND_NAME = re.compile(r"[-_'a-z0-9\u00c0-\uffff]{1,32}")


def units(text: str) -> int:
    """Length in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def check_length(where: str, text: str, most: int, least: int = 1) -> None:
    """Raises ApiError."""
    if not least <= units(text) <= most:
        message = f"Must be between {least} and {most} in length."
        raise invalid(where, "BASE_TYPE_BAD_LENGTH", message)


def check_message(body: Json, files: int, *, edit: bool = False) -> None:
    """Raises ApiError as Discord answers."""
    content = body.get("content")
    if content is not None and units(str(content)) > 2000:
        raise invalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
    embeds = body.get("embeds") or []
    if not (str(content or "").strip() or embeds or files or edit):
        raise ApiError(400, 50006, "Cannot send an empty message")
    if len(embeds) > 10:
        raise invalid("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
    for embed in embeds:
        check_length("embeds.0.description", str(embed.get("description", "x")), 4096)
    if body.get("nonce") is not None:
        check_length("nonce", str(body["nonce"]), 25)
    if len(body.get("attachments") or []) < files or files > 10:
        raise invalid("attachments", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
    check_components(body.get("components") or [])


def check_components(rows: list[Json]) -> None:
    """Rows of buttons or one menu; custom ids are unique in a message."""
    if len(rows) > 5:
        raise invalid("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
    seen: set[str] = set()
    for row in rows:
        parts = row.get("components", [])
        if row.get("type") != 1 or not parts:
            raise invalid("components.0", "UNION_TYPE_CHOICES", "Value must be an action row.")
        if len(parts) > (1 if any(p["type"] == 3 for p in parts) else 5):
            raise invalid("components.0", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5.")
        for part in parts:
            check_component(part, seen)


def check_component(part: Json, seen: set[str]) -> None:
    """A button or a menu."""
    custom_id = str(part.get("custom_id", ""))
    check_length("components.0.components.0.custom_id", custom_id, 100)
    if custom_id in seen:
        where = "components.0.components.0.custom_id"
        raise invalid(where, "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id duplicated")
    seen.add(custom_id)
    if part["type"] == 2:
        check_length("components.0.components.0.label", str(part.get("label", "")), 80)
    elif part["type"] == 3:
        options = part.get("options") or []
        values = [option["value"] for option in options]
        if not 1 <= len(options) <= 25 or len(set(values)) != len(values):
            raise invalid("components.0.components.0.options", "BASE_TYPE_BAD_LENGTH", "1 to 25")
        for option in options:
            check_length("options.label", option["label"], 100)
            check_length("options.value", option["value"], 100)
    else:
        raise invalid("components.0.components.0", "UNION_TYPE_CHOICES", "No such component.")


def check_modal(data: Json) -> None:
    """A dialog."""
    check_length("data.custom_id", str(data.get("custom_id", "")), 100)
    check_length("data.title", str(data.get("title", "")), 45)
    rows = data.get("components", [])
    if not 1 <= len(rows) <= 5:
        raise invalid("data.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5.")
    for row in rows:
        (part,) = row["components"]
        check_length("data.components.custom_id", str(part.get("custom_id", "")), 100)
        check_length("data.components.label", str(part.get("label", "")), 45)
        check_length("data.components.value", str(part.get("value", "")), 4000, 0)
        if part["type"] != 4 or part["style"] not in {1, 2}:
            raise invalid("data.components", "UNION_TYPE_CHOICES", "Value must be a text input.")


def check_commands(commands: list[Json]) -> None:
    """The whole list of an application."""
    if len(commands) > 100:
        raise ApiError(400, 30032, "Maximum number of application commands reached (100).")
    for command in commands:
        if not COMMAND_NAME.fullmatch(command["name"]):
            raise invalid("0.name", "STRING_TYPE_REGEX", "String value did not match regex.")
        texts = [command["description"], *command.get("description_localizations", {}).values()]
        for text in texts:
            check_length("0.description", text, 100)
        for option in command.get("options", []):
            check_length("0.options.0.description", option["description"], 100)
            if not COMMAND_NAME.fullmatch(option["name"]):
                raise invalid("0.options.0.name", "STRING_TYPE_REGEX", "did not match")


def strange_fields(body: Json, also: Iterable[str] = ()) -> list[str]:
    """Fields that Discord does not know in a message."""
    return sorted(set(body) - MESSAGE_FIELDS - set(also))


def numbered(rows: Any) -> list[Json]:
    """Components as Discord stores them: each has an integer id."""
    count = 0
    found: list[Json] = []
    for row in rows or []:
        count += 1
        kept = {**row, "id": count, "components": []}
        for part in row["components"]:
            count += 1
            kept["components"].append({**part, "id": count})
        found.append(kept)
    return found
