"""The line that stands under every plan, backtest and report: what figures of the past are worth."""

_PAST = {
    "en": "Past results say nothing about the future; not investment advice.",
    "zh": "过往表现不代表未来，不构成投资建议。",
}


def past(language: str) -> str:
    """The notice in a person's language."""
    return _PAST["zh" if language == "zh" else "en"]
