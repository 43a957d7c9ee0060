"""Other people: owners with the words of nobody in particular, so many rows that a leak or a slow path would show."""

import datetime as dt
import random

from sqlalchemy import Connection

from agent_core.storage.recall_index import Said, add_rows

SESSION, OWNER = 25, 1_000  # rows of a session, of an owner
WORDS = """
    time work family friend trip book music dance paint camp beach dog cat photo support group school job city house
    food cook garden game movie run swim hike park stop loss buy sell price market plan week month year love hope
    """.split()  # noqa: SIM905 - a list of words reads better as text


def add_crowd(conn: Connection, rows: int) -> None:
    """Index so many rows of other owners, always the same ones."""
    dice = random.Random(1)
    at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    for first in range(0, rows, SESSION):
        said = [Said(n, " ".join(dice.choices(WORDS, k=14)), at) for n in range(1, SESSION + 1)]
        add_rows(conn, f"other:{first // OWNER}", "private", f"crowd {first}", said)
        if first % 10_000 == 0:
            conn.commit()
