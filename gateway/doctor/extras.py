"""Optional packages that something which is switched on needs."""

from collections.abc import Iterator
from dataclasses import dataclass

from gateway.doctor.findings import Finding, Level
from gateway.doctor.ground import Ground
from gateway.problems import Problem

TRACES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@dataclass(frozen=True, slots=True)
class Need:
    """What needs a package. `key`: where it is switched on; `warn` where it works without, less well."""

    key: str
    module: str
    extra: str
    what: str
    level: Level = Level.FAIL


def packages(ground: Ground) -> Iterator[Finding]:
    """What is needed and not installed."""
    for need in _needs(ground):
        if ground.machine.installed(need.module):
            continue
        message, cure = (
            f"{need.what} needs the package {need.module}",
            f"pip install 'swarmgate[{need.extra}]'",
        )
        if need.key.isupper():
            problem = Problem(message, cure, f"environment variable {need.key}")
        else:
            problem = ground.settings.refuse(need.key, message, cure).problems[0]
        yield Finding(f"settings.{need.key}", need.level, problem)


def _needs(ground: Ground) -> Iterator[Need]:
    settings = ground.settings
    if settings.mcp.enabled():
        yield Need("mcp.servers", "mcp", "mcp", "MCP")
    if settings.trading.broker == "alpaca":
        yield Need("trading.broker", "alpaca", "brokers", "Alpaca")
    if settings.trading.broker == "ib":
        yield Need("trading.broker", "ib_async", "brokers", "Interactive Brokers")
    variable = next((name for name in TRACES if ground.env.get(name)), "")
    if variable and ground.env.get("OTEL_SDK_DISABLED") != "true":
        yield Need(variable, "opentelemetry.sdk", "otel", "tracing")
    if settings.engine.kind == "procrastinate":
        yield Need("engine.kind", "procrastinate", "postgres", "several gateways")
    yield from _of_tools(ground)


def _of_tools(ground: Ground) -> Iterator[Need]:
    """Of the tools that the default preset's agents may use."""
    team = ground.presets.teams.get(ground.settings.preset)
    if team is None:
        return
    tools = {*team.supervisor.tools, *(t for agent in team.agents.values() for t in agent.tools)}
    if "web_search" in tools and ground.settings.tools.web.search_url is None:
        yield Need(
            "preset", "ddgs", "web", "web_search, unless tools.web.search_url is set,", Level.WARN
        )
    if "web_fetch" in tools:
        yield Need(
            "preset",
            "trafilatura",
            "web",
            "web_fetch, to read articles without their margins,",
            Level.WARN,
        )
