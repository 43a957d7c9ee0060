"""The reactions that the Bot API lists for ReactionTypeEmoji."""

_SIMPLE = (
    "👍👎❤🔥🥰👏😁🤔🤯😱🤬😢🎉🤩🤮💩🙏👌🕊🤡🥱🥴😍🐳🌚🌭💯🤣⚡🍌🏆💔🤨😐🍓🍾💋🖕😈😴😭🤓👻👀🎃🙈"
    "😇😨🤝✍🤗🫡🎅🎄☃💅🤪🗿🆒💘🙉🦄😘💊🙊😎👾🤷😡"
)
_JOINED = ("❤\u200d🔥", "👨\u200d💻", "🤷\u200d♂", "🤷\u200d♀")
REACTIONS = frozenset({*_SIMPLE, *_JOINED})
