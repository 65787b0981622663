"""OpenLineage of tasks: the datasets of their pipelines, and the epochs that a run relies on.

    task                         inputs                       outputs             run facets
    StreamingSqlOperator         tables the pipeline reads    tables it writes    arroyo_certificate, jobDependencies
    WatermarkSensor orders/n     the sink n of orders                             arroyo_certificate, jobDependencies

Names, columns and column lineage come from the control plane, which derives them from the plan. If it is unreachable or
of an earlier version, tasks succeed without them. OpenLineage is imported only when it calls this module.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo.control_plane import ControlPlaneConnection
from airflow_provider_arroyo.embedded import adopt
from airflow_provider_arroyo.endpoint import Endpoint
from airflow_provider_arroyo.errors import ArroyoError, UnreachableError
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook, to_endpoint
from airflow_provider_arroyo.requests import AskingRun

if TYPE_CHECKING:
    from airflow_provider_arroyo.plan_lineage import Lineage

LOG = logging.getLogger(__name__)
PATIENCE = timedelta(seconds=4)
"""Timeout of a request. OpenLineage has ten seconds in all (its `execution_timeout`), after which it emits nothing
about the task."""


@dataclass(frozen=True, slots=True)
class TaskLineage:
    """Inputs and outputs of a task, with the attributes that the OpenLineage provider expects."""

    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    run_facets: dict[str, Any] = field(default_factory=dict)
    job_facets: dict[str, Any] = field(default_factory=dict)


def of_pipeline(hook: ArroyoHook, pipeline: str, result: Mapping[str, Any]) -> TaskLineage | None:
    """Return the lineage of a task that runs a pipeline, with that result; None if the pipeline's tables are
    unknown."""
    from airflow_provider_arroyo import lineage_facets  # noqa: PLC0415 - OpenLineage need not be installed

    lineage = _ask(hook, [pipeline]).get(pipeline)
    if lineage is None:
        return None
    return TaskLineage(
        inputs=[lineage_facets.input_dataset(dataset) for dataset in lineage.inputs],
        outputs=[lineage_facets.output_dataset(dataset) for dataset in lineage.outputs],
        run_facets=_run_facets(result, {pipeline: lineage}),
    )


def of_readers(
    hook: ArroyoHook, tables: Sequence[tuple[str, str | None]], result: Mapping[str, Any]
) -> TaskLineage | None:
    """Return the lineage of a task that waits for output of pipelines, each with one table or None for all; None if
    their tables are unknown."""
    from airflow_provider_arroyo import lineage_facets  # noqa: PLC0415 - OpenLineage need not be installed

    known = _ask(hook, dict(tables))
    read = {
        (dataset.namespace, dataset.name): dataset
        for pipeline, table in tables
        if pipeline in known
        for dataset in known[pipeline].outputs
        if table in (None, dataset.table)
    }
    run_facets = _run_facets(result, known)
    if not read and not run_facets:
        return None
    return TaskLineage([lineage_facets.input_dataset(dataset) for dataset in read.values()], run_facets=run_facets)


def asking_run(task_instance: Any) -> AskingRun | None:
    """Return the OpenLineage run of a task, with that of its DAG; None if tasks are not reported. It is the parent of
    the pipeline runs that the task requests."""
    try:
        from airflow.providers.openlineage import conf  # noqa: PLC0415 - it need not be installed
        from airflow.providers.openlineage.plugins import macros  # noqa: PLC0415 - the same
    except ImportError:
        return None
    try:
        if conf.is_disabled():
            return None
        run = str(macros.lineage_parent_id(task_instance))
    except Exception as error:  # noqa: BLE001 - whatever it is in that package, no task fails for it
        LOG.info("OpenLineage is not told which task has asked for the pipeline's runs: %s", error)
        return None
    try:
        return AskingRun(run, str(macros.lineage_root_parent_id(task_instance)))
    except Exception as error:  # noqa: BLE001 - the same, and earlier versions of it name none
        LOG.info("OpenLineage is not told which DAG has asked for the pipeline's runs: %s", error)
        return AskingRun(run)


def _ask(hook: ArroyoHook, pipelines: Iterable[str]) -> dict[str, Lineage]:
    """Return the lineage of those pipelines that the control plane reports. Once the time limit has passed, no more are
    requested."""
    from airflow_provider_arroyo.plan_lineage import get_lineage  # noqa: PLC0415 - most tasks are not asked for it

    known = {}
    end = time.monotonic() + PATIENCE.total_seconds()
    with ControlPlaneConnection(partial(_endpoint, hook), PATIENCE) as connection:
        for pipeline in pipelines:
            try:
                known[pipeline] = connection.send(get_lineage(pipeline))
            except ArroyoError as error:
                hook.log.info("OpenLineage gets no datasets of pipeline %s: %s", pipeline, error)
            if time.monotonic() > end:
                break
    return known


def _endpoint(hook: ArroyoHook) -> Endpoint:
    return to_endpoint(hook.get_connection(hook.arroyo_conn_id), embedded=_running)


def _running(data_dir: Path) -> Endpoint:
    """Return an embedded control plane, if it runs; it is not started for this request."""
    if endpoint := adopt(data_dir):
        return endpoint
    raise UnreachableError(f"no embedded control plane runs in {data_dir}")


def _run_facets(result: Mapping[str, Any], known: Mapping[str, Lineage]) -> dict[str, Any]:
    """Return the facets of a task's certificates, and of the runs of their streams."""
    from airflow_provider_arroyo import lineage_facets  # noqa: PLC0415 - OpenLineage need not be installed

    return {
        **lineage_facets.certificates(_certificates(result, known)),
        **lineage_facets.dependencies(_streams(result, known)),
    }


def _gates(result: Mapping[str, Any], known: Mapping[str, Lineage]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the result of each gate of a task, which has one or several."""
    parts = result.get("pipelines")
    gates = parts.items() if isinstance(parts, Mapping) else [(next(iter(known), ""), result)]
    yield from ((gate, part) for gate, part in gates if isinstance(part, Mapping))


def _streams(result: Mapping[str, Any], known: Mapping[str, Lineage]) -> Iterator[Mapping[str, Any]]:
    """Yield the runs of the streams in a task's result, each once. A time bucket names its own next to the
    certificate."""
    told = set[str]()
    for _, part in _gates(result, known):
        certificate = part.get("certificate")
        run = part.get("openlineage") or (isinstance(certificate, Mapping) and certificate.get("openlineage"))
        if isinstance(run, Mapping) and (run_id := str(run.get("parentRunId"))) not in told:
            told.add(run_id)
            yield run


def _certificates(result: Mapping[str, Any], known: Mapping[str, Lineage]) -> Iterator[dict[str, Any]]:
    """Yield the certificates in a task's result, each with its job."""
    for gate, part in _gates(result, known):
        certificate = part.get("certificate")
        if isinstance(certificate, Mapping):
            job = known.get(gate.partition("/")[0])
            yield {
                "namespace": job.namespace if job else None,
                "name": job.name if job else None,
                "pipeline": certificate.get("pipeline"),
                **{key: certificate.get(key) for key in ("id", "version", "lineage", "epoch", "complete_until")},
            }
