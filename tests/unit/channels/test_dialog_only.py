"""A button that only opens a dialog: left out where there are no dialogs, so that nothing stands there in vain."""

import json

from channels.slack.forms import form_of, value_of
from channels.telegram.render import keyboard
from channels.types import Button, Field, Form
from channels.web.wire import button_json
from gateway.outbound.draft import Draft, body_of, button_of
from tests.harness import place

FILL = Button(
    "Fill in", "fill:1", form=Form("Fill", "fill:1", (Field("n", "N"),)), dialog_only=True
)
YES = Button("Yes", "ok:1")


def test_telegram_and_the_web_chat_leave_it_out() -> None:
    assert keyboard((FILL,)) is None
    keys = keyboard((FILL, YES))
    assert keys is not None
    assert [[key.text for key in row] for row in keys.inline_keyboard] == [["Yes"]]
    assert [button["label"] for button in button_json((FILL, YES))] == ["Yes"]


def test_slack_opens_its_form() -> None:
    value = value_of(FILL)
    assert value is not None
    assert form_of(value) == FILL.form


def test_it_is_kept_in_the_outbox_as_it_is() -> None:
    draft = Draft(1, "notice", "telegram:1", place(), "?", buttons=(FILL, YES))
    entries = json.loads(body_of(draft))["buttons"]
    assert [button_of(entry) for entry in entries] == [FILL, YES]
    before = [*entries[0][:3], entries[0][3][:4]]  # as an earlier version stored it
    assert not button_of(before).dialog_only
