"""What a script reads and writes is in Airflow's graph of assets as soon as the DAG is read, and makes no event by
itself."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset, AssetAlias
from airflow.sdk.execution_time.context import OutletEventAccessors

from airflow_provider_arroyo import script_places
from airflow_provider_arroyo.operators.stream_backfill import StreamBackfillOperator
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.script_places import Places, places_of
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor
from airflow_provider_arroyo.sensors.freshness import FreshnessSensor
from airflow_provider_arroyo.sensors.job_state import StreamingJobSensor
from airflow_provider_arroyo.sensors.lag import LagSensor
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor
from airflow_provider_arroyo.streaming_dag import streaming_dag
from airflow_provider_arroyo.testing import FakeControlPlane

from .tasks import DagSerialization, KnownAssets, Run

CLICKS = """
CREATE TABLE clicks (id BIGINT NOT NULL, at TIMESTAMP NOT NULL, WATERMARK FOR at) WITH (
    connector = 'kafka', type = 'source', format = 'json', bootstrap_servers = 'K2:9092, k1', topic = 'shop.clicks'
);
"""
COUNTS = """
CREATE TABLE counts (n BIGINT) WITH (
    connector = 'filesystem', type = 'sink', format = 'json', path = '{path}'
);
INSERT INTO counts SELECT n FROM (SELECT count(*) AS n FROM clicks GROUP BY tumble(INTERVAL '1 hour'));
"""
SCRIPT = CLICKS + COUNTS.format(path="s3://lake/counts/")
READS, WRITES = "kafka://k1:9092/shop.clicks", "s3://lake/counts"
TABLES = [
    {"name": "clicks", "direction": "source", "connector": "kafka", "uri": READS},
    {"name": "counts", "direction": "sink", "connector": "filesystem", "uri": WRITES},
]


@pytest.mark.parametrize(
    ("change", "to", "known"),
    [
        ("s3://lake/counts/", "{{ params.lake }}/counts", Places((READS,), ())),
        ("s3://lake/counts/", "{{ conn.get('lake') }}/counts", Places((READS,), ())),
        ("s3://lake/counts/", "/lake/${secret:PLACE}", Places((READS,), ())),
        ("s3://lake/counts/", "beside/the/driver", Places((READS,), ())),
        ("shop.clicks", "${TOPIC}", Places((), (WRITES,))),
        ("FROM clicks", "FROM {{ params.table }}", Places((), (WRITES,))),
        ("bootstrap_servers = 'K2:9092, k1'", "connection_profile = 'shop'", Places((), (WRITES,))),
        ("INSERT INTO", "SET sink_prefix = 'again'; INSERT INTO", Places((READS,), ())),
        ("INSERT INTO", "{% if params.writes %} INSERT INTO", Places()),
    ],
)
def test_locations_unknown_before_the_task_runs_are_left_out(change: str, to: str, known: Places) -> None:
    assert change in SCRIPT
    assert places_of(SCRIPT.replace(change, to)) == known


@pytest.mark.parametrize("script", ["", "CREATE TABLE", "CREATE TABLE t WITH (", "'", "INSERT INTO", ";;", "((", "))"])
def test_an_invalid_script_declares_nothing(script: str) -> None:
    assert places_of(script) == Places()


def sources(*names: str) -> str:
    options = "connector = 'filesystem', type = 'source', format = 'json', path = '/in/{}'"
    return "".join(f"CREATE TABLE {name} (n BIGINT) WITH ({options.format(name)});" for name in names)


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT n, c FROM x", "x"),
        ("SELECT f(n, c), c FROM x GROUP BY n, c ORDER BY n, c", "x"),
        ("SELECT n FROM x WHERE n IN (n, c) UNION ALL SELECT n, c FROM x", "x"),
        ("SELECT n, (SELECT max(n) FROM c) FROM x", "cx"),
        ("SELECT n FROM (SELECT n, c FROM x), y", "xy"),
        ("SELECT n FROM f(n, c) JOIN x USING (n, c), y", "xy"),
        ('WITH x AS (SELECT n FROM y), c AS (SELECT n, c FROM y) SELECT n FROM y AS one, "z"', "yz"),
    ],
)
def test_names_behind_a_comma_are_tables_only_where_tables_are_listed(query: str, read: str) -> None:
    assert places_of(f"{sources(*'cxyz')} {query}").reads == tuple(f"file:///in/{name}" for name in read)


def test_a_text_that_is_never_closed_is_read_in_one_go() -> None:
    assert places_of("SELECT '" + "{{ x }}" * 1_000) == Places()


def deploying(**arguments: Any) -> StreamingSqlOperator:
    declaring = {"task_id": "t", "pipeline": "counts", "sql": SCRIPT, "declare_assets": True}
    return StreamingSqlOperator(**{**declaring, **arguments})


def test_no_asset_is_declared_by_default() -> None:
    task = StreamingSqlOperator(task_id="t", pipeline="counts", sql=SCRIPT)

    assert task.inlets == task.outlets == []


def test_a_dag_may_ask_for_all_its_tasks() -> None:
    with DAG("d", schedule=None, default_args={"declare_assets": True}):
        task = StreamingSqlOperator(task_id="t", pipeline="counts", sql=SCRIPT)
        again = StreamBackfillOperator(task_id="again", pipeline="counts", sql=SCRIPT)

    assert [outlet.uri for outlet in (*task.outlets, *again.outlets)] == [WRITES, WRITES]


def test_the_graph_shows_them_once_the_dag_is_read() -> None:
    with DAG("d", schedule=None) as dag:
        deploying()

    [task] = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag)).tasks

    assert [inlet.uri for inlet in task.inlets] == [READS]
    assert [outlet.uri for outlet in task.outlets] == [WRITES]


def test_a_file_beside_the_dag_or_on_its_path_is_read(tmp_path: Path) -> None:
    (tmp_path / "counts.sql").write_text(SCRIPT)
    with DAG("d", schedule=None, template_searchpath=[str(tmp_path)]):
        found, missing = deploying(sql="counts.sql"), deploying(task_id="other", sql="missing.sql")

    assert [outlet.uri for outlet in found.outlets] == [WRITES]
    assert missing.outlets == missing.inlets == []


def test_a_folder_of_scripts_shows_what_each_of_them_writes(tmp_path: Path) -> None:
    (tmp_path / "counts.sql").write_text(SCRIPT)

    dag = streaming_dag(tmp_path, operator_args={"declare_assets": True})

    assert [outlet.uri for outlet in dag.get_task("counts.deploy").outlets] == [WRITES]


@pytest.mark.parametrize("given", [{"outlets": [Asset("mine")]}, {"inlets": []}, {"outlets": [AssetAlias("mine")]}])
def test_a_task_that_is_given_assets_has_those_and_no_others(given: dict[str, Any]) -> None:
    task = deploying(**given)

    assert task.outlets == given.get("outlets", [])
    assert task.inlets == []


@pytest.mark.parametrize("given", [{"outlets": [Asset("mine")]}, {"inlets": []}])
@pytest.mark.parametrize("kind", [StreamingSqlOperator, StreamBackfillOperator])
def test_default_args_of_the_dag_apply(given: dict[str, Any], kind: type[StreamingSqlOperator]) -> None:
    with DAG("d", schedule=None, default_args=given):
        task = kind(task_id="t", pipeline="counts", sql=SCRIPT, declare_assets=True)

    assert task.outlets == given.get("outlets", [])
    assert task.inlets == []


TWO = (
    SCRIPT
    + """
