"""Tags: labels of pipelines, which lists are filtered by."""

from __future__ import annotations

import pytest

from tests.api.conftest import Plane

PATH = "/api/v1/pipelines/orders"


def test_a_deployment_sets_tags_and_keeps_them_when_it_names_none(plane: Plane) -> None:
    deployed = plane.deploy(tags={"team": "sales", "critical": ""})
    again = plane.deploy(query="SELECT 2")

    assert deployed["tags"] == again["tags"] == {"team": "sales", "critical": ""}
    assert plane.get("/pipelines")["data"][0]["tags"] == {"team": "sales", "critical": ""}


def test_a_change_replaces_all_tags_and_restarts_nothing(plane: Plane) -> None:
    before = plane.run(tags={"team": "sales"})

    answer = plane.http.patch(PATH, json={"tags": {"stage": "test"}})
    plane.settle()

    assert answer.json()["tags"] == {"stage": "test"}
    assert (answer.json()["version"], len(plane.runner.launched)) == (before["version"], 1)
    newest = plane.get("/pipelines/orders/events")["data"][0]
    assert newest["message"] == "tags set to stage=test"
    assert plane.http.patch(PATH, json={"tags": {}}).json()["tags"] == {}


def test_creation_by_a_client_of_arroyo_takes_tags(plane: Plane) -> None:
    answer = plane.http.post("/api/v1/pipelines", json={"name": "orders", "query": "SELECT 1", "tags": {"a": "b"}})

    assert answer.json()["tags"] == {"a": "b"}


@pytest.mark.parametrize("tags", [{"": "a"}, {"a b": "c"}, {"a=b": "c"}, {"a": "b,c"}, {"a": "b\nc"}, {"a": 1}])
def test_tags_that_no_list_could_show_are_refused(plane: Plane, tags: dict[str, object]) -> None:
    plane.deploy()

    assert plane.http.patch(PATH, json={"tags": tags}).status_code == 422
