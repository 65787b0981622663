"""Secrets of pipelines: sent apart from the script, given to drivers, shown to nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.errors import SecretsKeyError
from engine.jobs.disk import DataDirectory
from engine.store.access.vault import Vault, fresh_key
from engine.store.database import open_database
from engine.store.jobs.records import StoredRecords
from tests.api.conftest import Plane

QUERY = "SELECT '{{ secret:KAFKA }}'"
SESAME = {"KAFKA": "open sesame"}


def put(plane: Plane, key: str | None = None, **body: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": QUERY, **body}, headers=headers)


def test_a_driver_is_started_with_the_secrets_of_its_pipeline(plane: Plane) -> None:
    plane.deploy(query=QUERY, secrets=SESAME)

    assert plane.runner.launched[-1].secrets == SESAME


def test_no_answer_and_no_file_holds_a_secret(plane: Plane, tmp_path: Path) -> None:
    answer = put(plane, key="k", secrets=SESAME)
    plane.settle()
    shown = [answer.text, put(plane, key="k", secrets=SESAME).text]
    shown += [
        plane.http.get(f"/api/v1/pipelines/orders{path}").text for path in ("", "/jobs", "/savepoints", "/secrets")
    ]

    assert answer.status_code == 201
    assert [text for text in shown if "sesame" in text] == []
    assert [path for path in tmp_path.rglob("*") if path.is_file() and b"sesame" in path.read_bytes()] == []
    assert "sesame" not in repr(plane.runner.launched[-1]) + plane.runner.launched[-1].model_dump_json()


def test_another_control_plane_on_the_same_data_starts_drivers_with_them_too(plane: Plane, tmp_path: Path) -> None:
    pipeline = plane.deploy(query=QUERY, secrets=SESAME)
    plane.context.database.close()

    again = open_database(DataDirectory(tmp_path))

    assert StoredRecords(again, DataDirectory(tmp_path)).secrets(pipeline["id"]) == SESAME
    assert DataDirectory(tmp_path).secrets_key.stat().st_mode & 0o077 == 0
    again.close()


def test_another_value_is_used_at_the_next_start_and_restarts_nothing(plane: Plane) -> None:
    before = plane.run(query=QUERY, secrets=SESAME)

    after = put(plane, secrets={"KAFKA": "another"}).json()
    plane.settle()
    assert (plane.state(), after["version"], len(plane.runner.launched)) == ("Running", before["version"], 1)

    plane.http.post("/api/v1/pipelines/orders/restart")
    plane.settle()
    plane.end()
    assert plane.runner.launched[-1].secrets == {"KAFKA": "another"}


def test_another_value_is_a_change_of_the_pipeline(plane: Plane) -> None:
    first = put(plane, secrets=SESAME).headers["ETag"]

    assert put(plane, secrets=SESAME).headers["ETag"] == first
    assert put(plane, secrets={"KAFKA": "another"}).headers["ETag"] != first


def test_secrets_that_are_left_out_stay_and_an_empty_set_forgets_them(plane: Plane) -> None:
    plane.run(query=QUERY, secrets=SESAME)
    records = plane.controller.records
    [pipeline] = [record.pipeline.id for record in records.active()]

    put(plane)
    assert records.secrets(pipeline) == SESAME
    put(plane, secrets={"OTHER": "x"})
    assert records.secrets(pipeline) == {"OTHER": "x"}
    put(plane, secrets={})
    assert records.secrets(pipeline) == {}


def test_names_and_times_of_secrets_are_shown(plane: Plane) -> None:
    plane.deploy(query=QUERY, secrets={"KAFKA": "open sesame", "REGISTRY": "abc"})
    first = int(plane.now.timestamp() * 1_000_000)
    plane.let_pass(60)
    put(plane, secrets={"KAFKA": "open barley", "REGISTRY": "abc", "S3": "x"})

    shown = plane.get("/pipelines/orders/secrets")

    assert shown["data"] == [
        {"name": "KAFKA", "set_at": first + 60_000_000},
        {"name": "REGISTRY", "set_at": first},
        {"name": "S3", "set_at": first + 60_000_000},
    ]


def test_time_of_a_secret_from_an_earlier_version_is_unknown(plane: Plane) -> None:
    plane.deploy(query=QUERY, secrets=SESAME)
    with plane.context.database.writing() as connection:
        connection.exec_driver_sql("UPDATE secrets SET set_at = NULL")

    assert plane.get("/pipelines/orders/secrets")["data"] == [{"name": "KAFKA", "set_at": None}]


def test_a_key_belongs_to_the_secrets_of_its_request(plane: Plane) -> None:
    put(plane, key="k", secrets=SESAME)

    assert put(plane, key="k", secrets=SESAME).headers["Idempotency-Replayed"] == "true"
    assert put(plane, key="k", secrets={"KAFKA": "another"}).json()["code"] == "pipeline.key_reused"


def test_the_secrets_of_a_deleted_pipeline_are_gone(plane: Plane) -> None:
    pipeline = plane.run(query=QUERY, secrets=SESAME)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    plane.settle()
    plane.end()

    assert plane.http.delete("/api/v1/pipelines/orders").status_code == 204
    assert plane.controller.records.secrets(pipeline["id"]) == {}


@pytest.mark.parametrize(
    "secrets",
    [{"A B": "sesame"}, {"KAFKA": "sesame\0"}, {"KAFKA": 5}, {"KAFKA": "sesame" * 10_000}, {"": "sesame"}, "sesame"],
    ids=["no name", "null", "a number", "too long", "empty name", "no names"],
)
def test_invalid_secret_is_refused_without_repeating_it(plane: Plane, secrets: Any) -> None:
    answer = put(plane, secrets=secrets)

    assert answer.status_code == 422
    assert "sesame" not in answer.text


def test_a_lost_key_is_noticed_when_the_control_plane_starts(plane: Plane, tmp_path: Path) -> None:
    plane.deploy(query=QUERY, secrets=SESAME)
    plane.context.database.close()
    directory = DataDirectory(tmp_path)
    lost = directory.secrets_key.read_text().strip()
    directory.secrets_key.write_text(fresh_key())

    with pytest.raises(SecretsKeyError, match="another key"):
        open_database(directory)

    open_database(directory, f"{fresh_key()},{lost}").close()


def test_a_key_that_is_none_is_refused() -> None:
    with pytest.raises(SecretsKeyError, match="not a key"):
        Vault(["hunter2"])


def test_two_seals_of_one_secret_differ_and_their_digests_do_not() -> None:
    vault, other = Vault([fresh_key()]), Vault([fresh_key()])

    assert vault.seal("a") != vault.seal("a")
    assert vault.digest("a") == vault.digest("a") != other.digest("a")