CREATE TABLE "Shown" (id BIGINT) WITH (connector = 'delta', path = '/lake/shown', type = 'sink');
INSERT INTO "Shown" SELECT id FROM clicks;
"""
)
SHOWN = "file:///lake/shown"


def waiting(kind: Any, **arguments: Any) -> list[str]:
    """What a sensor shows behind a task that deploys a pipeline with two sinks."""
    with DAG("d", schedule=None, default_args={"declare_assets": True}) as dag:
        deploying(sql=TWO, outlets=None)
        kind(task_id="g", **{"pipeline": "counts", **arguments})
    read = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag)).get_task("g")
    return [inlet.uri for inlet in read.inlets]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({}, [WRITES, SHOWN]),
        ({"pipeline": "counts/counts"}, [WRITES]),
        ({"table": "shown"}, [SHOWN]),
        ({"pipeline": ["other", "counts/shown", "counts/counts"]}, [SHOWN, WRITES]),
        ({"pipeline": "other"}, []),
        ({"table": "nothing"}, []),
        ({"inlets": [Asset("mine", uri="s3://lake/mine")]}, ["s3://lake/mine"]),
        ({"inlets": []}, []),
        ({"declare_assets": False}, []),
        ({"pipeline": ["{{ params.one }}"]}, []),
    ],
)
@pytest.mark.parametrize("deferrable", [False, True])
def test_a_gate_shows_what_it_waits_for_of_a_pipeline_that_its_dag_deploys(
    arguments: dict[str, Any], shown: list[str], deferrable: bool
) -> None:
    assert waiting(WatermarkSensor, deferrable=deferrable, **arguments) == shown


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (CheckpointSensor, {}),
        (FreshnessSensor, {"at_most": timedelta(hours=1)}),
        (LagSensor, {"at_most": timedelta(hours=1)}),
        (StreamingJobSensor, {}),
    ],
)
def test_every_sensor_shows_it(kind: Any, arguments: dict[str, Any]) -> None:
    assert waiting(kind, **arguments) == [WRITES, SHOWN]


def test_a_gate_on_what_is_written_elsewhere_or_deployed_elsewhere_shows_nothing() -> None:
    with DAG("d", schedule=None, default_args={"declare_assets": True}):
        deploying(into="again")
        under_a_prefix = WatermarkSensor(task_id="g", pipeline="counts")
    with DAG("e", schedule=None, default_args={"declare_assets": True}):
        elsewhere = WatermarkSensor(task_id="g", pipeline="counts")

    assert under_a_prefix.inlets == elsewhere.inlets == []
    assert WatermarkSensor(task_id="h", pipeline="counts", declare_assets=True).inlets == []


def test_a_gate_on_what_a_task_is_to_give_shows_nothing() -> None:
    with DAG("d", schedule=None, default_args={"declare_assets": True}):
        deploy = deploying()
        gates = [WatermarkSensor(task_id="g", pipeline=deploy.output["pipeline_id"])]
        gates += [WatermarkSensor(task_id="h", pipeline=[deploy.output["pipeline_id"]])]

    assert [gate.inlets for gate in gates] == [[], []]


def test_a_gate_that_runs_has_only_what_it_was_given() -> None:
    with DAG("d", schedule=None, default_args={"declare_assets": True}):
        deploying()
        gate = WatermarkSensor(task_id="g", pipeline="counts")

    assert [inlet.uri for inlet in gate.inlets] == [WRITES]
    assert gate.prepare_for_execution().inlets == []
    assert [inlet.uri for inlet in gate.inlets] == [WRITES]


def test_output_under_a_prefix_has_no_declared_asset() -> None:
    again = StreamBackfillOperator(task_id="t", pipeline="counts", sql=SCRIPT, revision="2", declare_assets=True)

    assert deploying(into="again").outlets == again.outlets == []
    assert [inlet.uri for inlet in again.inlets] == [READS]


def test_a_mapped_task_declares_nothing() -> None:
    with DAG("d", schedule=None):
        mapped = StreamingSqlOperator.partial(task_id="t", sql=SCRIPT, declare_assets=True).expand(pipeline=["a", "b"])

    task = mapped.unmap({"pipeline": "a"})

    assert (mapped.outlets, task.outlets, task.inlets) == ([], [], [])


@pytest.mark.parametrize(("wait_for", "told"), [("running", []), ("none", []), ("finished", [WRITES])])
@pytest.mark.parametrize("name", [WRITES, "counts"])
def test_only_output_that_is_there_becomes_an_event(
    plane: FakeControlPlane,
    airflow_run: Run,
    monkeypatch: pytest.MonkeyPatch,
    known_assets: KnownAssets,
    wait_for: str,
    told: list[str],
    name: str,
) -> None:
    known_assets.names[WRITES] = name
    pipeline = plane.add("counts", body={"query": SCRIPT}, tables=TABLES)
    if wait_for == "finished":
        pipeline.become("Finished")
    task, accessors = deploying(wait_for=wait_for).prepare_for_execution(), OutletEventAccessors()
    assert task.inlets == task.outlets == [], "Airflow would fail the task for an asset with another name"
    context = airflow_run.context
    monkeypatch.setattr(airflow_run, "context", lambda task: {**context(task), "outlet_events": accessors})

    airflow_run.execute(task)

    assert [(outlet.name, outlet.uri) for outlet in task.outlets] == [(name, uri) for uri in told]
    if told:
        extra = {"pipeline": "counts", "table": "counts", "output": "finished", "version": 1, "lineage": "1f"}
        assert accessors[Asset(name, uri=WRITES)].extra == extra


@pytest.mark.usefixtures("known_assets")
def test_a_place_that_the_control_plane_does_not_confirm_gets_no_event(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("counts", body={"query": SCRIPT}, tables=TABLES[:1]).become("Finished")
    task = deploying(wait_for="finished").prepare_for_execution()

    airflow_run.execute(task)

    assert task.outlets == []


@pytest.mark.parametrize("opening", ["/*", "{{", "{#", "'", '"'])
def test_an_unclosed_token_extends_to_the_end_and_is_read_once(opening: str) -> None:
    script = "INSERT INTO written SELECT a FROM " + opening + "/* {{ {# " * 500

    *_, last = script_places._TOKEN.finditer(script)

    assert script[last.start() : last.end()] == opening + "/* {{ {# " * 500
    assert places_of(script) == Places()
