"""When a reminder is due, from a person's words."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.schedules.remind_when import When, parse

ZONE = "Europe/Berlin"
NOW = dt.datetime(2026, 11, 30, 8, 0, tzinfo=dt.UTC)  # 09:00 in Berlin, a Monday


@pytest.mark.parametrize(
    ("words", "at", "text"),
    [
        ("in 10m tea", "2026-11-30 09:10", "tea"),
        ("in 10 minutes: drink", "2026-11-30 09:10", ": drink"),
        ("IN 1h 30 min stand up", "2026-11-30 10:30", "stand up"),
        ("in 2h30m x", "2026-11-30 11:30", "x"),
        ("in 45s go", "2026-11-30 09:00", "go"),
        ("in 3 days call", "2026-12-03 09:00", "call"),
        ("in 2 weeks call", "2026-12-14 09:00", "call"),
        ("10分钟后 喝水", "2026-11-30 09:10", "喝水"),
        ("1小时30分钟后喝水", "2026-11-30 10:30", "喝水"),
        ("半小时后，喝水", "2026-11-30 09:30", "喝水"),
        ("3天后 交报告", "2026-12-03 09:00", "交报告"),
        ("2026-12-01 09:00 text", "2026-12-01 09:00", "text"),
        ("2026-12-1T9:05 text", "2026-12-01 09:05", "text"),
        ("at 18:15 leave", "2026-11-30 18:15", "leave"),
        ("08:59 early", "2026-12-01 08:59", "early"),
        ("tomorrow 9:30 stand-up", "2026-12-01 09:30", "stand-up"),
        ("tomorrow at 9:30 stand-up", "2026-12-01 09:30", "stand-up"),
        ("明天 9:30 开会", "2026-12-01 09:30", "开会"),
        ("明天9点开会", "2026-12-01 09:00", "开会"),
        ("后天下午3点半 开会", "2026-12-02 15:30", "开会"),
        ("今天 8:00 过去了", "2026-11-30 08:00", "过去了"),
    ],
)
def test_a_time_at_the_beginning_is_understood(words: str, at: str, text: str) -> None:
    found = parse(words, NOW, ZONE)
    assert found is not None
    assert f"{found.at.astimezone(ZoneInfo(ZONE)):%Y-%m-%d %H:%M}" == at
    assert found.text == text


@pytest.mark.parametrize(
    "words",
    [
        *("", "tea", "in tea", "in 10 months tea", "in 10months tea", "10 minutes tea"),
        *("25:00 x", "2026-13-01 09:00 x", "2026-02-30 09:00 x", "9:75 x", "in 999999 weeks x"),
        *("后 喝水", "明天 开会", "next week 9:00"),
    ],
)
def test_what_names_no_time_is_no_time(words: str) -> None:
    assert parse(words, NOW, ZONE) is None


def at(words: str, now: dt.datetime) -> str:
    found = parse(words, now, ZONE)
    assert found is not None
    return f"{found.at:%Y-%m-%d %H:%M}"


def test_days_keep_the_time_of_day_over_a_change_of_clocks_and_hours_are_elapsed() -> None:
    before = dt.datetime(
        2026, 3, 28, 8, 0, tzinfo=dt.UTC
    )  # 09:00, summer time begins the next night
    assert at("in 1 day x", before) == "2026-03-29 07:00"
    assert at("in 24h x", before) == "2026-03-29 08:00"
    assert at("tomorrow 9:00 x", before) == "2026-03-29 07:00"


def test_a_skipped_local_time_is_moved_on_and_a_repeated_one_is_the_first() -> None:
    assert at("2026-03-29 02:30 x", NOW - dt.timedelta(days=300)) == "2026-03-29 01:30"  # 03:30
    assert at("2026-10-25 02:30 x", NOW - dt.timedelta(days=300)) == "2026-10-25 00:30"


@given(st.text(max_size=60))
def test_any_words_are_a_time_or_none(words: str) -> None:
    found = parse(words, NOW, ZONE)
    assert found is None or (isinstance(found, When) and found.at.tzinfo is not None)
