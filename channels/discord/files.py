"""Downloads of what people send.

The address of a file is signed and runs out after a day; its message gives a new one.
"""

from channels.discord.callbacks import Callbacks
from channels.discord.calls import Calls
from channels.errors import Refused
from channels.types import Attachment


async def download(calls: Calls, callbacks: Callbacks, attachment: Attachment, limit: int) -> bytes:
    """The bytes, at most `limit`. Raises ChannelError."""
    if attachment.size is not None and attachment.size > limit:
        raise Refused(f"{attachment.name} has {attachment.size} bytes; the limit is {limit}")
    place, _, url = (attachment.ref or "").partition(" ")
    if not url:
        raise Refused(f"{attachment.name} has no reference to fetch it by")
    data = await callbacks.fetch(url, limit)
    if data is None:
        url = await _renewed(calls, attachment.name, place)
        data = await callbacks.fetch(url, limit)
    if data is None:
        raise Refused(f"{attachment.name} is gone")
    return data


async def _renewed(calls: Calls, name: str, place: str) -> str:
    """The address that the file has now."""
    channel, message, wanted = (int(part) for part in place.split("/"))
    data = await calls.into(channel, lambda http: http.get_message(channel, message))
    for file in data["attachments"]:
        if int(file["id"]) == wanted:
            return str(file["url"])
    raise Refused(f"{name} is gone")
