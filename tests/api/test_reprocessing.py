"""A pipeline's input is read again by another one, which writes elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from engine.cli.main import main
from engine.control.upgrades.plan_reprocess import changing_sinks, plan_reprocess
from engine.errors import BackfillError, EngineError, StartPositionError
from engine.values.run_settings import read_run_settings
from engine.values.sink_prefix import writing_under
from tests.api.conftest import TOKEN, Plane
from tests.api.stand_in_server import StandInServer

pytestmark = pytest.mark.unit
PATH = "/api/v1/pipelines/orders/reprocess"
BODY = {"into": "again", "since": "2026-01-01"}
WINDOWED = """
CREATE TABLE clicks (at TIMESTAMP NOT NULL, page TEXT) WITH (connector = 'kafka', bootstrap_servers = 'k',
    topic = 'clicks', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE counts (page TEXT, n BIGINT) WITH (connector = 'kafka', bootstrap_servers = 'k', topic = 'counts',
    format = 'json', type = 'sink');
INSERT INTO counts SELECT page, n FROM
    (SELECT tumble(interval '1 hour') AS w, page, count(*) AS n FROM clicks GROUP BY 1, 2);
"""
HISTORY = {"history_from": "2026-01-01", "then_continue": "on"}


def plan(query: str = WINDOWED, into: str = "again", **settings: str) -> list[str]:
    return list(plan_reprocess(writing_under(query, into), (), {**HISTORY, **settings}))


def test_the_new_pipeline_reads_again_writes_elsewhere_and_leaves_the_original_alone(plane: Plane) -> None:
    asked: list[Mapping[str, str]] = []

    def planned(query: str, udfs: Any, settings: Mapping[str, str]) -> list[str]:
        asked.append(settings)
        return ["counts: again-counts instead of counts"]

    plane.http.app.state.context = plane.plans_by(reprocess=planned)  # type: ignore[attr-defined]
    before = plane.run(settings={"memory": "3g", "start_from": "a=latest"}, parallelism=3, secrets={"password": "x"})

    answer = plane.http.post(f"{PATH}?dry_run=true", json=BODY)
    assert answer.json() == {
        "pipeline": "orders",
        "name": "orders-again",
        "writes": ["counts: again-counts instead of counts"],
        "stays": answer.json()["stays"],
    }
    assert len(plane.get("/pipelines")["data"]) == 1
    made = plane.http.post(PATH, json=BODY, headers={"Idempotency-Key": "once"})

    assert made.status_code == 201, made.text
    assert plane.http.post(PATH, json=BODY, headers={"Idempotency-Key": "once"}).json() == made.json()
    plane.settle()
    run = plane.runner.launched[-1]
    assert (run.name, run.parallelism, run.secrets) == ("orders-again", 3, {"password": "x"})
    assert run.query == writing_under("SELECT 1", "again")
    assert asked[-1] == {"memory": "3g", "history_from": "2026-01-01", "then_continue": "on"}
    assert run.settings == read_run_settings(asked[-1])
    assert plane.get("/pipelines/orders")["version"] == before["version"]
    assert plane.state() == "Running"
    for more, way_out in (
        ({}, "it reads the input of orders again already: delete it first"),
        ({"hand_over": True}, "it reads the input of orders again already: ask for its hand-over without saying where"),
        ({"name": "orders"}, "give the new one another name"),
    ):
        refused = plane.http.post(PATH, json={**BODY, **more}).json()
        assert refused["code"] == "pipeline.exists"
        assert refused["hint"].startswith(way_out)


def test_refused_plan_creates_no_copy(plane: Plane) -> None:
    def refused(*_: object) -> list[str]:
        raise BackfillError("clicks never ends")

    plane.http.app.state.context = plane.plans_by(reprocess=refused)  # type: ignore[attr-defined]
    plane.run()
    for body in (BODY, {"into": "again"}, {**BODY, "into": "a/b"}):
        assert plane.http.post(PATH, json=body).json()["code"] in ("state.backfill", "sql.sink_prefix")
    assert len(plane.get("/pipelines")["data"]) == 1


@pytest.mark.parametrize("since", ["2026-13-01", "yesterday", "20260101", "2026-01-01T25:00:00Z", "", "2400-01-01"])
def test_an_instant_that_is_none_or_has_not_come_yet_makes_nothing(plane: Plane, since: str) -> None:
    plane.run()
    refused = plane.http.post(PATH, json={**BODY, "since": since})
    assert refused.json()["code"] in ("state.backfill", "setting.invalid")
    assert "is no instant" in refused.text or "is in the future" in refused.text
    assert len(plane.get("/pipelines")["data"]) == 1


def test_the_verb_shows_where_it_writes(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    about = {"pipeline": "orders", "name": "orders-again", "writes": ["counts: x instead of y"], "stays": ["all"]}
    server.answer = json.dumps(about).encode()
    command = ["reprocess", "orders", "--into", "again", "--url", server.url, "--token", TOKEN]

    assert main([*command, "--from", "2026-01-01", "--start-from", "a=earliest", "--dry-run"]) == 0

    method, path, _, body = server.requests[-1]
    assert (method, path) == ("POST", "/api/v1/pipelines/orders/reprocess?dry_run=true")
    assert json.loads(body) == {"into": "again", "since": "2026-01-01", "start_from": "a=earliest"}
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "orders-again reads the input of orders again, and goes on with what comes",
        "  writes counts: x instead of y",
        "  all",
    ]


def test_the_plan_says_where_each_sink_writes() -> None:
    assert plan() == ["counts: again-counts instead of counts"]
    assert plan(start_from='clicks=offsets:{"0": 4}') == ["counts: again-counts instead of counts"]


def test_the_sinks_are_known_whose_rows_change() -> None:
    changes = "CREATE TABLE totals (n BIGINT) WITH (connector = 'stdout', format = 'debezium_json', type = 'sink');\n"
    updating = f"{WINDOWED}{changes}INSERT INTO totals SELECT count(*) FROM clicks GROUP BY page;"
    assert list(changing_sinks(WINDOWED, ())) == []
    assert list(changing_sinks(updating, ())) == ["totals"]


@pytest.mark.parametrize(
    ("query", "settings", "error"),
    [
        (WINDOWED, {"history_from": "2026-01-01T00:30:00Z"}, BackfillError),
        (WINDOWED, {"start_from": "clicks=latest"}, BackfillError),
        (WINDOWED, {"start_from": "others=earliest"}, StartPositionError),
        (WINDOWED.replace("topic = 'clicks'", "topic = 'clicks', source.reader = 'jvm'"), {}, EngineError),
        (writing_under(WINDOWED, "before"), {}, EngineError),
        (
            "CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '1');\nSELECT counter FROM ticks;",
            {},
            BackfillError,
        ),
    ],
)
def test_source_without_history_cannot_be_reprocessed(
    query: str, settings: dict[str, str], error: type[EngineError]
) -> None:
    with pytest.raises(error):
        plan(query, **settings)
