"""The command menu: one for private chats, a shorter one for groups."""

from collections.abc import Sequence

from telegram import Bot, BotCommand, BotCommandScopeAllGroupChats
from telegram.error import TelegramError

from channels.telegram.errors import translate

LIMIT = 100  # setMyCommands takes no more, and refuses them all then
DESCRIPTION = 256
# These are about one person's own things, and work in groups for whoever types them; a group's menu is for all.
PERSONAL = frozenset(
    {
        "start",
        "language",
        "link",
        "memory",
        "forget",
        "budget",
        "usage",
        "archive",
        "skills",
        "halt",
    }
)


async def set_menu(bot: Bot, commands: Sequence[tuple[str, str]], language: str | None) -> None:
    """Set both menus for a language, or for all others. Raises ChannelError."""
    menu = [BotCommand(name, description[:DESCRIPTION]) for name, description in commands]
    shared = [command for command in menu if command.command not in PERSONAL]
    code = language.partition("-")[0].lower() if language else None
    try:
        await bot.set_my_commands(menu[:LIMIT], language_code=code)
        await bot.set_my_commands(
            shared[:LIMIT], scope=BotCommandScopeAllGroupChats(), language_code=code
        )
    except TelegramError as e:
        raise translate(e) from e
