"""OpenLineage names of the datasets of tables.

    file:///lake/orders        file              /lake/orders
    s3://lake/orders           s3://lake         orders
    kafka://broker:9092/o      kafka://broker:9092   o
    none, for a webhook        arroyo            shop.told      the job's namespace, the pipeline and the table

Other systems use the same names, so that their graphs connect.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from engine.connectors import kind_of
from engine.connectors.base import Table

JOB_NAMESPACE = "arroyo"
"""Default namespace of jobs."""


@dataclass(frozen=True, slots=True)
class JobName:
    """OpenLineage name of a pipeline."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class DatasetName:
    """OpenLineage name of a dataset."""

    namespace: str
    name: str


def dataset_name(table: Table, job: JobName) -> DatasetName:
    """The name of the place of a table. One without a place, or with one that only its driver knows, is called after
    the job."""
    place = known_place(table)
    if place is not None:
        scheme, _, rest = place.partition("://")
        if scheme == "file":
            return DatasetName("file", rest or "/")
        server, _, path = rest.partition("/")
        return DatasetName(f"{scheme}://{server}", unquote(path) if scheme == "kafka" else path or "/")
    return DatasetName(job.namespace, f"{job.name}.{table.name}")


def known_place(table: Table) -> str | None:
    """The URI by which others know the place of a table; None where it has none, or has a variable of the driver's
    environment or a secret in it."""
    place = kind_of(table).place(table.options)
    return None if place is None or "${" in unquote(place) or "{{" in unquote(place) else place
