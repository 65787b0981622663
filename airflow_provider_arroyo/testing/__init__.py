"""Test kit for DAGs and pipelines: a control plane in memory, and runs of a script over test rows."""

from airflow_provider_arroyo.testing.clock import TurnableClock
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane, FakePipeline
from airflow_provider_arroyo.testing.pipelines import run_pipeline
from airflow_provider_arroyo.testing.rows import Tables

__all__ = ["FakeControlPlane", "FakePipeline", "Tables", "TurnableClock", "run_pipeline"]
