"""Request for a pipeline's datasets, which the control plane derives from its plan, and its response."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from airflow_provider_arroyo.requests import ApiCall, path_of
from airflow_provider_arroyo.responses import read


@dataclass(frozen=True, slots=True)
class LineageDataset:
    """A dataset that a pipeline reads or writes, with OpenLineage's name and facets."""

    namespace: str
    name: str
    facets: dict[str, Any] = field(default_factory=dict)

    @property
    def table(self) -> str | None:
        """Return the name of the table in the script."""
        told = self.facets.get("arroyo_table", {}).get("table")
        return told if isinstance(told, str) else None


@dataclass(frozen=True, slots=True)
class Lineage:
    """Datasets of a pipeline and their column lineage; `namespace` and `name` are its OpenLineage job."""

    namespace: str
    name: str
    version: int
    inputs: tuple[LineageDataset, ...] = ()
    outputs: tuple[LineageDataset, ...] = ()


def get_lineage(pipeline: str) -> ApiCall[Lineage]:
    """Ask for the tables that a pipeline reads and writes, and for their column lineage."""
    return ApiCall("GET", f"{path_of(pipeline)}/lineage", partial(read, Lineage))
