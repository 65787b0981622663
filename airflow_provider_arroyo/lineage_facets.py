"""Datasets and facets as classes of OpenLineage's client. Imported only if OpenLineage is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attr
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    RunFacet,
    column_lineage_dataset,
    schema_dataset,
)

from airflow_provider_arroyo.plan_lineage import LineageDataset

PRODUCER = "https://github.com/airflow-provider-arroyo/airflow-provider-arroyo"
_SCHEMAS = f"{PRODUCER}/blob/main/docs/openlineage"


@attr.define
class ArroyoTableDatasetFacet(DatasetFacet):
    """Table of a script that corresponds to a dataset."""

    table: str
    connector: str
    direction: str
    uri: str | None = None

    @staticmethod
    def _get_schema() -> str:
        return f"{_SCHEMAS}/ArroyoTableDatasetFacet.json#/$defs/ArroyoTableDatasetFacet"


@attr.define
class ArroyoCertificate:
    """Epoch of a stream that a run relies on: all output up to `complete_until` was readable."""

    id: str
    pipeline: str | None = None
    namespace: str | None = None
    name: str | None = None
    version: int | None = None
    lineage: str | None = None
    epoch: int | None = None
    complete_until: str | None = None


@attr.define
class ArroyoCertificateRunFacet(RunFacet):
    """Epochs of streams that a run relies on."""

    certificates: list[ArroyoCertificate]

    @staticmethod
    def _get_schema() -> str:
        return f"{_SCHEMAS}/ArroyoCertificateRunFacet.json#/$defs/ArroyoCertificateRunFacet"


def input_dataset(dataset: LineageDataset) -> InputDataset:
    """Return an input dataset."""
    return InputDataset(dataset.namespace, dataset.name, facets=_facets(dataset, with_lineage=False))


def output_dataset(dataset: LineageDataset) -> OutputDataset:
    """Return an output dataset with its column lineage."""
    return OutputDataset(dataset.namespace, dataset.name, facets=_facets(dataset, with_lineage=True))


def certificates(told: Iterable[Mapping[str, Any]]) -> dict[str, RunFacet]:
    """Return the run facet of some certificates; nothing without any."""
    listed = [ArroyoCertificate(**certificate) for certificate in told]
    return {"arroyo_certificate": ArroyoCertificateRunFacet(listed, producer=PRODUCER)} if listed else {}


def dependencies(streams: Iterable[Mapping[str, Any]]) -> dict[str, RunFacet]:
    """Return the run facet of the stream runs that a task depends on, which continue in parallel; nothing without
    any."""
    try:
        from openlineage.client.facet_v2 import job_dependencies_run  # noqa: PLC0415 - there since 2025
    except ImportError:
        return {}
    upstream = [
        job_dependencies_run.JobDependency(
            job_dependencies_run.JobIdentifier(stream["parentJobNamespace"], stream["parentJobName"]),
            job_dependencies_run.RunIdentifier(stream["parentRunId"]),
            dependency_type="IMPLICIT_DEPENDENCY",
        )
        for stream in streams
    ]
    if not upstream:
        return {}
    return {"jobDependencies": job_dependencies_run.JobDependenciesRunFacet(upstream=upstream, producer=PRODUCER)}


def _facets(dataset: LineageDataset, *, with_lineage: bool) -> dict[str, DatasetFacet]:
    facets: dict[str, DatasetFacet] = {}
    if columns := dataset.facets.get("schema"):
        fields = [schema_dataset.SchemaDatasetFacetFields(field["name"], field["type"]) for field in columns["fields"]]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields, producer=PRODUCER)
    if with_lineage and (lineage := dataset.facets.get("columnLineage")):
        facets["columnLineage"] = column_lineage_dataset.ColumnLineageDatasetFacet(
            fields={
                column: column_lineage_dataset.Fields(list(map(_input_field, told["inputFields"])))
                for column, told in lineage["fields"].items()
            },
            dataset=list(map(_input_field, lineage["dataset"])),
            producer=PRODUCER,
        )
    if table := dataset.facets.get("arroyo_table"):
        names = ("table", "connector", "direction", "uri")
        facets["arroyo_table"] = ArroyoTableDatasetFacet(**{name: table.get(name) for name in names}, producer=PRODUCER)
    return facets


def _input_field(told: Mapping[str, Any]) -> column_lineage_dataset.InputField:
    uses = [
        column_lineage_dataset.Transformation(use["type"], use["subtype"], use.get("description", ""), use["masking"])
        for use in told["transformations"]
    ]
    return column_lineage_dataset.InputField(told["namespace"], told["name"], told["field"], uses)
