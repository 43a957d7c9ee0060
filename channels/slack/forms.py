"""Buttons that open a dialog: the form travels in the button's value, its place in the modal's private_metadata."""

import json
from typing import Any

from channels.types import Address, Button, Field, Form

Json = dict[str, Any]

CALLBACK = "swarmgate.form"
VALUE_LIMIT = 2000  # a button's value
TITLE_LIMIT = 24  # a modal's title and buttons
TEXT_LIMIT = 3000  # initial_value of an input; private_metadata


def value_of(button: Button) -> str | None:
    """The button's form as a value; None where it does not fit: then the gateway asks in words."""
    form = button.form
    if form is None or any(len(field.value) > TEXT_LIMIT for field in form.fields):
        return None
    fields = [[f.name, f.label, f.value, f.multiline] for f in form.fields]
    value = json.dumps([form.title, form.data, form.submit, fields], ensure_ascii=False)
    return value if len(value) <= VALUE_LIMIT else None


def form_of(value: str) -> Form:
    """The form of a value. Raises ValueError."""
    try:
        title, data, submit, fields = json.loads(value)
        return Form(title, data, tuple(Field(*entry) for entry in fields), submit)
    except (TypeError, KeyError) as e:
        raise ValueError("this is no form") from e


def modal(form: Form, address: Address, message_id: str | None, *, private: bool) -> Json:
    """The view to open."""
    place = [address.chat, address.thread, message_id, private, form.data]
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "private_metadata": json.dumps(place),
        "title": plain(form.title, TITLE_LIMIT),
        "submit": plain(form.submit, TITLE_LIMIT),
        "blocks": [_input(number, field) for number, field in enumerate(form.fields)]
        or [{"type": "section", "text": plain(form.title, TEXT_LIMIT)}],
    }


def plain(text: str, limit: int) -> Json:
    """A plain_text object; never empty."""
    text = " ".join(text.split()) or "…"
    return {"type": "plain_text", "text": text if len(text) <= limit else f"{text[: limit - 1]}…"}


def submitted(view: Json) -> tuple[list[Any], tuple[tuple[str, str], ...]]:
    """[chat, thread, message id, private, data] and what was filled in. Raises ValueError, KeyError."""
    place = json.loads(view["private_metadata"])
    if not isinstance(place, list) or len(place) != 5:
        raise ValueError("this is no form of ours")
    values = view["state"]["values"]
    fields = [
        (name, str(element.get("value") or ""))
        for block in view["blocks"]
        for name, element in values.get(block.get("block_id"), {}).items()
    ]
    return place, tuple(fields)


def _input(number: int, field: Field) -> Json:
    element: Json = {
        "type": "plain_text_input",
        "action_id": field.name,
        "multiline": field.multiline,
    }
    if field.value:
        element["initial_value"] = field.value
    return {
        "type": "input",
        "block_id": f"field-{number}",
        "optional": True,
        "label": plain(field.label, 2000),
        "element": element,
    }
