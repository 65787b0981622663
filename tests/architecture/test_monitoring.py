"""Alert rules and dashboard ask for metrics that there are, with labels that these have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.api.metrics.declared import METRICS
from engine.errors import Cause
from engine.jobs.decisions.states import State
from engine.values.epoch_report import PHASES

DOCS = Path(__file__).parents[2] / "docs"
SERIES = {name: metric for metric in METRICS for name in metric.series}
OF_PROMETHEUS = {"up"}
LABELS_OF_PROMETHEUS = {"instance", "job"}
WORDS = {
    *("and", "or", "on", "by", "sum", "count", "min", "max", "rate", "increase", "deriv", "time", "vector"),
    *("predict_linear", "histogram_quantile", "label_values"),
}
STATES = {state.value for state in State}


class Query:
    """A query of Prometheus, taken apart as far as names and labels go."""

    def __init__(self, text: str) -> None:
        self.text = text
        bare = re.sub(r'"[^"]*"', '""', text)
        self.groupings = [
            {label.strip() for label in labels.split(",")} for labels in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", bare)
        ]
        bare = re.sub(r"\b(by|on)\s*\([^)]*\)", r"\1", bare)
        bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", bare)
        self.words = set(re.findall(r"[A-Za-z_:][\w:]*", bare)) - WORDS
        self.matchers = [
            (name, label, value)
            for name, inside in re.findall(r"([A-Za-z_:][\w:]*)\{([^}]*)\}", text)
            for label, value in re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"', inside)
        ]

    @property
    def labels(self) -> set[str]:
        """Those that its series have."""
        return {"le"}.union(LABELS_OF_PROMETHEUS, *(SERIES[word].labels for word in self.words if word in SERIES))


def faults(text: str) -> list[str]:
    """What is wrong with a query."""
    query = Query(text)
    wrong = [f"no metric {word}" for word in sorted(query.words - set(SERIES) - OF_PROMETHEUS)]
    wrong += [f"no label {label}" for group in query.groupings for label in sorted(group - query.labels)]
    for name, label, value in query.matchers:
        known = {*LABELS_OF_PROMETHEUS, "le", *(SERIES[name].labels if name in SERIES else ())}
        wrong += [f"no label {label} of {name}"] if label not in known else []
        values = {"state": STATES, "phase": set(PHASES), "cause": {cause.value for cause in Cause}}.get(label)
        wrong += [f"no {label} {part}" for part in value.split("|") if values is not None and part not in values]
    return wrong


def rules() -> list[Mapping[str, Any]]:
    groups = yaml.safe_load((DOCS / "monitoring" / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[Mapping[str, Any]]:
    return list(json.loads((DOCS / "monitoring" / "dashboard.json").read_text())["panels"])


def queries() -> Iterator[tuple[str, str]]:
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for variable in json.loads((DOCS / "monitoring" / "dashboard.json").read_text())["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["definition"].replace(", pipeline)", ")")
    for text in re.findall(r"`([^`\n]*arroyo_[^`\n]*)`", (DOCS / "how-to" / "monitoring.md").read_text()):
        yield "how-to", text


@pytest.mark.parametrize(("title", "text"), list(queries()))
def test_every_query_asks_for_what_there_is(title: str, text: str) -> None:
    assert faults(text) == []
    assert all(text.count(first) == text.count(last) for first, last in ("()", "{}", "[]"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("rate(arroyo_rows_total[5m]) > 0", "no metric arroyo_rows_total"),
        ('arroyo_job_state{state="Broken"} == 1', "no state Broken"),
        ('arroyo_job_state{stat="Failed"} == 1', "no label stat of arroyo_job_state"),
        ("sum by (pipline) (arroyo_state_bytes)", "no label pipline"),
        ("arroyo_http_request_seconds > 1", "no metric arroyo_http_request_seconds"),
    ],
)
def test_a_query_for_what_there_is_not_is_noticed(text: str, fault: str) -> None:
    assert faults(text) == [fault]


def test_rules_are_whole() -> None:
    names = [rule["alert"] for rule in rules()]

    assert len(names) == len(set(names))
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert set(rule["annotations"]) == {"summary", "description"}
        assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m"))
        labels = {"value"} | set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
        assert labels - {"value"} <= Query(rule["expr"]).labels


def test_rules_are_about_what_they_should_be() -> None:
    asked = set().union(*(Query(rule["expr"]).words for rule in rules()))

    assert {
        "arroyo_job_state",
        "arroyo_job_failures_in_a_row",
        "arroyo_watermark_lag_seconds",
        "arroyo_complete_until_lag_seconds",
        "arroyo_dead_letters_total",
        "arroyo_source_waiting_rows",
        "arroyo_data_disk_free_bytes",
        "up",
    } <= asked


def test_the_dashboard_shows_every_figure_of_jobs() -> None:
    asked = set().union(*(Query(text).words for _, text in queries()))

    assert [name for name in SERIES if name.startswith("arroyo_") and name not in asked] == [
        "arroyo_build_info",
        "arroyo_http_request_seconds_count",
        "arroyo_http_request_seconds_sum",
    ]


def test_panels_do_not_lie_over_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert taken.isdisjoint(cells), panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in panels()}) == len(panels())
