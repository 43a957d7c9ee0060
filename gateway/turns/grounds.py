"""The runtime's check of numbers, handed to the tools that let a model write: they stand below it and cannot ask it."""

from agent_core.runtime import grounding

TOLERANCE = 0.001  # relative: figures are quoted, not computed with


def invented(words: str, figures: str) -> list[str]:
    """The numbers of `words` that `figures` (JSON) does not hold, as they are written, each once."""
    known = grounding.sources([figures])
    return [found.text for found in grounding.ungrounded(words, known, TOLERANCE)]
