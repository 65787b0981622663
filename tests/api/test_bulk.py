"""Verbs that change several pipelines at once, against a control plane that is a table."""

from __future__ import annotations

import io
import json
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from engine.cli.base import Client, Json, RefusedError
from engine.cli.main import main
from engine.cli.pipelines import bulk, list_pipelines
from engine.cli.pipelines.bulk import BulkRun, BulkVerb, Change
from engine.cli.pipelines.list_pipelines import chosen
from engine.errors import UnreachableError

ROWS: list[dict[str, Json]] = [
    {"id": "pl_3", "name": "orders-us", "state": "Running", "tags": {"team": "sales", "tier": "1"}},
    {"id": "pl_1", "name": "orders-eu", "state": "Running", "tags": {"team": "sales"}},
    {"id": "pl_2", "name": "orders-old", "state": "Stopped", "tags": {"team": "sales", "legacy": ""}},
    {"id": "pl_4", "name": "clicks", "state": "Failed", "tags": {"team": "web"}},
]


@dataclass
class TableClient:
    """Answers the list, refuses the changes of some pipelines, and plays the states of a job one after the other."""

    refused: tuple[str, ...] = ()
    looks: dict[str, list[Any]] = field(default_factory=dict)
    sent: list[tuple[str, str, Any]] = field(default_factory=list)

    def get(self, path: str, query: Mapping[str, object] | None = None) -> Json:
        if path == "/pipelines":
            return {"data": cast("Json", ROWS), "has_more": False}
        answers = self.looks[path]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return cast("Json", answer)

    def send(self, method: str, path: str, body: object, *, key: str | None = None) -> Json:
        self.sent.append((method, path, body))
        if any(f"/{each}" in path for each in self.refused):
            raise RefusedError(409, {"code": "pipeline.busy", "detail": "a restore is under way"})
        return {"id": "sp_1", "state": "pending"} if "savepoints" in path else {"id": "pl", "stops": True}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TableClient:
    made = TableClient()
    for module in (bulk, list_pipelines):
        monkeypatch.setattr(module, "connect", lambda _: made)
    return made


def names(*arguments: str | None) -> list[object]:
    name, *tags = arguments
    return [row["name"] for row in chosen(ROWS, name, [tag for tag in tags if tag])]


def test_a_pattern_matches_the_whole_name_and_tags_must_all_match() -> None:
    assert names("orders-*") == ["orders-eu", "orders-old", "orders-us"]
    assert names("*s") == ["clicks", "orders-us"]
    assert names("orders") == []
    assert names("o.ders-*") == []
    assert names(None, "team=sales") == ["orders-eu", "orders-old", "orders-us"]
    assert names(None, "team=sales", "tier") == ["orders-us"]
    assert names(None, "legacy") == ["orders-old"]
    assert names(None, "team=sal") == []
    assert names("*-eu", "team=sales") == ["orders-eu"]
    assert names("pl_4") == ["clicks"]


def test_a_name_with_a_star_is_matched_by_itself_only() -> None:
    rows: list[dict[str, Json]] = [{"name": "a*", "id": "pl_1"}, {"name": "ab", "id": "pl_2"}]

    assert [row["name"] for row in chosen(rows, "a*", [])] == ["a*"]


