"""What the OpenLineage provider is told of tasks: the datasets of their pipelines, and the epochs that a run relies on.

    task                         inputs                        outputs                  run facet
    StreamingSqlOperator         what the pipeline reads       what it writes           arroyo_certificate
    WatermarkSensor orders/n     what orders writes as n                                arroyo_certificate

The names, columns and column lineage are those that the control plane has read off the plan. A control plane that is
away, or of an earlier version, leaves a task without them, and never fails it. That package is only imported when it
asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_arroyo import calls
from airflow_provider_arroyo.answers import Lineage
from airflow_provider_arroyo.errors import ArroyoError
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook


@dataclass(frozen=True, slots=True)
class TaskLineage:
    """What a task reads and writes, with the members that the OpenLineage provider looks for."""

    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    run_facets: dict[str, Any] = field(default_factory=dict)
    job_facets: dict[str, Any] = field(default_factory=dict)


def of_pipeline(hook: ArroyoHook, pipeline: str, result: Mapping[str, Any]) -> TaskLineage | None:
    """A task that lets a pipeline run, and has come to that result; None where nothing is known of it."""
    from airflow_provider_arroyo import lineage_facets  # noqa: PLC0415 - OpenLineage need not be installed

    lineage = _ask(hook, pipeline)
    if lineage is None:
        return None
    return TaskLineage(
        inputs=[lineage_facets.input_dataset(dataset) for dataset in lineage.inputs],
        outputs=[lineage_facets.output_dataset(dataset) for dataset in lineage.outputs],
        run_facets=lineage_facets.certificates(_certificates(result, {pipeline: lineage})),
    )


def of_readers(
    hook: ArroyoHook, tables: Sequence[tuple[str, str | None]], result: Mapping[str, Any]
) -> TaskLineage | None:
    """A task that waits for output of pipelines, each with one table of it or None for all; None where nothing is
    known."""
    from airflow_provider_arroyo import lineage_facets  # noqa: PLC0415 - OpenLineage need not be installed

    known = {pipeline: lineage for pipeline in dict(tables) if (lineage := _ask(hook, pipeline)) is not None}
    read = {
        (dataset.namespace, dataset.name): dataset
        for pipeline, table in tables
        if pipeline in known
        for dataset in known[pipeline].outputs
        if table in (None, dataset.table)
    }
    certificates = list(_certificates(result, known))
    if not read and not certificates:
        return None
    return TaskLineage(
        inputs=[lineage_facets.input_dataset(dataset) for dataset in read.values()],
        run_facets=lineage_facets.certificates(certificates),
    )


def _ask(hook: ArroyoHook, pipeline: str) -> Lineage | None:
    try:
        return hook.send(calls.get_lineage(pipeline))
    except ArroyoError as error:
        hook.log.info("OpenLineage is told nothing of what pipeline %s reads and writes: %s", pipeline, error)
        return None


def _certificates(result: Mapping[str, Any], known: Mapping[str, Lineage]) -> Iterator[dict[str, Any]]:
    """The certificates in what a task returns, of one gate or of several, each with the job that it is of."""
    parts = result.get("pipelines")
    gates = parts.items() if isinstance(parts, Mapping) else [(next(iter(known), ""), result)]
    for gate, part in gates:
        certificate = part.get("certificate") if isinstance(part, Mapping) else None
        if isinstance(certificate, Mapping):
            job = known.get(gate.partition("/")[0])
            yield {
                "namespace": job.namespace if job else None,
                "name": job.name if job else None,
                "pipeline": certificate.get("pipeline"),
                **{key: certificate.get(key) for key in ("id", "version", "lineage", "epoch", "complete_until")},
            }
