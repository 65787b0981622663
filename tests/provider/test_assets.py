"""What a task knows to be written becomes events of the assets that it has aliases for; nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from airflow.sdk import Asset, AssetAlias
from airflow.sdk.definitions.asset import AssetAliasEvent
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.context import OutletEventAccessors

from airflow_provider_arroyo.declared_assets import create_asset
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.testing import FakeControlPlane

from .tasks import KnownAssets, Run

pytestmark = pytest.mark.usefixtures("known_assets")

TABLES = [
    {"name": "clicks", "direction": "source", "connector": "kafka", "uri": "kafka://k:9092/clicks"},
    {"name": "counts", "direction": "sink", "connector": "filesystem", "uri": "file:///out/counts"},
    {"name": "shown", "direction": "sink", "connector": "stdout", "uri": None},
]
ALIAS = AssetAlias("orders")


def alias_events(run: Run, monkeypatch: pytest.MonkeyPatch, task: StreamingSqlOperator) -> Sequence[AssetAliasEvent]:
    """The events that a task has left for its alias."""
    accessors = OutletEventAccessors()
    context = run.context
    monkeypatch.setattr(run, "context", lambda task: {**context(task), "outlet_events": accessors})
    run.execute(task)
    return accessors[ALIAS].asset_alias_events


def events_of(run: Run, monkeypatch: pytest.MonkeyPatch, task: StreamingSqlOperator) -> dict[str, dict[str, Any]]:
    """What these events say, by their URIs."""
    return {event.dest_asset_key.uri: event.extra for event in alias_events(run, monkeypatch, task)}


def deploying(outlets: Sequence[Any] = (ALIAS,), **arguments: Any) -> StreamingSqlOperator:
    return StreamingSqlOperator(task_id="t", pipeline="orders", sql="SELECT 1", outlets=list(outlets), **arguments)


@pytest.mark.parametrize("deferrable", [False, True])
def test_output_that_is_there_becomes_an_event_of_each_table_and_of_its_place(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch, deferrable: bool
) -> None:
    plane.add("orders", body={"query": "SELECT 1"}, tables=TABLES).become("Finished")

    events = events_of(airflow_run, monkeypatch, deploying(wait_for="finished", deferrable=deferrable))

    host = plane.url.removeprefix("http://")
    assert set(events) == {f"arroyo://{host}/orders/counts", "file:///out/counts", f"arroyo://{host}/orders/shown"}
    told = {"pipeline": "orders", "table": "counts", "output": "finished", "version": 1, "lineage": "1f"}
    assert events["file:///out/counts"] == told


def test_an_event_is_of_the_name_by_which_airflow_knows_the_place(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch, known_assets: KnownAssets
) -> None:
    plane.add("orders", body={"query": "SELECT 1"}, tables=TABLES).become("Finished")
    known_assets.names["file:///out/counts"] = "counts"

    events = alias_events(airflow_run, monkeypatch, deploying(wait_for="finished"))

    names = {event.dest_asset_key.uri: event.dest_asset_key.name for event in events}
    assert {uri: name for uri, name in names.items() if uri != name} == {"file:///out/counts": "counts"}


def test_an_airflow_that_does_not_answer_fails_the_task(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch, known_assets: KnownAssets
) -> None:
    plane.add("orders", body={"query": "SELECT 1"}, tables=TABLES).become("Finished")
    known_assets.failure = ErrorType.API_SERVER_ERROR

    with pytest.raises(AirflowRuntimeError, match="API_SERVER_ERROR"):
        events_of(airflow_run, monkeypatch, deploying(wait_for="finished"))


@pytest.mark.parametrize("wait_for", ["running", "none"])
def test_a_deployment_alone_is_no_event(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch, wait_for: str
) -> None:
    plane.add("orders", body={"query": "SELECT 1"}, tables=TABLES)

    assert events_of(airflow_run, monkeypatch, deploying(wait_for=wait_for)) == {}


def test_no_asset_event_without_tables_from_the_control_plane(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.add("orders", body={"query": "SELECT 1"}).become("Finished")

    assert events_of(airflow_run, monkeypatch, deploying(wait_for="finished")) == {}


def test_airflow_knows_the_scheme() -> None:
    assert Asset(uri="arroyo://Plane:5115/orders/counts/").uri == "arroyo://plane:5115/orders/counts"
    assert create_asset(host="plane", pipeline="orders", table="a/b").uri == "arroyo://plane/orders/a%2Fb"


@pytest.mark.parametrize("uri", ["arroyo://plane/orders", "arroyo:///orders/counts", "arroyo://plane/a/b/c"])
def test_a_uri_that_names_no_table_is_refused(uri: str) -> None:
    with pytest.raises(ValueError, match="HOST/PIPELINE/TABLE"):
        Asset(uri=uri)
