"""Buttons, menus and dialogs as Discord's components; what a press of one means."""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from channels.types import Button, Form

log = logging.getLogger(__name__)

# discord.com/developers/docs/components/reference
ROW, BUTTON, SELECT, TEXT_INPUT = 1, 2, 3, 4
ROWS, IN_A_ROW, OPTIONS = 5, 5, 25
LABEL, OPTION_LABEL, MODAL_TITLE, FIELD_LABEL, FIELD_VALUE = 80, 100, 45, 45, 4000
FIELDS = 5
STYLES = {"plain": 2, "primary": 1, "danger": 4}
MENU = "menu:"  # the custom id of a menu; what was chosen is in its values
_KEPT_FORMS = 1000

Json = dict[str, Any]


def keyboard(buttons: Sequence[Button]) -> list[Json]:
    """Buttons under a message: up to five rows of five; more become menus of 25 each."""
    found = list({button.data: button for button in buttons}.values())
    if len(found) <= ROWS * IN_A_ROW:
        keys = [_button(button) for button in found]
        return [_row(keys[i : i + IN_A_ROW]) for i in range(0, len(keys), IN_A_ROW)]
    if len(found) > ROWS * OPTIONS:
        log.warning("%d choices are too many for Discord: the first 125 are shown", len(found))
    groups = [found[i : i + OPTIONS] for i in range(0, len(found), OPTIONS)][:ROWS]
    return [_row([_menu(number, group)]) for number, group in enumerate(groups)]


def _row(components: list[Json]) -> Json:
    return {"type": ROW, "components": components}


def _button(button: Button) -> Json:
    return {
        "type": BUTTON,
        "style": STYLES[button.style],
        "label": clipped(button.label, LABEL),
        "custom_id": button.data,
    }


def _menu(number: int, group: Sequence[Button]) -> Json:
    options = [{"label": clipped(b.label, OPTION_LABEL), "value": b.data} for b in group]
    return {"type": SELECT, "custom_id": f"{MENU}{number}", "options": options}


def clipped(text: str, limit: int) -> str:
    """The text on one line, within a limit of characters; never empty."""
    line = " ".join(text.split()) or "…"
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def dialog(form: Form) -> Json:
    """A form as a modal; Discord takes five fields."""
    rows = [
        _row(
            [
                {
                    "type": TEXT_INPUT,
                    "custom_id": field.name,
                    "style": 2 if field.multiline else 1,
                    "label": clipped(field.label, FIELD_LABEL),
                    "value": field.value[:FIELD_VALUE],
                    "required": False,
                }
            ]
        )
        for field in form.fields[:FIELDS]
    ]
    title = clipped(form.title, MODAL_TITLE)
    return {"custom_id": form.data, "title": title, "components": rows}


def pressed(data: Mapping[str, Any]) -> str:
    """The data of the button that was pressed, or of the choice in a menu."""
    custom_id = str(data.get("custom_id", ""))
    if custom_id.startswith(MENU) and data.get("values"):
        return str(data["values"][0])
    return custom_id


def filled(data: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Names and values of a submitted dialog."""
    rows = data.get("components", ())
    inputs = [part for row in rows for part in row.get("components", [row.get("component")])]
    return tuple((str(part["custom_id"]), str(part.get("value") or "")) for part in inputs if part)


class Forms:
    """The forms of buttons that were sent, the newest thousand: a dialog must open at once, without asking anybody."""

    def __init__(self) -> None:
        self._forms: OrderedDict[str, Form] = OrderedDict()

    def keep(self, buttons: Sequence[Button]) -> None:
        """Remember those that have one."""
        for button in buttons:
            if button.form is not None:
                self._forms[button.data] = button.form
                self._forms.move_to_end(button.data)
        while len(self._forms) > _KEPT_FORMS:
            self._forms.popitem(last=False)

    def get(self, data: str) -> Form | None:
        """The form of a button, if it was sent by this process."""
        return self._forms.get(data)
