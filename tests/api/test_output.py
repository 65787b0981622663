"""Rows of preview sinks, over HTTP and by `arroyo tail`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.api.jobs.job_output import shown_directories
from engine.cli.main import main
from engine.connectors.preview import PREVIEW_FILE
from engine.spark.read.scan_spec import safe_name
from engine.store.jobs.records import read_record
from tests.api.conftest import Plane, report
from tests.api.stand_in_server import StandInServer


def show(plane: Plane, pipeline: dict[str, Any], total: int, *numbers: int, table: str = "shown") -> None:
    """What a driver keeps of a preview table."""
    directory: Path = plane.context.directory.state(pipeline["id"]) / "sinks" / safe_name(table)
    directory.mkdir(parents=True, exist_ok=True)
    lines = "".join(f'{{"n": {number}}}\n' for number in numbers)
    (directory / PREVIEW_FILE).write_text(f"#{total}\n{lines}")


def numbers(answer: dict[str, Any]) -> list[int]:
    return [row["n"] for row in answer["data"]]


def test_whoever_follows_a_preview_is_shown_each_row_that_is_kept(plane: Plane) -> None:
    pipeline = plane.run()
    empty = plane.get("/pipelines/orders/output")
    assert (empty["data"], empty["cursor"], empty["over"]) == ([], "0", False)

    show(plane, pipeline, 3, 1, 2, 3)
    newest = plane.get("/pipelines/orders/output?limit=2&table=shown")
    assert (numbers(newest), newest["cursor"], newest["missed"]) == ([2, 3], "3", 0)

    show(plane, pipeline, 6, 4, 5, 6)
    part = plane.get("/pipelines/orders/output?after=3&limit=2")
    last = plane.get(f"/pipelines/orders/output?after={part['cursor']}")
    assert (numbers(part), part["has_more"], numbers(last), last["cursor"]) == ([4, 5], True, [6], "6")
    assert numbers(plane.get("/pipelines/orders/output?after=6")) == []

    missing = plane.get("/pipelines/orders/output?after=1")
    assert (numbers(missing), missing["missed"]) == ([4, 5, 6], 2)

    show(plane, pipeline, 2, 1, 2)
    restored = plane.get("/pipelines/orders/output?after=6")
    assert (numbers(restored), restored["cursor"], restored["missed"]) == ([1, 2], "2", 0)


def test_a_preview_table_keeps_one_name_from_before_the_first_report_on(plane: Plane) -> None:
    pipeline = plane.run()
    show(plane, pipeline, 1, 1, table="counts")
    show(plane, pipeline, 1, 2, table="Other Rows")

    def names() -> set[str]:
        with plane.context.database.reading() as connection:
            return set(shown_directories(plane.context, read_record(connection, pipeline["id"])))

    before = names()
    plane.end("finished")

    assert before == {"counts"}
    assert names() == {"counts", safe_name("Other Rows")}


def test_a_preview_is_over_when_the_job_rests_and_its_rows_are_read(plane: Plane) -> None:
    pipeline = plane.run()
    show(plane, pipeline, 2, 1, 2)
    plane.end("finished")

    answers = [plane.get(f"/pipelines/orders/output?after={seen}&limit=1") for seen in (0, 1)]

    assert [(numbers(answer), answer["over"]) for answer in answers] == [([1], False), ([2], True)]


def test_a_table_that_is_no_sink_is_refused_as_soon_as_the_sinks_are_known(plane: Plane) -> None:
    plane.run()
    assert numbers(plane.get("/pipelines/orders/output?table=mistyped")) == []
    plane.call("heartbeat", {"state": "running", "reports": [report(0, 10)]})

    refused = plane.http.get("/api/v1/pipelines/orders/output?table=mistyped")

    assert (refused.status_code, refused.json()["code"]) == (404, "pipeline.no_such_sink")
    assert refused.json()["hint"] == "its sinks are counts"
    assert numbers(plane.get("/pipelines/orders/output?table=Counts")) == []


def test_one_of_several_preview_tables_must_be_named(plane: Plane) -> None:
    pipeline = plane.run()
    show(plane, pipeline, 1, 1)
    show(plane, pipeline, 1, 2, table="other")

    assert plane.http.get("/api/v1/pipelines/orders/output").json()["code"] == "request.invalid"
    assert numbers(plane.get("/pipelines/orders/output?table=other")) == [2]
    assert plane.http.get("/api/v1/pipelines/orders/output?after=late").status_code == 422


def test_rows_are_lines_of_json_until_the_job_rests(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    answer = {"data": [{"n": 1, "t": "ä"}], "cursor": "9", "missed": 0, "over": True}
    connection = ["--url", server.url, "--token", "t"]
    server.answer = json.dumps(answer).encode()
    assert main(["tail", "orders", "shown", "--limit", "5", *connection]) == 0
    server.answer = json.dumps({**answer, "data": [], "over": False}).encode()
    assert main(["tail", "orders", "--no-follow", *connection]) == 0

    assert [path for _, path, _, _ in server.requests] == [
        "/api/v1/pipelines/orders/output?table=shown&limit=5",
        "/api/v1/pipelines/orders/output?limit=10",
    ]
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == (
        '{"n": 1, "t": "ä"}\n',
        "there are no rows yet; a table WITH (connector = 'preview') is shown here\n",
    )
