"""Editing presets: a draft is checked while it is written, saved in one step, and used by the next message."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from sqlalchemy import Connection

from gateway.cli.preset_new import write_new
from gateway.console import audit
from gateway.console.calls import Call, Done, Refused, Wanted, missing
from gateway.console.preset_desk import Changed, NotOurs, digest_of
from gateway.console.presets import Finding, findings
from gateway.problems import OperatorError
from swarm_presets.scalars import PRESET_NAME

MAX_CHARS = 80_000  # as JSON, escaped, within what one request may hold


class Draft(Wanted):
    """The text of a preset's file."""

    text: Annotated[str, Field(max_length=MAX_CHARS)]


class Save(Draft):
    """`base` is the digest of the text that the draft was made from."""

    base: Annotated[str, Field(max_length=64)]


class Extend(Wanted):
    """The name of a new preset; the same name makes one that takes the shipped one's place."""

    name: Annotated[str, Field(pattern=PRESET_NAME)]


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found about a draft; `fine`: it may be saved."""

    fine: bool
    problems: list[Finding]


@dataclass(frozen=True, slots=True)
class Saved:
    """`saved` says whether the file is written now; if so `digest` names its text and the next message uses it."""

    saved: bool
    digest: str
    said: str
    problems: list[Finding]


async def check(call: Call[Draft]) -> Checked:
    """Check a draft; nothing is changed."""
    desk, name = call.house.presets, call.path["name"]
    try:
        found = await asyncio.to_thread(desk.check, name, call.wanted.text)
    except NotOurs:
        raise missing() from None
    return Checked(all(p.severity != "error" for p in found), findings(found))


async def save(call: Call[Save]) -> Saved:
    """Save a draft that has no error; from now on messages use it."""
    desk, name, text = call.house.presets, call.path["name"], call.wanted.text
    text = text.replace("\r\n", "\n")
    try:
        found = await asyncio.to_thread(desk.write, name, text, call.wanted.base)
    except NotOurs:
        raise missing() from None
    except Changed:
        said = "The file was changed meanwhile: load the page again."
        raise Refused(409, "changed", said) from None
    except OSError as e:
        raise Refused(409, "not_written", f"The file cannot be written: {e.strerror}.") from None
    if any(p.severity == "error" for p in found):
        said = call.say("Not saved: there are errors.")
        return Saved(saved=False, digest=call.wanted.base, said=said, problems=findings(found))
    await _noted(call, "edit_preset", name)
    said = call.say("Saved. The next message uses it.")
    return Saved(saved=True, digest=digest_of(text), said=said, problems=findings(found))


async def extend(call: Call[Extend]) -> Done:
    """Begin a preset that extends this one and runs as it is."""
    desk, parent, name = call.house.presets, call.path["name"], call.wanted.name
    presets = await asyncio.to_thread(desk.load)
    if parent not in presets.trees:
        raise missing()
    folder = call.house.settings.presets_dir
    try:
        await asyncio.to_thread(write_new, folder, name, parent, presets.trees[parent])
    except OperatorError:
        raise Refused(409, "exists", "A preset of this name exists already.") from None
    except OSError as e:
        raise Refused(409, "not_written", f"The file cannot be written: {e.strerror}.") from None
    await _noted(call, "new_preset", name)
    said = call.say("{name} is there. Write what differs from {parent}.", name=name, parent=parent)
    return Done(said, f"/console/presets/{name}/edit")


async def _noted(call: Call[Extend] | Call[Save], action: str, name: str) -> None:
    """Take the file up now, not when the watch sees it, and note who wrote it."""
    core, now = call.house.core, call.house.core.clock.now()
    await core.presets.reload()

    def work(conn: Connection) -> None:
        audit.write(conn, call.who, action, now, target=f"preset {name}")

    await core.db.write(work)
