"""The arguments of a Bot API call, as client libraries send them."""

import json
from typing import Any

from tests.twins.telegram_state import Json, bad
from tests.twins.telegram_text import MAX_CAPTION, checked
from tests.twins.twin import Call, Upload


class Args:
    """The arguments of a call: strings, numbers as strings, objects as JSON strings."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.all: Json = call.params

    def text(self, name: str) -> str | None:
        """A string, or None."""
        value = self.all.get(name)
        return None if value is None else str(value)

    def int(self, name: str) -> int | None:
        """A number, or None. Raises ApiError."""
        value = self.all.get(name)
        try:
            return None if value in {None, ""} else int(value)  # type: ignore[arg-type]
        except (TypeError, ValueError) as e:
            raise bad(f"{name} must be an integer") from e

    def chat(self) -> "int":
        """chat_id. Raises ApiError."""
        chat_id = self.int("chat_id")
        if chat_id is None:
            raise bad("chat_id is empty")
        return chat_id

    def json(self, name: str) -> Any:
        """An object that may be a JSON string; None when it is missing."""
        value = self.all.get(name)
        if isinstance(value, str):
            try:
                return json.loads(value)
            except ValueError as e:
                raise bad(f"can't parse {name} JSON object") from e
        return value

    def upload(self, name: str) -> Upload:
        """A file that is a part of the name itself, or `attach://part`. Raises ApiError."""
        if name in self.call.files:
            return self.call.files[name]
        return self.upload_of(self.text(name) or "")

    def upload_of(self, reference: str) -> Upload:
        """The part that `attach://part` names. Raises ApiError."""
        part = self.call.files.get(reference.removeprefix("attach://"))
        if part is None:
            raise bad("there is no file in the request")
        return part


def caption(of: Json) -> Json:
    """Caption and its entities."""
    text, entities = checked(of.get("caption"), of.get("parse_mode"), MAX_CAPTION, "caption")
    return {"caption": text, "caption_entities": entities} if text else {}


def markup(args: Args) -> Json:
    """The inline keyboard, checked."""
    found: Json | None = args.json("reply_markup")
    if not found or not found.get("inline_keyboard"):
        return {}
    for row in found["inline_keyboard"]:
        for button in row:
            data = button.get("callback_data", "")
            if not button.get("text"):
                raise bad("BUTTON_TEXT_INVALID")
            if len(data.encode()) > 64 or not (data or button.get("url")):
                raise bad("BUTTON_DATA_INVALID")
    return {"reply_markup": {"inline_keyboard": found["inline_keyboard"]}}
