"""When editing early rows pays: the prompt cache's prices against what is cleared (guide "context_economics").

A request reads its cached prefix at a tenth of the price. Changing an early row throws away everything behind it: the
S tokens that stay are written anew once, the C tokens that went are never read again. With prices in units of plain
input, the edit is paid back after n = (write - read) / read * S / C further requests: 11.5 S/C for Anthropic's five
minutes, 19 S/C for its hour; at once when the cache is cold, and always where there is none.
"""

import math
from dataclasses import dataclass

from agent_core.models import tokens
from agent_core.ports import CacheKind

HOUR = 3_600.0
FIVE_MINUTES = 300.0


@dataclass(frozen=True, slots=True)
class Rates:
    """What cached tokens cost, in units of plain input."""

    read: float
    write: float


# Anthropic's prompt-caching page. Providers that cache any prefix charge nothing for writing; they read at .1 to .5
# (DeepSeek's and OpenAI's price pages), and a middle value keeps the decision from hanging on the model's name.
MARKS_5M = Rates(read=0.1, write=1.25)
MARKS_1H = Rates(read=0.1, write=2.0)
ANY_PREFIX = Rates(read=0.25, write=1.0)
NO_CACHE = Rates(read=1.0, write=1.0)


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision to compact depends on besides the view; made anew before each model call (TOK-8, MSC-14).

    Attributes:
        window: the context window of the model that answers next, in its tokens.
        fixed_tokens: estimate (`mixed`) of system text and tool schemas, which no compaction shortens.
        cache: the provider's kind of prompt cache.
        ttl_s: how long an entry lives after its last use, in seconds.
        idle_s: seconds since the last model call of this session; inf when there was none.
        ratio: the model's tokens for one token of the estimate (`tokens.calibration`).
        threshold_tokens: overrides window - reserve (C-1); never more than that.
    """

    window: int
    fixed_tokens: int = 0
    cache: CacheKind = "breakpoint"
    ttl_s: float = FIVE_MINUTES
    idle_s: float = 0.0
    ratio: float = 1.0
    threshold_tokens: int | None = None

    @property
    def threshold(self) -> int:
        """T: compaction is due when a request is strictly larger (TOK-5)."""
        limit = tokens.threshold(self.window)
        return limit if self.threshold_tokens is None else min(limit, self.threshold_tokens)

    @property
    def cold(self) -> bool:
        """Whether the next request finds nothing in the cache, so that editing is free."""
        return self.cache == "none" or self.idle_s > self.ttl_s

    @property
    def rates(self) -> Rates:
        """What the cache costs."""
        if self.cache == "breakpoint":
            return MARKS_1H if self.ttl_s >= HOUR else MARKS_5M
        return ANY_PREFIX if self.cache == "prefix" else NO_CACHE

    def total(self, view_tokens: int) -> int:
        """The model's tokens of a request with this view."""
        return round((self.fixed_tokens + view_tokens) * self.ratio)

    def estimate(self, model_tokens: float) -> int:
        """The estimate that corresponds to so many of the model's tokens."""
        return int(model_tokens / self.ratio)

    @property
    def room(self) -> int:
        """How large, by estimate, a view may be for its request to stay within T; never negative."""
        return max(0, self.estimate(self.threshold) - self.fixed_tokens)


def break_even(cleared: float, kept: float, rates: Rates = MARKS_5M) -> float:
    """Further requests until clearing has paid for itself: 11.5 kept/cleared with five minutes, 19 with an hour.

    `cleared` are the tokens that go, `kept` those that stay behind the first changed place. inf when nothing goes.
    """
    if cleared <= 0:
        return math.inf
    return (rates.write - rates.read) / rates.read * kept / cleared if rates.read < 1 else 0.0


def pays(
    cleared: float,
    kept: float,
    situation: Situation,
    *,
    ahead: float,
    carried: float,
    batch: float,
    patience: float,
) -> bool:
    """Whether to clear now: on a cold cache always, else in batches that are paid back, or after long patience.

    Args:
        cleared: tokens that would go.
        kept: tokens that stay behind the first changed place.
        situation: the model's window and cache.
        ahead: requests until the prefix must be written anew anyway, as far as can be seen: an edit that has not paid
            for itself by then never does.
        carried: how many requests have carried what would go. What has cost as much as several edits to keep is let
            go, whatever its size; measured, doing so at one time the break-even costs more than it saves.
        batch: the share of the window that makes a batch.
        patience: how many times the break-even `carried` must have reached.
    """
    if cleared <= 0:
        return False
    if situation.cold:
        return True
    needed = break_even(cleared, kept, situation.rates)
    if cleared >= batch * situation.window and ahead >= needed:
        return True
    return carried >= patience * needed
