"""Cron lines in a time zone: slots, changes of the clock, how late is too late, and what is wrong with a line."""

import datetime as dt
from pathlib import Path

import pytest

from agent_core.runtime.team import Timed
from swarm_presets import cron
from swarm_presets.loader import load_folder
from tests.unit.swarm_presets.catalogue import TOOLS

BERLIN = "Europe/Berlin"


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def slots(line: str, after: str, count: int) -> list[str]:
    found, at = [], utc(after)
    for _ in range(count):
        at = cron.following(line, BERLIN, at)
        found.append(f"{at:%m-%d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("line", "after", "wanted"),
    [
        ("30 9 * * 1-5", "2026-01-09 09:00", ["01-12 08:30", "01-13 08:30"]),
        # 2026-03-29: two o'clock is three o'clock; what was due at half past two is due at once.
        ("30 2 * * *", "2026-03-28 12:00", ["03-29 01:00", "03-30 00:30"]),
        ("30 * * * *", "2026-03-28 23:40", ["03-29 00:30", "03-29 01:30"]),
        # 2026-10-25: half past two comes twice; a fixed time counts once, each hour is an hour.
        ("30 2 * * *", "2026-10-24 12:00", ["10-25 00:30", "10-26 01:30"]),
        ("30 * * * *", "2026-10-24 23:40", ["10-25 00:30", "10-25 01:30", "10-25 02:30"]),
    ],
)
def test_slots_keep_the_local_time_through_changes_of_the_clock(
    line: str, after: str, wanted: list[str]
) -> None:
    assert slots(line, after, len(wanted)) == wanted


@pytest.mark.parametrize(
    ("line", "due", "now", "wanted"),
    [
        ("0 8 * * *", "2026-01-05 08:00", "2026-01-05 08:00", "2026-01-05 08:00"),
        ("0 8 * * *", "2026-01-05 08:00", "2026-01-05 10:00", "2026-01-05 08:00"),
        ("0 8 * * *", "2026-01-05 08:00", "2026-01-05 10:01", None),
        ("0 8 * * *", "2026-01-02 08:00", "2026-01-05 08:30", "2026-01-05 08:00"),
        ("*/30 * * * *", "2026-01-02 08:00", "2026-01-05 08:44", "2026-01-05 08:30"),
        ("*/30 * * * *", "2026-01-05 08:30", "2026-01-05 08:46", None),
        ("* * * * *", "2025-01-05 08:30", "2026-01-05 08:46", "2026-01-05 08:46"),
    ],
)
def test_a_late_slot_counts_for_half_the_time_to_the_next_and_two_hours_at_most(
    line: str, due: str, now: str, wanted: str | None
) -> None:
    found = cron.latest(line, "UTC", utc(due), utc(now))
    assert found == (None if wanted is None else utc(wanted))


@pytest.mark.parametrize(
    ("line", "message", "cure"),
    [
        ("@daily", "1 fields", "write five"),
        ("61 * * * *", "'61' is no minute", "0-59"),
        ("0 0 * FEBB *", "'FEBB' is no month", "did you mean FEB?"),
        ("0 0 31 2 *", "'31' is no day of the month", "1-31"),
        ("0 0 * * 9", "'9' is no day of the week", "0-7 or SUN-SAT"),
    ],
)
def test_a_wrong_line_is_told_by_its_field(line: str, message: str, cure: str) -> None:
    with pytest.raises(cron.BadCron, match=message) as bad:
        cron.check(line)
    assert cure in bad.value.cure


def test_a_presets_schedule_is_compiled_with_its_inputs_and_not_inherited(tmp_path: Path) -> None:
    """A child that took its parent's schedule would run both."""
    (tmp_path / "parent.yaml").write_text(
        "version: 1\nname: parent\nsupervisor: {prompt: 'Of {{ inputs.symbol }}.', tools: [chart]}\n"
        "inputs: {symbol: {type: symbol, required: true}}\n"
        'schedule: [{cron: "0 8 * * *", timezone: Asia/Shanghai, chat: "telegram:1", as: "telegram:1", '
        'say: "Look at {{ inputs.symbol }}.", inputs: {symbol: GOOG}}]\n'
    )
    (tmp_path / "child.yaml").write_text("version: 1\nname: child\nextends: parent\n")
    loaded = load_folder(tmp_path, tools=TOOLS, shipped=False)
    assert loaded.problems == []
    words = "Look at GOOG.\nsymbol = GOOG"
    wanted = Timed("0 8 * * *", "telegram:1", words, "Asia/Shanghai", "telegram:1")
    assert loaded.teams["parent"].timed == (wanted,)
    assert loaded.teams["child"].timed == ()
