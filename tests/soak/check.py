"""What a soak must have left, proved from the platform, the model and the database. Each breach is a line."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from statistics import linear_regression, median

from agent_core.types import ToolResult, decode
from tests.soak.crowd import Said, answered
from tests.soak.run import FAILED, Sample, Seen

DOUBT = "reply_perhaps_sent"
ASIDE, KILLS = "I set it aside", 3  # said of a message that has broken so many starts
WARM, EACH = (
    3_000,
    3,
)  # messages of the last life, and of each session in it, after which its caches are full
LEAST = 1_000  # messages after that which a slope is made from
FLAT_MB, FLAT_FILES = (
    1.0,
    8,
)  # a thousand messages' growth of memory; open files more at the end than at the beginning
# Said of what the weather did, or of a kill; any other error of the log is a breach.
EXPECTED = re.compile(r"model_failed|turn_failed|polling Telegram|getMe")


@dataclass
class Verdict:
    """Breaches, and figures for the report."""

    findings: list[str] = field(default_factory=list)
    figures: dict[str, float | int | str] = field(default_factory=dict)

    def want(self, true: object, finding: str) -> None:
        """Note a breach unless it is true."""
        if not true:
            self.findings.append(finding)


def check(seen: Seen) -> Verdict:
    """All of it."""
    plan = seen.plan
    database = "SQLite" if plan.database is None else "PostgreSQL"
    verdict = Verdict()
    verdict.figures |= {
        "seed": plan.seed,
        "gateways": f"{plan.replicas} on {database}",
        "probability of each kind of fault": plan.rate,
        "messages under way at most": plan.window,
    }
    verdict.want(not seen.late, seen.late)
    verdict.want(not any(seen.exit_codes), f"SIGTERM ended them with {seen.exit_codes}")
    _answers(seen, verdict)
    _database(seen, verdict)
    _calls(seen, verdict)
    _orders(seen, verdict)
    _process(seen, verdict)
    _log(seen, verdict)
    for name, twin in (("platform", seen.telegram), ("model", seen.model)):
        count = len(twin.violations)
        verdict.want(not count, f"{name}: {count} violations: {twin.violations[:2]}")
        verdict.figures[f"requests against the rules of the {name}"] = count
    return verdict


# The platform's side -------------------------------------------------------------------------------------------------


def _answers(seen: Seen, verdict: Verdict) -> None:
    """Each message has one answer, in order; one more only where the log says that the first may not have arrived."""
    doubts = _doubts(seen)
    lost = disordered = twice = unmarked = failed = aside = 0
    for chat, count in Counter(said.chat for said in seen.said).items():
        shown = [(text, len(list(same))) for text, same in groupby(seen.stage.texts(chat))]
        numbers = [answered(text) for text, _ in shown]
        expected = [Said(chat, n + 1) for n in range(count)]
        right = [
            number == said or (number is None and FAILED in text)
            for number, said, (text, _) in zip(numbers, expected, shown, strict=False)
        ]
        lost += max(0, count - len(shown))
        if not all(right) or len(shown) > count:
            disordered += 1
            verdict.findings.append(f"chat {chat} shows {[t[:40] for t, _ in shown]}")
        for said, (text, times) in zip(expected, shown, strict=False):
            twice += times - 1
            unmarked += max(0, times - 1 - doubts[_key(text)])
            if answered(text) is None:
                failed += 1
                _failed(seen, verdict, said, text)
                aside += ASIDE in text
    verdict.want(not lost, f"{lost} messages have no answer")
    verdict.want(not disordered, f"{disordered} chats are out of order")
    verdict.want(not unmarked, f"{unmarked} answers were sent again without a mark in the log")
    verdict.figures |= {
        "messages": len(seen.said),
        "sessions": len({said.chat for said in seen.said}),
        "lost": lost,
        "chats out of order": disordered,
        "answers shown again, marked in the log": twice - unmarked,
        "answers shown again, unmarked": unmarked,
        "failures that were said": failed,
        "set aside after three kills": aside,
    }


def _failed(seen: Seen, verdict: Verdict, said: Said, text: str) -> None:
    """It is said that a message failed: was there a reason?"""
    faults, kills = seen.model.spoilt[said], seen.broken[said]
    true = kills >= KILLS if ASIDE in text else faults >= 2
    verdict.want(true, f"{said.label} failed after {faults} faults and {kills} kills: {text[:80]}")


def _key(text: str) -> str:
    """By which a visible text is found in the outbox."""
    said = answered(text)
    return said.label if said else text[-12:]


def _doubts(seen: Seen) -> Counter[str]:
    """How often the log says of a reply that it may have been sent already."""
    marks = Counter(line["outbox"] for line in seen.lines if line.get("event") == DOUBT)
    rows = {
        row.id: json.loads(row.body)["text"]
        for row in seen.stage.gateway.rows("select id, body from outbox")
    }
    return Counter({_key(rows[row_id]): count for row_id, count in marks.items() if row_id in rows})


# The database --------------------------------------------------------------------------------------------------------


def _database(seen: Seen, verdict: Verdict) -> None:
    """Everything is done with, and every message was stored once."""
    count = seen.stage.gateway.count
    stored = count("inbox")
    verdict.want(stored == len(seen.said), f"the inbox has {stored} of {len(seen.said)} messages")
    for table, where in (
        ("inbox", "status <> 2"),
        ("outbox", "status <> 2"),
        ("turn", "status not in ('done', 'failed')"),
    ):
        left = count(table, where)
        verdict.want(not left, f"{left} rows of {table} with {where}")
    verdict.figures["delivered again by the platform"] = seen.redelivered
    calls, broken = _pairs(seen)
    verdict.want(not broken, f"{len(broken)} tool calls without one result each: {broken[:5]}")
    verdict.figures |= {"tool calls": calls, "broken pairs": len(broken)}


def _pairs(seen: Seen) -> tuple[int, list[str]]:
    """How many tool calls the transcripts have, and those that have not exactly one result, or results of no call.

    What a sub-agent of a turn that was set aside had begun stays as it is: nobody goes on with it.
    """
    calls, results = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    left = f"select distinct session_id from transcript where body like '%{ASIDE}%'"
    aside = {row.session_id for row in seen.stage.gateway.rows(left)}
    query = "select session_id, body from transcript where kind in ('assistant', 'result')"
    for row in seen.stage.gateway.rows(query):
        message = decode(row.body)
        calls.update((row.session_id, call.id) for call in message.calls)
        found = (block for block in message.blocks if isinstance(block, ToolResult))
        results.update((row.session_id, block.call_id) for block in found)
    broken = [
        f"{session} {call_id}"
        for session, call_id in calls | results
        if not calls[session, call_id] == results[session, call_id] == 1
        and not ("/" in session and session.partition("/")[0] in aside)
    ]
    return calls.total(), broken


# The model's side ----------------------------------------------------------------------------------------------------


def _calls(seen: Seen, verdict: Verdict) -> None:
    """A finished call is made again only where a kill came before it was stored, or a reset may have spoilt its end."""
    model = seen.model
    times = Counter(answer.digest for answer in model.ended)
    again = Counter({digest: count - 1 for digest, count in times.items() if count > 1})
    unexplained = sum(n for digest, n in again.items() if digest not in seen.cut | model.doubtful)
    verdict.want(not unexplained, f"{unexplained} finished model calls were made again")
    paid, failed = (
        seen.stage.gateway.count("usage"),
        int(verdict.figures["failures that were said"]),
    )
    least = len(set(times) - model.doubtful) - failed
    most = len(set(times) | model.doubtful)
    verdict.want(least <= paid <= most, f"{paid} calls are paid for, not {least} to {most}")
    verdict.figures |= {
        "model calls": len(model.answers),
        "finished calls made again, cut by a kill or a reset": sum(again.values()) - unexplained,
        "finished calls made again, unexplained": unexplained,
    }


def _orders(seen: Seen, verdict: Verdict) -> None:
    """What must not happen twice did not; where it may not have happened, the model was told."""
    orders = Counter(seen.stage.plugin.traces("orders"))
    twice = [label for label, count in orders.items() if count > 1]
    verdict.want(not twice, f"ordered twice: {twice[:5]}")
    told = seen.stage.gateway.count(
        "transcript", "kind = 'result' and body like '%Outcome unknown%'"
    )
    verdict.figures |= {"orders": len(orders), "orders with an unknown outcome": told}


# The process ---------------------------------------------------------------------------------------------------------


def _process(seen: Seen, verdict: Verdict) -> None:
    """Memory and open files of the last life stay flat once its caches are warm."""
    life = [s for s in seen.samples if s.starts == seen.stage.gateway.starts]
    waits = sorted(seen.waits.values())
    seconds = max(seen.ended - seen.began, 0.001)
    verdict.figures |= {
        "kills": seen.kills,
        "seconds": round(seconds, 1),
        "messages a second": round(len(waits) / seconds, 1),
        "answer p50 s": round(median(waits), 2) if waits else "none",
        "answer p99 s": round(waits[int(len(waits) * 0.99)], 2) if waits else "none",
    }
    warm = max(WARM, EACH * seen.plan.sessions)
    steady = [s for s in life if s.answered >= life[0].answered + warm]
    if not steady or steady[-1].answered - steady[0].answered < LEAST:
        verdict.figures["memory"] = "too short a life to be judged"
        return
    slope = (
        1_000 * linear_regression(*zip(*((s.answered, s.rss_mb) for s in steady), strict=True))[0]
    )
    first, last = _files(steady[: len(steady) // 4]), _files(steady[-len(steady) // 4 :])
    verdict.want(slope <= FLAT_MB, f"memory grows by {slope:.2f} MB in a thousand messages")
    verdict.want(last - first <= FLAT_FILES, f"open files grow from {first:g} to {last:g}")
    verdict.figures |= {
        "memory, MB: at first, warm, at last": " ".join(
            f"{s.rss_mb:.0f}" for s in (life[0], steady[0], life[-1])
        ),
        "memory, MB in a thousand messages": round(slope, 2),
        "open files: warm, at last": f"{first:g} {last:g}",
    }


def _files(samples: list[Sample]) -> float:
    return median(s.files for s in samples)


def _log(seen: Seen, verdict: Verdict) -> None:
    """No error that nobody expects."""
    lines = seen.lines
    loud = [x for x in lines if x.get("level") not in {"info", "debug", "warning"}]
    strange = Counter(
        str(x.get("event"))[:100] for x in loud if not EXPECTED.search(str(x.get("event")))
    )
    verdict.want(not strange, f"errors in the log: {dict(strange.most_common(5))}")
    warned = Counter(str(x.get("event"))[:40] for x in lines if x.get("level") == "warning")
    verdict.figures["warnings"] = ", ".join(f"{name} {n}" for name, n in warned.most_common(6))
    faults = seen.telegram.weather.counts if seen.telegram.weather else Counter[str]()
    model = seen.model.weather.counts if seen.model.weather else Counter[str]()
    for name, counts in (("platform", faults), ("model", model + seen.model.cuts)):
        verdict.figures[f"faults of the {name}"] = ", ".join(
            f"{k} {v}" for k, v in sorted(counts.items())
        )
