"""Test kit for DAGs and pipelines: a control plane in memory, and runs of a script over test rows."""

from airflow_provider_arroyo.testing.control_plane import FakeControlPlane, FakePipeline
from airflow_provider_arroyo.testing.partitions import TurnableClock
from airflow_provider_arroyo.testing.rows import Tables, run_pipeline

__all__ = ["FakeControlPlane", "FakePipeline", "Tables", "TurnableClock", "run_pipeline"]
