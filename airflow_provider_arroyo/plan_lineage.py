"""What a pipeline reads and writes, as the control plane has read it off its plan: the request, and its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from airflow_provider_arroyo.answers import read
from airflow_provider_arroyo.calls import ApiCall, path_of


@dataclass(frozen=True, slots=True)
class LineageDataset:
    """A place that a pipeline reads or writes, as OpenLineage names it; its facets are what is known of it."""

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
    """What a pipeline reads and writes, and which columns come from which; `namespace` and `name` are its job's."""

    namespace: str
    name: str
    version: int
    inputs: tuple[LineageDataset, ...] = ()
    outputs: tuple[LineageDataset, ...] = ()


def get_lineage(pipeline: str) -> ApiCall[Lineage]:
    """Ask for the tables that a pipeline reads and writes, and for their column lineage."""
    return ApiCall("GET", f"{path_of(pipeline)}/lineage", partial(read, Lineage))
