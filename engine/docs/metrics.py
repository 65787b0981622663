"""Reference of metrics."""

from __future__ import annotations

from collections.abc import Sequence

from engine.api.metrics.declared import OF_CONTROL_PLANE, OF_JOBS, OF_PROCESS, Metric
from engine.docs.markdown import code, page, section, table
from engine.values.epoch_report import PHASES

_INTRODUCTION = (
    "Served at `/metrics`, for Prometheus; [how to watch it](../how-to/monitoring.md). A figure that is not known is "
    "left out, never 0: a lag while there is no watermark yet or after the input has ended, or what drivers of an "
    "earlier version do not report. Counters of rows and epochs outlive restarts of jobs and of the control plane, and "
    "a restored state takes nothing back; an epoch whose driver died before it could report it is not in them."
)


def metrics_page() -> str:
    """Every metric with its kind, its labels and what it says."""
    phases = [[code(name), meaning] for name, meaning in PHASES.items()]
    return page(
        "Metrics",
        _INTRODUCTION,
        [
            section("Of pipelines", _metrics(OF_JOBS)),
            section("Phases of an epoch", table(["phase", "what it is spent on"], phases)),
            section("Of the control plane", _metrics(OF_CONTROL_PLANE)),
            section("Of its process", _metrics(OF_PROCESS)),
        ],
    )


def _metrics(metrics: Sequence[Metric]) -> str:
    rows = [[code(metric.name), metric.kind, ", ".join(map(code, metric.labels)), metric.meaning] for metric in metrics]
    return table(["metric", "kind", "labels", "what it says"], rows)
