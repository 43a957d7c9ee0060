"""Marks on people's messages: a bot may set one reaction, and only of a fixed list (Bot API, ReactionTypeEmoji)."""

from collections.abc import Mapping

from telegram.constants import ReactionEmoji

from channels.base import Mark

EMOJI: Mapping[Mark, str] = {
    "received": ReactionEmoji.EYES,
    "done": ReactionEmoji.THUMBS_UP,
    "failed": ReactionEmoji.SHRUG,
    "waiting": ReactionEmoji.WRITING_HAND,
}
