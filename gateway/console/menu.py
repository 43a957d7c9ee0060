"""The menu of the console: every entry with the role that it needs."""

from dataclasses import dataclass

from gateway.settings.console import Role


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `badge` is what the live state calls the number beside it, "" for none.

    `follows` names what of the live state its pages are read anew for; empty: whatever changes.
    """

    id: str
    title: str
    path: str
    role: Role = "viewer"
    badge: str = ""
    follows: tuple[str, ...] = ()


MENU = (
    Entry("overview", "Overview", "/console"),
    Entry(
        "approvals",
        "Approvals",
        "/console/approvals",
        badge="approvals",
        follows=("approvals", "audit"),
    ),
    Entry("sessions", "Sessions", "/console/sessions", follows=("inbox", "turn", "trace", "audit")),
    Entry("runs", "Runs", "/console/runs", badge="running", follows=("turn", "trace", "running")),
    Entry(
        "presets",
        "Presets",
        "/console/presets",
        badge="broken",
        follows=("broken", "audit", "evals", "evaluated", "evaluating"),
    ),
    Entry(
        "people", "People", "/console/people", badge="pairing", follows=("pairing", "turn", "audit")
    ),
    Entry(
        "deliveries",
        "Deliveries",
        "/console/deliveries",
        badge="parked",
        follows=("outbox", "parked", "audit"),
    ),
    Entry("schedules", "Schedules", "/console/schedules", follows=("inbox", "turn", "audit")),
    Entry("usage", "Usage and cost", "/console/usage", follows=("turn", "trace")),
    Entry("search", "Logs and traces", "/console/search"),
    Entry("settings", "Settings", "/console/settings", follows=("halted",)),
    Entry("access", "Access and audit", "/console/access", role="admin", follows=("audit",)),
)
FOLLOWS = {entry.id: " ".join(entry.follows) for entry in MENU}
