"""The figures in Prometheus' text format. Importing this imports prometheus_client (1 MB): the first scrape does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder

from gateway.metrics import families as f
from gateway.metrics.counts import Histograms, Labels
from gateway.metrics.families import Family
from gateway.metrics.loads import Loads
from gateway.metrics.meter import Meter


@dataclass(frozen=True, slots=True)
class Moment:
    """What is measured at the scrape itself.

    `loads` is None where the database did not answer within `database_s` seconds. `channels` are (name, account, up,
    seconds since it was heard or None, restarts).
    """

    loads: Loads | None
    database_s: float
    running: int
    slots: int
    channels: Sequence[tuple[str, str, bool, float | None, int]] = ()
    build: Labels = ("", "", "")


class Exposition:
    """Renders a meter and a moment."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(namespace="swarmgate", registry=self._registry)
        self._moment: Moment | None = None
        self._registry.register(self)

    def text(self, moment: Moment, accept: str) -> tuple[bytes, str]:
        """(body, content type) as the `Accept` header wants it: OpenMetrics or the classic text."""
        encode, content_type = choose_encoder(accept)
        self._moment = moment
        try:
            return encode(self._registry), content_type
        finally:
            self._moment = None

    def describe(self) -> list[Metric]:
        """See prometheus_client: nothing is asked for at registration."""
        return []

    def collect(self) -> Iterator[Metric]:
        """See prometheus_client."""
        counted = {family: sums.values for family, sums in self._meter.sums()}
        gauges = dict(_gauges(self._moment, self._meter)) if self._moment else {}
        if self._moment is not None:
            counted[f.CHANNEL_RESTARTS] = {
                (name, account): float(restarts)
                for name, account, _, _, restarts in self._moment.channels
            }
        for family in f.FAMILIES:
            if family.kind == "histogram":
                yield _histogram(family, self._meter.stages)
            elif family.kind == "counter":
                yield _counter(family, counted.get(family, {}))
            elif family in gauges:
                yield _gauge(family, gauges[family])


def _gauges(moment: Moment, meter: Meter) -> Iterator[tuple[Family, Mapping[Labels, float]]]:
    yield f.BUILD, {moment.build: 1.0}
    yield f.RUNNING, {(): moment.running}
    yield f.SLOTS, {(): moment.slots}
    yield f.CACHE_SHARE, {(model,): share for model, share in meter.cache_shares().items()}
    yield f.CHANNEL_UP, {(name, account): float(up) for name, account, up, _, _ in moment.channels}
    heard: dict[Labels, float] = {
        (name, account): age for name, account, _, age, _ in moment.channels if age is not None
    }
    yield f.CHANNEL_HEARD, heard
    yield f.DATABASE_UP, {(): float(moment.loads is not None)}
    yield f.DATABASE_SECONDS, {(): moment.database_s}
    if moment.loads is not None:
        yield from _waiting(moment.loads)


def _waiting(loads: Loads) -> Iterator[tuple[Family, Mapping[Labels, float]]]:
    by_label = (
        (f.QUEUE, loads.inbox),
        (f.OUTBOX, loads.outbox),
        (f.QUESTIONS, loads.questions),
        (f.TASKS, loads.tasks),
    )
    for family, values in by_label:
        yield family, {(label,): float(count) for label, count in values.items()}
    yield f.QUEUE_AGE, {(): loads.inbox_oldest}
    yield f.OUTBOX_AGE, {(): loads.outbox_oldest}


def _counter(family: Family, values: Mapping[Labels, float]) -> Metric:
    made = CounterMetricFamily(family.name, family.help, labels=family.labels)
    for labels, value in sorted(values.items()):
        made.add_metric(labels, value)
    if not family.labels and not values:
        made.add_metric((), 0.0)
    return made


def _gauge(family: Family, values: Mapping[Labels, float]) -> Metric:
    made = GaugeMetricFamily(family.name, family.help, labels=family.labels)
    for labels, value in sorted(values.items()):
        made.add_metric(labels, value)
    return made


def _histogram(family: Family, histograms: Histograms) -> Metric:
    made = HistogramMetricFamily(family.name, family.help, labels=family.labels)
    for labels, spread in sorted(histograms.values.items()):
        sofar, buckets = 0, []
        for bound, count in zip((*histograms.bounds, float("inf")), spread.counts, strict=True):
            sofar += count
            buckets.append(("+Inf" if bound == float("inf") else str(float(bound)), float(sofar)))
        made.add_metric(labels, buckets, spread.total)
    return made
