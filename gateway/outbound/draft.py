"""A message before it is a row of the outbox, and the JSON in which that row keeps it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agent_core.types import ArtifactRef
from channels.types import Address, Button, Field, Form, Step

# The stored form of what puts a thread away.
CLOSING = json.dumps(
    {"text": "", "files": [], "buttons": [], "reply_to": None, "steps": [], "closes": True}
)


NOTHING = "NOTHING"  # what a heartbeat answers that has nothing to tell


@dataclass(frozen=True, slots=True)
class Draft:
    """A message before it is a row. `steps` is what was done for it: kept for whoever reads it again later.

    `quiet`: nothing is sent where its text is that there is nothing to say. `closes`: says nothing, but puts the thread
    away when all before it has been said.
    """

    turn_id: int
    key: str
    owner: str
    address: Address
    text: str
    artifacts: Sequence[ArtifactRef] = ()
    buttons: Sequence[Button] = ()
    reply_to: str | None = None
    steps: Sequence[Step] = ()
    closes: bool = False
    quiet: bool = False

    @property
    def silent(self) -> bool:
        """Whether nothing is to be sent of it: a heartbeat without news and without a file."""
        said = self.text.strip().strip("*_`\"'.!").strip()
        return self.quiet and not self.artifacts and said.upper() in ("", NOTHING)


def body_of(draft: Draft) -> str:
    """The stored form of a message."""
    if draft.closes:
        return CLOSING
    return json.dumps(
        {
            "text": draft.text,
            "files": [[a.blob_id, a.name, a.media_type, a.caption] for a in draft.artifacts],
            "buttons": [_button_out(b) for b in draft.buttons],
            "reply_to": draft.reply_to,
            "steps": [[s.id, s.label, s.state, s.detail, s.agent, s.parent] for s in draft.steps],
        },
        ensure_ascii=False,
    )


def _button_out(button: Button) -> list[Any]:
    plain = [button.label, button.data, button.style]
    form = button.form
    if form is None:
        return plain
    fields = [[f.name, f.label, f.value, f.multiline] for f in form.fields]
    return [*plain, [form.title, form.data, fields, form.submit, button.dialog_only]]


def button_of(entry: Sequence[Any]) -> Button:
    """A button as `body_of` stored it."""
    label, data, style, *forms = entry
    if not forms:
        return Button(label, data, style)
    title, form_data, fields, submit, *only = forms[0]
    form = Form(title, form_data, tuple(Field(*f) for f in fields), submit)
    return Button(label, data, style, form, dialog_only=bool(only and only[0]))
