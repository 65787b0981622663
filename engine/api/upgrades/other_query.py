"""A different query for an existing pipeline, in requests that do not change the pipeline."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from engine.api.http.bodies import Body, Udf, udf_texts
from engine.api.pipelines.deployments import Names
from engine.jobs.decisions.spec import Spec


class OtherQuery(Body):
    """Another query for a pipeline, with the same options for losses as a deployment."""

    query: str = Field(min_length=1, description="The SQL text.")
    udfs: tuple[str | Udf, ...] | None = Field(
        default=None, description="Files of Python functions that the query may use; those of the pipeline by default."
    )
    keep_state: Names = Field(
        default=(), description="Operators whose state stays although the rows before it have changed their meaning."
    )
    reset: Names = Field(default=(), description="Operators, sources and sinks that may lose their state or place.")
    hold_back: Names = Field(
        default=(),
        description="Operators with an added aggregate whose open windows are suppressed, instead "
        "of emitted with NULL.",
    )
    settings: dict[str, str] | None = None
    """Each request defines which of them it uses."""

    def to_spec(self, current: Spec) -> Spec:
        """Return the pipeline's version with this query; omitted fields keep their current value."""
        spec = replace(current, query=self.query)
        if self.udfs is not None:
            spec = replace(spec, udfs=udf_texts(self.udfs))
        return spec if self.settings is None else replace(spec, settings=self.settings)
