"""Who looks on in this process: the meter always, traces where an exporter is set."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.metrics.meter import Meter
from gateway.metrics.observer import Observer, Observers
from gateway.problems import OperatorError, Problem

# The variables of OpenTelemetry's own specification; either one switches traces on.
SWITCHES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@dataclass(frozen=True, slots=True)
class Sight:
    """The figures, everybody who looks on, and what ends with the process (blocking: it sends what is left)."""

    meter: Meter
    observers: Observers
    close: Callable[[], None] = lambda: None


def sight_of(env: Mapping[str, str]) -> Sight:
    """As the environment has it. Raises OperatorError where traces are wanted and the extra is not installed."""
    meter = Meter()
    if not any(env.get(name) for name in SWITCHES) or env.get("OTEL_SDK_DISABLED") == "true":
        return Sight(meter, Observers([meter]))
    try:
        from gateway.metrics.tracing import exporting
    except ModuleNotFoundError as e:
        cure = "pip install 'swarmgate[otel]', or unset OTEL_EXPORTER_OTLP_ENDPOINT"
        raise OperatorError(
            [Problem(f"traces need the extra `otel` ({e.name} is missing)", cure)]
        ) from e
    tracer, close = exporting()
    observers: list[Observer] = [meter, tracer]
    return Sight(meter, Observers(observers), close)
