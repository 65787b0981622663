"""Where the columns of a pipeline come from, over the API and the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.main import main
from tests.api.conftest import Plane

SCRIPT = """
CREATE TABLE clicks (user TEXT, price DOUBLE) WITH (
    connector = 'single_file', path = '/in/clicks.json', format = 'json', type = 'source'
);
CREATE TABLE spent (user TEXT, total DOUBLE) WITH (
    connector = 'single_file', path = '/out/spent.json', format = 'json', type = 'sink'
);
INSERT INTO spent SELECT md5(user), price * 2 FROM clicks WHERE price > 3;
"""
SHOWN = """spent: file:///out/spent.json
  user   clicks.user (transformation, masked)
  total  clicks.price (transformation)
  rows   clicks.price (filter)
"""


def test_a_pipeline_tells_where_its_columns_come_from(plane: Plane) -> None:
    deployed = plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": SCRIPT}).json()

    answer = plane.http.get("/api/v1/pipelines/orders/lineage").json()

    assert {name: answer[name] for name in ("pipeline_id", "version", "namespace", "name")} == {
        "pipeline_id": deployed["id"],
        "version": 1,
        "namespace": "arroyo",
        "name": "orders",
    }
    assert [dataset["name"] for dataset in answer["inputs"]] == ["/in/clicks.json"]
    lineage = answer["outputs"][0]["facets"]["columnLineage"]
    clicks = {"namespace": "file", "name": "/in/clicks.json"}
    doubled = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "", "masking": False}
    assert lineage["fields"]["total"] == {"inputFields": [{**clicks, "field": "price", "transformations": [doubled]}]}


def test_there_is_none_of_a_pipeline_that_is_not_there(plane: Plane) -> None:
    assert plane.http.get("/api/v1/pipelines/orders/lineage").status_code == 404


def test_the_command_line_shows_it_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "spent.sql"
    script.write_text(SCRIPT)

    assert main(["lineage", str(script)]) == 0
    assert capsys.readouterr().out == SHOWN


TWO_OF_ONE_TOPIC = """
CREATE TABLE a (id BIGINT, x DOUBLE) WITH ({topic}, type = 'source');
CREATE TABLE b (id BIGINT, y DOUBLE) WITH ({topic}, type = 'source');
CREATE TABLE o (x DOUBLE, y DOUBLE) WITH (connector = 'blackhole', type = 'sink');
INSERT INTO o SELECT a.x, b.y FROM a JOIN b ON a.id = b.id;
""".replace("{topic}", "connector = 'kafka', bootstrap_servers = 'k:9092', topic = 't', format = 'json'")


def test_table_with_the_column_is_shown_if_several_read_one_location(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "two.sql"
    script.write_text(TWO_OF_ONE_TOPIC)

    assert main(["lineage", str(script)]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert shown == [["x", "a.x", "(identity)"], ["y", "b.y", "(identity)"], ["rows", "a|b.id", "(join)"]]


def test_either_a_file_or_a_pipeline_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lineage"]) == 2
    assert "--pipeline" in capsys.readouterr().err
