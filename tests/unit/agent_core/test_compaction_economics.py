"""When an edit pays, and what the cache's rules make of where marks stand."""

import math

import pytest

from agent_core.assembly.breakpoints import breakpoints
from agent_core.compaction.economics import (
    ANY_PREFIX,
    HOUR,
    MARKS_1H,
    MARKS_5M,
    NO_CACHE,
    Situation,
    break_even,
    pays,
)
from agent_core.types import Message, assistant, user
from tests.twins.anthropic_cache import PrefixCache

SYSTEM, USER, ANSWER, MEMORY = 5_000, 50, 300, 500  # PCH-6
TURNS = 20


def test_break_even_is_eleven_and_a_half_times_what_stays_over_what_goes() -> None:
    """Guide, 1: n = 11.5 S/C with five minutes, 19 S/C with an hour."""
    assert break_even(1_000, 1_000, MARKS_5M) == pytest.approx(11.5)
    assert break_even(1_000, 1_000, MARKS_1H) == pytest.approx(19)
    assert break_even(5_000, 20_000, MARKS_5M) == pytest.approx(46)


def test_where_any_prefix_is_cached_an_edit_is_paid_back_soon_and_without_a_cache_at_once() -> None:
    """Guide, 1: the kind of cache is a property of the provider."""
    assert break_even(1_000, 1_000, ANY_PREFIX) == pytest.approx(3)
    assert break_even(1_000, 1_000, NO_CACHE) == 0
    assert break_even(0, 1_000) == math.inf


@pytest.mark.parametrize(
    ("cache", "ttl", "rates"),
    [
        ("breakpoint", 300.0, MARKS_5M),
        ("breakpoint", HOUR, MARKS_1H),
        ("prefix", 300.0, ANY_PREFIX),
        ("none", 300.0, NO_CACHE),
    ],
)
def test_rates_follow_the_kind_of_cache_and_its_life(cache, ttl, rates) -> None:
    """Guide, 1 and 7."""
    assert Situation(64_000, cache=cache, ttl_s=ttl).rates == rates


def test_a_cache_is_cold_once_it_was_idle_for_longer_than_it_lives() -> None:
    """Guide, 2."""
    assert not Situation(64_000, idle_s=300.0).cold
    assert Situation(64_000, idle_s=300.1).cold
    assert not Situation(64_000, idle_s=300.1, ttl_s=HOUR).cold
    assert Situation(64_000, idle_s=math.inf).cold
    assert Situation(64_000, cache="none").cold


def test_the_threshold_is_the_windows_and_may_be_set_lower() -> None:
    """TOK-5, C-1: `threshold_tokens` overrides T, but never beyond what the window allows."""
    assert Situation(64_000).threshold == 47_616
    assert Situation(64_000, threshold_tokens=20_000).threshold == 20_000
    assert Situation(64_000, threshold_tokens=90_000).threshold == 47_616


def test_estimates_are_told_in_the_models_tokens() -> None:
    """TOK-10: system text and schemas count, and everything is multiplied by the model's ratio."""
    situation = Situation(64_000, fixed_tokens=1_000, ratio=2.0)
    assert situation.total(500) == 3_000
    assert situation.room == 47_616 // 2 - 1_000
    assert Situation(4_000, fixed_tokens=9_000).room == 0


def test_clearing_pays_in_batches_that_come_back_before_the_next_compaction() -> None:
    """Guide, 1: a fifth of the window; one that is not paid back in time is no gain."""
    warm = Situation(64_000)

    def worth(cleared: float, ahead: float, carried: float = 0.0) -> bool:
        return pays(cleared, 10_000, warm, ahead=ahead, carried=carried, batch=0.2, patience=6.0)

    assert worth(12_800, ahead=9)
    assert not worth(12_799, ahead=1_000)
    assert not worth(12_800, ahead=8)
    assert not worth(0, ahead=1_000, carried=1_000)
    assert worth(5_000, ahead=0, carried=6 * 23)
    assert not worth(5_000, ahead=0, carried=6 * 23 - 1)


def test_on_a_cold_cache_any_clearing_pays() -> None:
    """Guide, 1 and 2."""
    cold = Situation(64_000, idle_s=301.0)
    assert pays(1, 60_000, cold, ahead=0, carried=0, batch=0.2, patience=6.0)


class Simulated:
    """A chat of 20 turns as PCH-6 models it, billed by the twin's cache (FIX-3)."""

    def __init__(self) -> None:
        self.cache = PrefixCache(clock=lambda: 0.0)
        self.fresh = self.total = 0

    def ask(self, blocks: list[tuple[str, int]], marks: list[int]) -> None:
        prefixes, size, name = [], 0, ""
        for own, tokens in blocks:
            size, name = size + tokens, f"{name}/{own}"
            prefixes.append((name, size))
        seen = self.cache.bill(prefixes, dict.fromkeys(marks, "5m"))
        self.total += size
        self.fresh += size - seen["cache_read_input_tokens"]


def history(turns: int, *, kept: bool) -> list[tuple[str, int]]:
    said: list[tuple[str, int]] = [("system", SYSTEM)]
    for n in range(turns):
        said += [(f"m{n}", MEMORY)] if kept else []
        said += [(f"u{n}", USER), (f"a{n}", ANSWER)]
    return said


def test_transient_memory_needs_a_mark_at_the_last_stable_message() -> None:
    """PCH-6: 82,500 uncached tokens with two marks, 22,650 with a third; 177,500 are sent in both."""
    two, three = Simulated(), Simulated()
    for n in range(TURNS):
        stable = history(n, kept=False)
        blocks = [*stable, (f"m{n}", MEMORY), (f"u{n}", USER)]
        two.ask(blocks, [0, len(blocks) - 1])
        three.ask(blocks, [0, len(stable) - 1, len(blocks) - 1])
    assert (two.total, two.fresh) == (177_500, 82_500)
    assert (three.total, three.fresh) == (177_500, 22_650)


def test_memory_that_stays_in_its_row_is_read_from_the_cache_but_sent_for_ever() -> None:
    """PCH-6: 21,700 uncached, 272,500 in all."""
    kept = Simulated()
    for n in range(TURNS):
        blocks = [*history(n, kept=True), (f"m{n}", MEMORY), (f"u{n}", USER)]
        kept.ask(blocks, [0, len(blocks) - 1])
    assert (kept.total, kept.fresh) == (272_500, 21_700)


def test_the_marks_that_we_set_are_those_of_the_cheap_way() -> None:
    """PCH-5, PCH-6: the end of what is stable before the turn, and the end."""
    messages: list[Message] = []
    turns: list[int] = []
    for n in range(1, 4):
        messages += [user(f"question {n}"), assistant(f"answer {n}")]
        turns += [n, n]
    found = breakpoints([*messages, user("question 4")], [*turns, 4], 4)
    assert [m.at for m in found] == [5, 6]
