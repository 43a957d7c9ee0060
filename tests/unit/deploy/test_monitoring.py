"""Dashboards and alerts ask for what the gateway shows, and are written as Prometheus and Grafana read them."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from gateway.metrics.families import BOUNDS, FAMILIES, PROCESS, STAGES, Family
from tests.architecture.sources import ROOT

DEPLOY = ROOT / "deploy"
MONITORING = DEPLOY / "monitoring"
RULES = [
    rule
    for group in yaml.safe_load((MONITORING / "alerts.yml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
DASHBOARD = json.loads((MONITORING / "grafana/dashboards/swarmgate.json").read_text("utf-8"))
SERIES = {series: family for family in FAMILIES for series in family.series}
SERIES |= {name: Family(name, "gauge", "", ()) for name in PROCESS}
GIVEN = {"le", "instance", "job"}  # labels that Prometheus or a histogram adds


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[tuple[str, str]]:
    """(where, expression) of everything that is asked."""
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for entry in DASHBOARD["annotations"]["list"]:
        yield entry["name"], entry["expr"]


EVERY = list(expressions())


def asked(expression: str) -> set[str]:
    return set(re.findall(r"\bswarmgate_\w+", expression))


@pytest.mark.parametrize(("where", "expression"), EVERY)
def test_every_metric_and_label_that_is_asked_for_exists(where: str, expression: str) -> None:
    names = asked(expression)
    assert names <= set(SERIES), where
    labels = {label for name in names for label in SERIES[name].labels} | GIVEN
    matched = {
        label
        for inside in re.findall(r"\{([^}]*)\}", expression)
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", inside)
    }
    by = {
        label.strip()
        for inside in re.findall(r"\bby \(([^)]*)\)", expression)
        for label in inside.split(",")
    }
    assert matched | by <= labels, where


@pytest.mark.parametrize("expression", sorted({expression for _, expression in EVERY}))
def test_expressions_are_whole(expression: str) -> None:
    """What can be told without Prometheus: brackets, ranges of counters, and no range of a gauge's rate."""
    for pair in ("()", "{}", "[]"):
        assert expression.count(pair[0]) == expression.count(pair[1])
    for name in re.findall(r"(?:rate|increase)\((\w+)", expression):
        assert SERIES[name].kind != "gauge" or name.endswith("_total"), name
    for function in re.findall(r"\b(?:rate|increase)\([^)]*\)", expression):
        assert re.search(r"\[(?:\d+[smhd]|\$__rate_interval)\]\)$", function), function
    for name in asked(expression):
        if SERIES[name].kind == "counter":
            assert re.search(rf"(?:rate|increase)\({name}\b", expression), f"{name} only grows"


def test_values_of_labels_are_those_that_are_counted() -> None:
    known = {
        "stage": set(STAGES),
        "outcome": {"ok", "failed", "error", "parked", "sent", "taken"},
        "kind": {"input", "output", "cache_read", "cache_write", "approval", "ask"},
        "status": {"done", "failed", "stopped"},
        "state": {"new", "in_turn", "open", "ready", "queued", "running"},
        "channel": {"web", "terminal", "telegram", "discord", "slack"},
    }
    for where, expression in EVERY:
        for label, values in re.findall(r'(\w+)(?:=~|!~|!=|=)"([^"]*)"', expression):
            if label != "job":
                assert set(values.split("|")) <= known[label], where


def test_every_metric_of_ours_is_on_the_dashboard_or_in_an_alert() -> None:
    """What nobody looks at need not be counted."""
    shown = {SERIES[name].name for _, expression in EVERY for name in asked(expression)}
    unseen = {f.name for f in FAMILIES} - shown
    assert unseen <= {"swarmgate_build_info"}


def test_alerts_say_what_is_wrong_and_what_to_do() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"Swarmgate[A-Z]\w+", rule["alert"])
        assert rule["labels"]["severity"] in {"page", "warn"}
        assert len(rule["annotations"]["summary"]) > 15
        assert len(rule["annotations"]["action"]) > 15
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        if "for" in rule:
            assert re.fullmatch(r"\d+[smh]", rule["for"])


def test_panels_have_titles_units_and_places_of_their_own() -> None:
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
        assert at["x"] + at["w"] <= 24
    for panel in panels():
        assert panel["title"]
        assert panel["targets"]
        assert all(t["datasource"]["uid"] == "prometheus" for t in panel["targets"])


def test_buckets_cover_what_alerts_compare_with() -> None:
    for limit in (0.25, 20):
        assert min(BOUNDS) < limit < max(BOUNDS)


def test_the_operations_guide_names_every_metric() -> None:
    guide = (DEPLOY / "operations.md").read_text("utf-8")
    for family in FAMILIES:
        series = family.name if family.kind != "counter" else f"{family.name}_total"
        assert series in guide or series.removeprefix("swarmgate") in guide, series
