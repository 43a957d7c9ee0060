"""Words of the runtime to the model inside a turn, and the drafts that they are about (EVT-4, LPG-4).

They are rows, so that a killed turn goes on where it was and no call is paid twice; at the end of the turn a checkpoint
takes them out of sight (LPG-5). A correction is made only where everything else still allows a call: it adds no round,
no money and no time to what the turn may use (defect 13).
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from agent_core.assembly.sections import runtime_note
from agent_core.runtime.expect import Rule, State, expected, state
from agent_core.runtime.notices import unverified
from agent_core.runtime.restrict import restriction, rounds
from agent_core.runtime.run import Run
from agent_core.types import Checkpoint, NewRow, Row, RowKind, user

INTERNAL = "internal"  # key in the meta of such rows
CORRECTIONS = 2  # LPG-4
ROUNDS_LEFT = 1  # EVT-4: rounds that are left when the model is told
REST = 0.2  # share of the time or the money that is left when the model is told (SWM-2)
SHORT = 4  # a limit below this is known from the start

MISSING = (
    "Your answer was not sent. The person's question needs the tool {tool} with {args}: "
    "call it now and answer from its result."
)
NEARLY = (
    "One more round of tools is allowed in this turn. Make the calls that matter most, then answer."
)
TIME = "Most of the time for this task is used. Answer now from what is known; say what is missing."
MONEY = (
    "Most of the money for this task is spent. Answer now from what is known; say what is missing."
)


def correction(run: Run, rows: Sequence[Row]) -> NewRow | None:
    """What to tell the model instead of taking its answer, or None when the answer stands as far as it can.

    `rows` are all rows of the session, `run.view` shows what counts of them.
    """
    turn = run.journal.turn_id
    gap = _gap(run)
    if gap is None or gap[1] != "missed":
        return None
    rule = gap[0]
    made = sum(r.turn_id == turn and r.meta.get(INTERNAL) == "correction" for r in rows)
    refused = restriction(rows, turn, run.agent).reason(rule.tool)
    if made >= CORRECTIONS or refused:
        return None
    args = ", ".join(f"{name}={value}" for name, value in rule.args.items())
    return _note(MISSING.format(tool=rule.tool, args=args), "correction")


def nudge(run: Run, rows: Sequence[Row], spent: float | None = None) -> NewRow | None:
    """A word before a limit ends the run, once for each: rounds, time, money (`spent`, US dollars); None before that.

    SUB-16: so that there is an answer before there is an end.
    """
    turn = run.journal.turn_id
    said = {r.meta.get(INTERNAL) for r in rows if r.turn_id == turn}
    begun = any(r.turn_id == turn and r.kind is RowKind.ASSISTANT for r in rows)
    for kind, words, due in (
        ("nudge", NEARLY, _last_round(run, rows)),
        ("nudge_time", TIME, begun and run.left() <= run.agent.limits.time * REST),
        ("nudge_usd", MONEY, begun and _money_ends(run, spent)),
    ):
        if due and kind not in said:
            return _note(words, kind)
    return None


def _last_round(run: Run, rows: Sequence[Row]) -> bool:
    limit = run.agent.limits.tool_rounds
    return limit >= SHORT and rounds(rows, run.journal.turn_id) == limit - ROUNDS_LEFT


def _money_ends(run: Run, spent: float | None) -> bool:
    limit = run.agent.limits.usd
    return limit is not None and spent is not None and spent >= limit * (1 - REST)


def warning(run: Run) -> str:
    """One line above an answer that does not rest on what it should; "" for none (LPG-4, LPG-7)."""
    gap = _gap(run)
    if gap is None or gap[1] == "met":
        return ""
    language = run.person.language
    title = run.tools[gap[0].tool].display(language)
    return unverified(title, language, failed=gap[1] == "failed")


def put_away(run: Run, rows: Sequence[Row]) -> tuple[Checkpoint, ...]:
    """Checkpoints that leave the internal rows of this turn out of what models see.

    Rows behind a cut are condensed already, and an undo of one would void the summary.
    """
    cut = 1 if run.view is None else run.view.until
    mine = [r for r in rows if r.turn_id == run.journal.turn_id and r.seq >= cut]
    return tuple(Checkpoint("undo", first - 1, last + 1) for first, last in _spans(mine))


def _spans(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    for internal, group in groupby(rows, key=lambda row: INTERNAL in row.meta):
        if internal:
            members = list(group)
            yield members[0].seq, members[-1].seq


def _gap(run: Run) -> tuple[Rule, State] | None:
    """What the person's words ask for, and how it stands; None for nothing. Tasks of sub-agents are no such words."""
    if run.label is not None or run.view is None:
        return None
    turn = run.journal.turn_id
    rule = expected(run.view.visible, turn, run.agent.require)
    if rule is None or rule.tool not in run.tools:
        return None
    return rule, state(run.view.rows, turn, rule, run.tools[rule.tool])


def _note(text: str, kind: str) -> NewRow:
    return NewRow(RowKind.NOTE, user(runtime_note(text)), meta={INTERNAL: kind})
