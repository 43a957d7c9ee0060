"""Every metric that the gateway shows: name, kind, labels and what it means. Dashboards and alerts use these alone.

Labels have few values: channels, models, tools and presets of the installation, never people, chats or sessions.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric. `name` is without `_total`, which counters get when they are shown."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()

    @property
    def series(self) -> tuple[str, ...]:
        """The names under which it is stored and asked for."""
        if self.kind == "counter":
            return (f"{self.name}_total",)
        if self.kind == "histogram":
            return tuple(f"{self.name}_{part}" for part in ("bucket", "sum", "count"))
        return (self.name,)


def _counter(name: str, text: str, *labels: str) -> Family:
    return Family(f"swarmgate_{name}", "counter", text, labels)


def _gauge(name: str, text: str, *labels: str) -> Family:
    return Family(f"swarmgate_{name}", "gauge", text, labels)


MESSAGES = _counter(
    "messages", "Messages that came in, by what became of them", "channel", "outcome"
)
TURNS = _counter("turns", "Turns that ended", "status", "channel")
STAGE = Family(
    "swarmgate_stage_seconds",
    "histogram",
    "Seconds that a stage of the path of a message took",
    ("stage",),
)
MODEL_CALLS = _counter("model_calls", "Calls of models in turns", "model", "outcome")
MODEL_RETRIES = _counter(
    "model_retries", "Calls made again after a failure, by who answers next", "model"
)
TOKENS = _counter("tokens", "Tokens of models, by what they were", "model", "kind")
USD = _counter("usd", "US dollars paid for models whose price is known", "model")
UNPRICED = _counter("unpriced_calls", "Calls of models whose price is unknown", "model")
CACHE_SAVED = _counter("cache_saved_usd", "US dollars that the providers' caches saved", "model")
CACHE_SHARE = _gauge(
    "cache_hit_ratio", "Share of input tokens read from the cache since the start", "model"
)
COMPACTIONS = _counter("compactions", "Conversations made shorter for a model", "kind", "outcome")
OVERFLOWS = _counter("context_overflows", "Requests that had to leave rows out or clip them")
TOOL_CALLS = _counter("tool_calls", "Calls of tools that ran", "tool", "outcome")
DELEGATIONS = _counter("delegations", "Delegations to sub-agents that ended", "status")
STEERED = _counter("steered_messages", "Messages that joined a running turn")
DECISIONS = _counter("decisions", "Questions to people that ended", "kind", "verdict")
DELIVERIES = _counter(
    "deliveries", "Messages to people, by what became of them", "channel", "outcome"
)
RUNNING = _gauge("turns_running", "Turns that run in this process now")
SLOTS = _gauge("turn_slots", "Turns that may run in this process at once")
QUEUE = _gauge("inbox_rows", "Messages in the database that are not done, of all replicas", "state")
QUEUE_AGE = _gauge("inbox_oldest_seconds", "Age of the oldest message that no turn has taken up")
OUTBOX = _gauge(
    "outbox_rows", "Messages in the database that are not sent, of all replicas", "state"
)
OUTBOX_AGE = _gauge("outbox_oldest_seconds", "Age of the oldest message that is ready and not sent")
QUESTIONS = _gauge("questions_open", "Questions that wait for a person, of all replicas", "kind")
TASKS = _gauge("tasks_open", "Background tasks, of all replicas", "state")
CHANNEL_UP = _gauge("channel_up", "Whether updates of a channel flow", "channel", "account")
CHANNEL_HEARD = _gauge(
    "channel_heard_seconds", "Seconds since a channel heard from its platform", "channel", "account"
)
CHANNEL_RESTARTS = _counter("channel_restarts", "Restarts of a channel", "channel", "account")
DATABASE_UP = _gauge("database_up", "Whether the database answered this scrape")
DATABASE_SECONDS = _gauge("database_read_seconds", "Seconds that the database took for this scrape")
BUILD = _gauge("build_info", "Always 1", "version", "schema", "engine")

FAMILIES: tuple[Family, ...] = tuple(
    value for value in dict(globals()).values() if isinstance(value, Family)
)

# Shown by the client library's own collector, on Linux.
PROCESS = (
    "swarmgate_process_virtual_memory_bytes",
    "swarmgate_process_resident_memory_bytes",
    "swarmgate_process_start_time_seconds",
    "swarmgate_process_cpu_seconds_total",
    "swarmgate_process_open_fds",
    "swarmgate_process_max_fds",
)

# From a commit in milliseconds to a swarm in minutes.
BOUNDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900)
STAGES = {
    "accept": "a message: from the platform to its commit",
    "queue": "a turn: from its message to its begin",
    "first_token": "a model: from the call to its first words",
    "model": "a model: one call",
    "tool": "a tool: one call",
    "delegation": "a sub-agent: one delegation",
    "turn": "a turn: its last run, to its end",
    "deliver": "a reply: from ready to sent",
}
