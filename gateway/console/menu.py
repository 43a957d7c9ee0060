"""The menu of the console: every entry with the role that it needs."""

from dataclasses import dataclass

from gateway.settings.console import Role


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `badge` is what the live state calls the number beside it, "" for none."""

    id: str
    title: str
    path: str
    role: Role = "viewer"
    badge: str = ""


MENU = (
    Entry("overview", "Overview", "/console"),
    Entry("approvals", "Approvals", "/console/approvals", badge="approvals"),
    Entry("sessions", "Sessions", "/console/sessions"),
    Entry("runs", "Runs", "/console/runs", badge="running"),
    Entry("presets", "Presets", "/console/presets", badge="broken"),
    Entry("people", "People", "/console/people", badge="pairing"),
    Entry("deliveries", "Deliveries", "/console/deliveries", badge="parked"),
    Entry("schedules", "Schedules", "/console/schedules"),
    Entry("usage", "Usage and cost", "/console/usage"),
    Entry("search", "Logs and traces", "/console/search"),
    Entry("settings", "Settings", "/console/settings"),
    Entry("access", "Access and audit", "/console/access", role="admin"),
)