def test_stop_by_tag_shows_the_pipelines_and_reports_each(
    client: TableClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stop", "--tag", "team=sales", "--yes"]) == 0

    out, error = capsys.readouterr()
    assert client.sent == [
        ("PATCH", "/pipelines/pl_1", {"stop": "checkpoint"}),
        ("PATCH", "/pipelines/pl_3", {"stop": "checkpoint"}),
    ]
    assert out.splitlines() == ["orders-eu: stop requested", "orders-us: stop requested"]
    assert error.splitlines() == [
        "Stop 2 of 3 pipelines:",
        "  orders-eu   Running",
        "  orders-old  Stopped  skipped: not running",
        "  orders-us   Running",
        "stop: 2 done, 0 failed, 1 skipped",
    ]


@pytest.mark.parametrize(
    ("arguments", "requests"),
    [
        (["restart", "*", "--yes"], ["POST pl_4/restart", "POST pl_1/restart", "POST pl_3/restart"]),
        (["start", "*", "--yes"], ["PATCH pl_4", "PATCH pl_2"]),
        (["delete", "*", "--yes", "--with-savepoints"], ["DELETE pl_4", "DELETE pl_2"]),
        (["stop", "*s", "--yes"], ["PATCH pl_3"]),
    ],
    ids=lambda value: value[0],
)
def test_a_verb_skips_the_pipelines_that_it_does_not_apply_to(
    arguments: list[str], requests: list[str], client: TableClient
) -> None:
    assert main(arguments) == 0

    sent = [f"{method} {path.removeprefix('/pipelines/').partition('?')[0]}" for method, path, _ in client.sent]
    assert sent == requests
    assert all("with_savepoints=true" in path for method, path, _ in client.sent if method == "DELETE")


def test_bulk_verb_continues_after_a_failure(client: TableClient, capsys: pytest.CaptureFixture[str]) -> None:
    client.refused = ("pl_1",)

    assert main(["stop", "orders-*", "--yes"]) == 3

    out, error = capsys.readouterr()
    assert out == "orders-us: stop requested\n"
    assert "orders-eu: pipeline.busy: a restore is under way\n" in error
    assert error.endswith("stop: 1 done, 1 failed, 1 skipped\n")


@pytest.mark.parametrize("verb", ["stop", "start", "restart", "delete", "savepoint"])
def test_without_a_terminal_several_pipelines_are_changed_with_yes_only(
    verb: str, client: TableClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "*"]) == 2

    assert client.sent == []
    error = capsys.readouterr().err
    assert f"arroyo {verb} changes several pipelines, and there is no terminal to ask on" in error
    assert "hint: add --yes" in error


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "code", "count"), [("y\n", 0, 2), ("YES\n", 0, 2), ("n\n", 2, 0), ("", 2, 0)])
def test_on_a_terminal_the_command_asks_first(
    answer: str, code: int, count: int, client: TableClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", screen)

    assert main(["stop", "orders-*"]) == code

    assert len(client.sent) == count
    assert "Continue? [y/N] " in screen.getvalue()
    assert ("nothing was changed" in screen.getvalue()) == (count == 0)


def test_a_dry_run_asks_nothing_and_shows_the_effects_on_each(
    client: TableClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["restart", "--tag", "team=web", "--dry-run"]) == 0

    out, error = capsys.readouterr()
    assert client.sent == [("POST", "/pipelines/pl_4/restart?dry_run=true", {"force": False})]
    assert out.splitlines() == ["clicks:", "  stops   yes", "  starts  no"]
    assert "dry run: nothing was changed" in error


def test_bulk_verb_sends_no_request_if_every_pipeline_is_skipped(client: TableClient) -> None:
    assert main(["stop", "orders-old", "--tag", "legacy"]) == 0
    assert client.sent == []


def test_json_is_one_document(client: TableClient, capsys: pytest.CaptureFixture[str]) -> None:
    client.refused = ("pl_1",)

    main(["stop", "orders-*", "--yes", "--json"])

    rows = json.loads(capsys.readouterr().out)["data"]
    assert [(row["name"], row["outcome"]) for row in rows] == [
        ("orders-eu", "failed"),
        ("orders-old", "skipped"),
        ("orders-us", "done"),
    ]
    assert rows[0]["detail"] == "pipeline.busy: a restore is under way"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["stop"], "arroyo stop needs a pipeline"),
        (["savepoint"], "arroyo savepoint take needs PIPELINE"),
        (["stop", "nothing-*", "--yes"], "no pipeline matches"),
        (["stop", "--tag", "", "--yes"], "'' is not a tag"),
        (["stop", "--tag", "=sales", "--yes"], "'=sales' is not a tag"),
        (["stop", "*", "--at-once", "0", "--yes"], "--at-once must be at least 1, but is 0"),
        (["savepoint", "list", "orders", "--tag", "team"], "--tag is not for arroyo savepoint list"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_contradictory_bulk_options_are_refused(
    arguments: list[str], complaint: str, client: TableClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert complaint in capsys.readouterr().err
    assert client.sent == []


def play(client: TableClient, **options: Any) -> tuple[int, list[tuple[int, int]]]:
    """Stop all that run and wait; the exit code, and after each pause its number and how many changes were sent."""
    pauses: list[tuple[int, int]] = []

    def pause(_: float) -> None:
        pauses.append((len(pauses), len(client.sent)))

    settings = {"json": False, "dry_run": False, "at_once": 1, "wait": "stopped", "timeout": None, **options}
    verb = BulkVerb("stop", bulk.unless_resting, "stop requested")
    run = BulkRun(
        cast("Client", client),
        verb,
        Change("PATCH", body={"stop": "checkpoint"}),
        Namespace(**settings),
        lambda: float(len(pauses)),
        pause,
    )
    return run.of([row for row in ROWS if row["state"] == "Running"]), pauses


BEFORE = {"data": [{"state": "Running", "settled": False}]}
STOPPED = {"data": [{"state": "Stopped", "settled": True}]}


def test_bulk_verb_with_wait_processes_pipelines_in_sequence(capsys: pytest.CaptureFixture[str]) -> None:
    client = TableClient(looks={f"/pipelines/{name}/jobs": [BEFORE, BEFORE, STOPPED] for name in ("pl_1", "pl_3")})

    code, pauses = play(client)

    assert (code, [sent for _, sent in pauses]) == (0, [1, 1, 2, 2])
    assert capsys.readouterr().out.splitlines() == ["orders-us: Stopped", "orders-eu: Stopped"]


def test_a_wait_outlasts_a_control_plane_that_restarts_and_ends_after_the_timeout(
    capsys: pytest.CaptureFixture[str],
) -> None:
    away = UnreachableError("no control plane answers")
    looks = {"/pipelines/pl_3/jobs": [away, STOPPED], "/pipelines/pl_1/jobs": [BEFORE]}

    code, _ = play(TableClient(looks=looks), at_once=2, timeout=5.0)

    out, error = capsys.readouterr()
    assert (code, out) == (3, "orders-us: Stopped\n")
    assert "orders-eu: cli.timeout: not done after 5 s" in error


def test_savepoints_of_several_pipelines_are_waited_for(
    client: TableClient, capsys: pytest.CaptureFixture[str]
) -> None:
    client.looks = {
        "/pipelines/pl_1/savepoints/sp_1": [{"id": "sp_1", "state": "completed", "epoch": 7}],
        "/pipelines/pl_3/savepoints/sp_1": [{"id": "sp_1", "state": "failed", "failure_message": "disk full"}],
    }

    assert main(["savepoint", "--tag", "team=sales", "--yes", "--label", "nightly", "orders-*u*"]) == 3

    out, error = capsys.readouterr()
    assert [body for _, _, body in client.sent] == [{"label": "nightly", "reason": None}] * 2
    assert out == "orders-eu: savepoint sp_1 completed at epoch 7\n"
    assert "orders-us: the savepoint failed: disk full" in error


def test_list_chooses_by_the_same_rules(client: TableClient, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "orders-*", "--tag", "tier", "-o", "json"]) == 0

    assert [row["name"] for row in json.loads(capsys.readouterr().out)["data"]] == ["orders-us"]
