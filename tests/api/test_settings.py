from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from engine.errors import InsecureBindError, SettingError
from engine.jobs.decisions.decide import Policy
from engine.jobs.decisions.spec import Pipeline
from engine.jobs.disk import DataDirectory, Limits
from engine.server import check_bind, read_section, stand_where_it_stood
from engine.settings import ApiSettings, PipelineSettings, Section, Settings, load
from engine.store.database import open_database
from engine.store.pipelines import pipelines
from tests.api.conftest import T0


def test_defaults_are_those_of_the_reference_engine() -> None:
    settings = load({})

    assert (settings.api.host, settings.api.port) == ("127.0.0.1", 5115)
    assert settings.pipeline.allowed_restarts == 20
    assert settings.pipeline.initial_backoff == timedelta(milliseconds=500)
    assert settings.data_dir == Path("~/.local/share/arroyo").expanduser()


def test_settings_for_restarts_and_leaks_are_applied() -> None:
    settings = load({"ARROYO__PIPELINE__START_LIMIT": "7m", "ARROYO__SWEEP__KEPT_RUNS": "3"})

    policy = read_section(Policy, settings.pipeline, healthy=timedelta(seconds=1))

    assert policy == replace(Policy(), start_limit=timedelta(minutes=7), healthy=timedelta(seconds=1))
    assert read_section(Limits, settings.sweep) == replace(Limits(), kept_runs=3)


def test_the_environment_wins_over_the_file_and_the_command_line_over_both(tmp_path: Path) -> None:
    file = tmp_path / "arroyo.toml"
    file.write_text("[api]\nport = 1\nhost = 'localhost'\n[pipeline]\nstop_grace = '2m'\nlease = '1h'\n")
    environ = {"ARROYO__API__PORT": "2", "ARROYO__PIPELINE__STOP_GRACE": "30s", "ARROYO_HOME": str(tmp_path)}

    settings = load(environ, file, {"api.port": 3})

    assert (settings.api.port, settings.api.host) == (3, "localhost")
    assert settings.pipeline.stop_grace == timedelta(seconds=30)
    assert settings.pipeline.lease == timedelta(hours=1)
    assert settings.data_dir == tmp_path


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("10s", 10), ("2m", 120), ("1h", 3600), ("1.5", 1.5), ("1d", 86400)]
)
def test_a_length_of_time_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    assert load({"ARROYO__PIPELINE__LEASE": text}).pipeline.lease == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ARROYO__API__PORT", "many"),
        ("ARROYO__API__PROT", "1"),
        ("ARROYO__NOTHING", "1"),
        ("ARROYO__PIPELINE__LEASE", "soon"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(name: str, text: str) -> None:
    with pytest.raises(SettingError, match=name.removeprefix("ARROYO__").lower().replace("__", ".").partition(".")[0]):
        load({name: text})


def test_a_token_is_not_printed() -> None:
    settings = load({"ARROYO__API__TOKEN": "sesame"})

    assert "sesame" not in repr(settings)


@pytest.mark.parametrize("section", [Settings, ApiSettings, PipelineSettings])
def test_every_setting_is_described(section: type[Section]) -> None:
    assert all(field.description and field.description.endswith(".") for field in section.model_fields.values())


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "::1"])
def test_the_machines_own_addresses_may_be_bound(host: str) -> None:
    check_bind(ApiSettings(host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.com"])
def test_other_addresses_need_a_token_or_a_word(host: str) -> None:
    with pytest.raises(InsecureBindError):
        check_bind(ApiSettings(host=host))
    check_bind(load({"ARROYO__API__TOKEN": "sesame"}, overrides={"api.host": host}).api)
    check_bind(ApiSettings(host=host, insecure=True))


def test_relative_paths_start_where_they_did_as_long_as_there_are_pipelines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = DataDirectory(tmp_path / "data")
    database = open_database(directory)
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()

    def stand(folder: Path) -> Path:
        monkeypatch.chdir(folder)
        stand_where_it_stood(database, directory)
        return Path.cwd()

    assert [stand(first), stand(second)] == [first, second]
    with database.writing() as connection:
        pipelines.add(connection, Pipeline("pl_aaaaaaaaaaaaaaaa", "orders", "job_aaaaaaaaaaaaaaaa", 1, 1, T0))
    assert stand(first) == second
    assert f"start in {second}" in capsys.readouterr().out
    second.rmdir()
    assert [stand(first), stand(tmp_path)] == [first, first]
    database.close()
