"""What a message is about: the symbols that its own words name, or the one that a pronoun carries on (PDC-1, PDC-3)."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from agent_core import symbols
from agent_core.assembly.portfolio_intent import portfolio_level
from agent_core.book import Focus, Holding
from agent_core.symbols import Symbol

MOST = 6  # symbols of one message whose context is loaded: a pasted list is no question about each
CHARS = 8_000  # of a message that are looked at

_PRONOUN = re.compile(
    r"(?<![其吉])它(?!们|日|山)|[这那该](?:一)?(?:只|支|个|家)(?:股票?|标的|票|币|基金|公司)?(?![个只支家们])"
    r"|该(?:股|票|币|公司|标的)|这股|这票"
    r"|\b(?:it|its|it's|it’s)\b|\b(?:this|that|the) (?:stock|share|one|coin|company|ticker|position|name|symbol)\b",
    re.IGNORECASE,
)
# "这个" before something else than a security, and an "it" that stands for nothing.
_EMPTY = re.compile(
    r"[这那](?:一)?个(?!股|标的|票|币|基金|公司|吗|呢|怎|能|可|还|现|要|该|？|\?|$)[^，。！？\s]{0,2}"
    r"|\bhow(?:'s|’s| is) it going\b|\bmake it\b|\bgot it\b|\bthat's it\b"
    r"|\bit(?:'s|’s| is| was) (?:raining|snowing|late|early|time|hot|cold|monday|friday|clear|true|possible|important"
    r"|ok(?:ay)?|fine|over|noon|midnight|hard to|nice to|good to)\b"
    r"|\bit seems\b",
    re.IGNORECASE,
)


def focus_of(text: str, holdings: Sequence[Holding] = (), last: Sequence[str] = ()) -> Focus:
    """What these words are about.

    Args:
        text: the person's own words, without context blocks.
        holdings: whose names and codes count beside the shipped list.
        last: the symbols that the turn before was about; more than one leaves a pronoun open.
    """
    words = text[:CHARS]
    named = symbols.ids(words, held(holdings, words))[:MOST]
    carried = not named and len(set(last)) == 1 and has_pronoun(words)
    return Focus(
        tuple(last[:1]) if carried else named,
        portfolio=bool(holdings) and portfolio_level(words),
        carried=carried,
    )


def has_pronoun(text: str) -> bool:
    """Whether a word of the text may stand for one symbol that was spoken of before."""
    return _PRONOUN.search(_EMPTY.sub(" ", text)) is not None


def held(holdings: Iterable[Holding], text: str) -> list[Symbol]:
    """Holdings that a text may name, as symbols under the names that the person gave; the list's own are left out."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    found = []
    for holding in holdings:
        name = holding.name.strip()
        code = holding.symbol.partition(".")[0].casefold()
        if code not in folded and not (name and name.casefold() in folded):
            continue
        known = symbols.get(holding.symbol)
        if known is None or (len(name) > 1 and symbols.lookup(name) != known):
            market = known.market if known else ""
            found.append(Symbol(holding.symbol, name, name, market, holding.currency, ()))
    return found
