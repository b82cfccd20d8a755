"""Alert rules and dashboard speak of metrics that the exporter gives, with the labels that those have."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import promql_parser
import pytest
import yaml

from jobs.metrics.names import METRICS, Metric
from jobs.updates.metrics import UpdateMetrics
from mis_scoring.serving.metrics import ServerMetrics

MONITORING = Path(__file__).resolve().parents[2] / "infra" / "monitoring"
RULES = [
    rule for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"] for rule in group["rules"]
]
DASHBOARD = json.loads((MONITORING / "dashboard.json").read_text())
QUERIES = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]]
EXPRESSIONS = [*((rule["alert"], rule["expr"]) for rule in RULES), *QUERIES]
SCRAPED = {"up": ("job",)}  # what Prometheus says itself of a target
OVER_TIME = {"increase", "rate"}
JOBS = set(re.findall(r"job_name: ([\w-]+)", (MONITORING / "README.md").read_text()))


def of_services() -> Iterator[Metric]:
    """The metrics that model server and update service give, by what they register."""
    server = ServerMetrics(n_waiting=lambda: 0, n_under_way=lambda: 0, is_serving=lambda: 1)
    server.close()
    inbox = SimpleNamespace(figures=lambda: SimpleNamespace(waiting=0, taken=0, oldest_s=None))
    for registry in (server.registry, UpdateMetrics(inbox).registry):  # type: ignore[arg-type]
        for collector in registry._collector_to_names:  # a family without a sample yet does not say its labels
            labels = tuple(getattr(collector, "_labelnames", ()))
            for family in collector.collect():
                suffix = "_total" if family.type == "counter" else ""
                yield Metric(name=family.name + suffix, help=family.documentation, labels=labels)


KNOWN = {**METRICS, **{metric.name: metric for metric in of_services()}}


def parts(node: Any, called: str = "") -> Iterator[tuple[Any, str]]:
    """Yield each selector of a parsed expression with the function that it is given to."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node, called
    inner = (
        called if isinstance(node, promql_parser.MatrixSelector) else getattr(getattr(node, "func", None), "name", "")
    )
    for name in ("lhs", "rhs", "expr", "vector_selector", "args"):
        found = getattr(node, name, None)
        for child in found if isinstance(found, list) else [found]:
            if child is not None:
                yield from parts(child, inner)


@pytest.mark.parametrize(("where", "expr"), EXPRESSIONS)
def test_an_expression_uses_metrics_and_labels_that_exist(where: str, expr: str) -> None:
    selectors = list(parts(promql_parser.parse(expr)))
    assert selectors
    for selector, function in selectors:
        labels = SCRAPED.get(selector.name) or KNOWN[selector.name].labels
        assert {matcher.name for matcher in selector.matchers.matchers} <= set(labels), f"{where}: {selector.name}"
        assert {m.value for m in selector.matchers.matchers if m.name == "job" and selector.name == "up"} <= JOBS
        if selector.name in KNOWN:
            assert KNOWN[selector.name].is_counter == (function in OVER_TIME), f"{where}: {selector.name}"


def test_every_metric_is_looked_at_somewhere() -> None:
    used = {selector.name for _, expr in EXPRESSIONS for selector, _ in parts(promql_parser.parse(expr))}
    assert set(METRICS) <= used


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_says_how_urgent_it_is_and_what_happened(rule: dict[str, Any]) -> None:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert set(rule["annotations"]) == {"summary", "description"}
    assert re.fullmatch(r"\d+[mhd]", rule.get("for", "0m"))
    named = set(re.findall(r"\$labels\.(\w+)", "".join(rule["annotations"].values())))
    selectors = [selector for selector, _ in parts(promql_parser.parse(rule["expr"]))]
    assert named <= {label for selector in selectors if selector.name in KNOWN for label in KNOWN[selector.name].labels}


def test_every_alert_says_what_to_do_and_no_other_is_explained() -> None:
    readme = (MONITORING / "README.md").read_text()
    assert re.findall(r"^### (\w+)$", readme, re.MULTILINE) == [rule["alert"] for rule in RULES]


def test_dashboard_panels_have_a_place_and_a_source_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(taken) == len(set(taken)) and max(x for x, _ in taken) < 24
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}
    assert [variable["name"] for variable in DASHBOARD["templating"]["list"]] == ["datasource"]


def test_the_rules_fire_when_they_should() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool isn't installed (Debian package prometheus)")
    done = subprocess.run(
        [promtool, "test", "rules", str(MONITORING / "alerts_test.yaml")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_services_say_to_page_on_is_an_alert() -> None:
    used = {s.name for rule in RULES for s, _ in parts(promql_parser.parse(rule["expr"]))}
    assert {"semlabel_scoring_is_serving", "semlabel_scoring_canary_failures_total"} <= used
    assert {"semlabel_update_failures_total", "semlabel_updates_oldest_age_seconds"} <= used
    assert {"semlabel", "semlabel-model-server", "semlabel-updates"} == JOBS
