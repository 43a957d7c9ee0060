"""What came in such that every database takes it: no half of a surrogate pair, and no U+0000.

JSON can carry both, so whoever posts to us can send them. A row that cannot be written would come again for ever.
"""

from dataclasses import fields, is_dataclass, replace
from typing import Any

from agent_core.models.stream import mend
from channels.types import Inbound


def storable(inbound: Inbound) -> Inbound:
    """The same with U+FFFD in the places of such characters; nearly always the very same object."""
    fixed: Inbound = _fixed(inbound)
    return fixed


def _fixed(value: Any) -> Any:
    if type(value) is str:
        return mend(value).replace("\0", "\ufffd")
    if isinstance(value, tuple):
        parts = tuple(_fixed(one) for one in value)
        return value if parts == value else parts
    if not is_dataclass(value) or isinstance(value, type):
        return value
    held = {field.name: getattr(value, field.name) for field in fields(value)}
    changed = {name: new for name, old in held.items() if (new := _fixed(old)) != old}
    return replace(value, **changed) if changed else value
