"""No secret stands in a preset: it is shown, compared, stored with runs and kept in repositories (SW311, SWM-3)."""

import re
from collections.abc import Iterator
from dataclasses import replace

from swarm_presets.positions import Mapping, Source, Span
from swarm_presets.problems import Problem, problem
from swarm_presets.references import Known

_NAMED = re.compile(r"\$\{[^}]*\}")  # the name of a variable, and not what it holds
_CURE = "keep it in the settings or in a variable of the environment, and make a new one"


def secret_meaning(tree: Mapping, known: Known) -> Iterator[Problem]:
    """SW311 for each line of a file, comments included, that holds a secret. The finding shows none of it."""
    if known.redact is None:
        return
    source = tree.span.source
    text = "\n".join(source.lines)
    if known.redact(text) == text:
        return
    for number, line in enumerate(source.lines, 1):
        bare = _NAMED.sub("", line)
        if (masked := known.redact(bare)) != bare:
            yield _finding(source, number, bare, masked)


def _finding(source: Source, number: int, line: str, masked: str) -> Problem:
    begin = next(i for i, char in enumerate(masked) if line[i : i + 1] != char)
    kept = len(line) - begin  # characters that may be the same at both ends
    end = next((i for i in range(kept) if masked[-1 - i : len(masked) - i] != line[-1 - i]), kept)
    length = max(1, len(masked) - begin - end)
    span = Span(source, number, begin + 1, length)
    found = problem("SW311", "a secret stands here", span, _CURE)
    return replace(found, excerpt=masked)
