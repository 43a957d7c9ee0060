"""The address that puts the bot into a server."""

from urllib.parse import urlencode

# Bits of discord.com/developers/docs/topics/permissions
RIGHTS = {
    "Add Reactions": 1 << 6,
    "View Channel": 1 << 10,
    "Send Messages": 1 << 11,
    "Embed Links": 1 << 14,
    "Attach Files": 1 << 15,
    "Read Message History": 1 << 16,
    "Manage Threads": 1 << 34,  # to write in a thread again that was put away
    "Create Public Threads": 1 << 35,
    "Send Messages in Threads": 1 << 38,
}


def invite_url(application_id: str) -> str:
    """Where an administrator of a server lets the bot in, with all rights it uses and its commands.

    Raises ValueError when this is not an id, which is 17 to 20 digits.
    """
    if not (
        application_id.isascii() and application_id.isdigit() and 17 <= len(application_id) <= 20
    ):
        raise ValueError(f"{application_id!r} is not an application id, which has 17 to 20 digits")
    query = {
        "client_id": application_id,
        "scope": "bot applications.commands",
        "permissions": sum(RIGHTS.values()),
    }
    return f"https://discord.com/oauth2/authorize?{urlencode(query)}"
