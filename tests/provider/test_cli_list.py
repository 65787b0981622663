"""The output of `airflow arroyo list`, as a module, too, which every version of Airflow has."""

from __future__ import annotations

import json

import pytest

from airflow_provider_arroyo import __main__ as commands
from airflow_provider_arroyo import cli
from airflow_provider_arroyo.testing import FakeControlPlane


@pytest.mark.parametrize("count", [0, 100, 250])
def test_all_pipelines_are_listed_however_many_pages_they_take(
    plane: FakeControlPlane, capsys: pytest.CaptureFixture[str], count: int
) -> None:
    names = [f"orders{number:03}" for number in range(count)]
    for name in reversed(names):
        plane.add(name)

    commands.main(["list", "--format", "json"])

    assert [pipeline["name"] for pipeline in json.loads(capsys.readouterr().out)] == names


def test_the_module_has_the_commands_of_airflow(capsys: pytest.CaptureFixture[str]) -> None:
    [group] = cli.get_commands()

    with pytest.raises(SystemExit, match="0"):
        commands.main(["--help"])

    said = capsys.readouterr().out
    assert [verb.name for verb in group.subcommands if f"    {verb.name} " not in said] == []  # type: ignore[union-attr]
    with pytest.raises(SystemExit, match="2"):
        commands.main(["lost"])
