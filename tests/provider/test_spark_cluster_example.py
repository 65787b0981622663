"""The example of a Spark cluster, against a control plane that has none. `tests/cluster` runs pipelines on one."""

from __future__ import annotations

from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane
from dags_examples.spark_cluster import dag
from engine.compile import compile_script
from engine.values.run_settings import RunSettings, read_run_settings

from .tasks import Run


def test_the_pipeline_is_deployed_with_the_settings_of_the_parameters(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    plane.new_pipelines_become("Created", "Scheduling", "Running")
    deploy = dag.get_task("deploy")
    assert isinstance(deploy, StreamingSqlOperator)
    deploy.render_template_fields({"params": {"master": "spark://m:7077", "state_url": "s3://bucket/prefix"}})

    airflow_run.execute(deploy)
    airflow_run.execute(dag.get_task("stop"))

    [sent] = plane.matching_requests("PUT")
    settings = read_run_settings(sent.body["settings"])
    assert isinstance(settings, RunSettings)
    assert (settings.master, settings.cluster.state_url, settings.cluster.max_cores) == (
        "spark://m:7077",
        "s3://bucket/prefix",
        4,
    )
    assert compile_script(sent.body["query"]).operators
