"""What `airflow arroyo list` says, by Airflow's own parser."""

from __future__ import annotations

import json

import pytest
from airflow.cli import cli_parser

from airflow_provider_arroyo.testing import FakeControlPlane


@pytest.mark.parametrize("count", [0, 100, 250])
def test_all_pipelines_are_listed_however_many_pages_they_take(
    plane: FakeControlPlane, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    names = [f"orders{number:03}" for number in range(count)]
    for name in reversed(names):
        plane.add(name)
    parsed = cli_parser.get_parser().parse_args(["arroyo", "list", "--format", "json"])

    parsed.func(parsed)

    assert [pipeline["name"] for pipeline in json.loads(capsys.readouterr().out)] == names
