"""The connectors, as forms need them."""

from __future__ import annotations

import json

from tests.api.conftest import Plane


def test_connectors_say_what_they_can_do_and_which_options_they_have(plane: Plane) -> None:
    answer = plane.get("/connectors")
    by_id = {each["id"]: each for each in answer["data"]}

    assert list(by_id) == sorted(by_id)
    kafka, nexmark, preview = by_id["kafka"], by_id["nexmark"], by_id["preview"]
    assert (kafka["source"], kafka["sink"], kafka["lookup"], kafka["guarantee"]) == (True, True, False, "exactly-once")
    assert "bootstrap_servers" in json.loads(kafka["connection_config"])["properties"]
    assert json.loads(kafka["table_config"])["required"] == ["type"]
    assert (nexmark["connection_config"], nexmark["guarantee"], nexmark["custom_schemas"]) == (None, None, False)
    assert (preview["hidden"], kafka["hidden"]) == (True, False)
    assert by_id["redis"]["options"]["lookup"]["properties"]["address"]["type"] == "string"


def test_lists_say_in_both_spellings_whether_they_go_on(plane: Plane) -> None:
    for name in ("a", "b"):
        plane.deploy(name)

    first, all_of_them = plane.get("/pipelines?limit=1"), plane.get("/pipelines")
    events = plane.get("/events?limit=1")

    assert (first["has_more"], first["hasMore"]) == (True, True)
    assert (all_of_them["has_more"], all_of_them["hasMore"]) == (False, False)
    assert (events["has_more"], events["hasMore"]) == (True, True)
