"""The rate of one person, within a sliding minute."""

from gateway.people.rate import PEOPLE, Allowance, RateLimit

TAKE, TELL, QUIET = Allowance.TAKE, Allowance.TELL, Allowance.QUIET


def test_the_limit_holds_within_any_minute() -> None:
    rate = RateLimit(2)
    assert [rate.check("a", t) for t in (0, 30, 59, 60, 61, 90)] == [
        TAKE,
        TAKE,
        TELL,
        TAKE,
        QUIET,
        TAKE,
    ]


def test_people_are_told_once_a_minute() -> None:
    rate = RateLimit(1)
    rate.check("a", 0)
    assert [rate.check("a", t) for t in (1, 2, 59)] == [TELL, QUIET, QUIET]
    assert rate.check("a", 60) is TAKE
    assert [rate.check("a", t) for t in (61, 62)] == [TELL, QUIET]


def test_each_person_has_a_minute_of_its_own() -> None:
    rate = RateLimit(1)
    assert [rate.check(p, 0) for p in "ab"] == [TAKE, TAKE]


def test_what_is_refused_does_not_count() -> None:
    rate = RateLimit(1)
    rate.check("a", 0)
    for t in range(1, 60):
        rate.check("a", t)
    assert rate.check("a", 60) is TAKE


def test_a_message_that_had_come_before_is_taken_back() -> None:
    rate = RateLimit(1)
    for _ in range(3):
        rate.forgive("a", rate.check("a", 0))
    assert rate.check("a", 0) is TAKE
    rate.forgive("a", rate.check("a", 1))
    assert rate.check("a", 2) is TELL
    rate.forgive("a", QUIET)
    rate.forgive("nobody", TAKE)
    assert rate.check("a", 3) is QUIET


def test_people_who_fell_silent_are_forgotten() -> None:
    rate = RateLimit(5)
    for n in range(PEOPLE + 1):
        rate.check(str(n), 0)
    rate.check("a", 61)
    assert len(rate._taken) == 1
