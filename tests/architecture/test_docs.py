"""The reference pages say what the declarations say."""

import re
from pathlib import Path

import pytest

from engine.connectors import CONNECTORS
from engine.docs import FOLDER, PAGES, stale_pages
from engine.docs.changelog import read_features, refusal
from engine.docs.models import spell_default, walk_settings
from engine.settings import PREFIX, Settings
from engine.values.durations import spell_duration
from engine.values.environment import VARIABLES

ROOT = Path(__file__).parents[2]


def test_the_pages_are_fresh() -> None:
    assert stale_pages(ROOT) == [], "run `make docs`"


def test_there_is_no_page_that_nothing_writes() -> None:
    folder = ROOT / FOLDER
    assert {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.md")} == set(PAGES)


def test_every_sink_that_promises_something_says_what_it_cannot() -> None:
    sinks = {connector.name: connector.sink for connector in CONNECTORS if connector.sink is not None}
    promising = {name: sink for name, sink in sinks.items() if sink.guarantee != "best effort"}

    assert [name for name, sink in promising.items() if not sink.limits] == []


def names_in_the_code() -> dict[str, str]:
    """Names of environment variables of ours that stand in the code, each with a file where it does."""
    paths = [path for folder in ("engine", "airflow_provider_arroyo", "dags_examples") for path in folder_files(folder)]
    return {name: path.name for path in paths for name in re.findall(r"(?<![A-Z_])ARROYO_[A-Z_]+", path.read_text())}


def folder_files(folder: str) -> list[Path]:
    return [path for path in (ROOT / folder).rglob("*.py") if path.name != "environment.py"]


def test_every_environment_variable_in_the_code_is_declared() -> None:
    settings = {PREFIX + name.replace(".", "__").upper() for name, _ in walk_settings(Settings)}
    plain = {variable.name for variable in VARIABLES if not variable.name.endswith("_")}
    prefixes = tuple(variable.name for variable in VARIABLES if variable.name.endswith("_"))
    names = names_in_the_code()

    assert {
        name: file
        for name, file in names.items()
        if name not in plain | settings | {PREFIX, f"{PREFIX}SECTION__KEY"} and not name.startswith(prefixes)
    } == {}, "declare it in engine/values/environment.py"
    assert [variable.name for variable in VARIABLES if variable.name not in names] == [], "nothing reads it any more"


def test_every_setting_has_a_description() -> None:
    assert [name for name, info in walk_settings(Settings) if not info.description] == []


@pytest.mark.parametrize(
    ("seconds", "text"), [(3600, "1 hour"), (90, "90 seconds"), (120, "2 minutes"), (0.25, "250 ms"), (0, "0 us")]
)
def test_intervals_are_written_in_their_largest_whole_unit(seconds: float, text: str) -> None:
    from datetime import timedelta

    assert spell_duration(timedelta(seconds=seconds)) == text
    assert spell_default(timedelta(seconds=seconds)) == f"`{text}`"


def test_docs_extension_that_runs_code_or_reads_files_is_refused() -> None:
    events, features = read_features((ROOT / "engine" / "docs" / "features.sql").read_text())
    never = [feature for feature in features if feature.group == "Never"]

    assert len(never) >= 4
    assert [feature.name for feature in never if refusal(events, feature) is None] == []


def test_the_page_of_supported_sql_claims_no_more_than_is_accepted() -> None:
    events, features = read_features((ROOT / "engine" / "docs" / "features.sql").read_text())
    refused = {feature.name for feature in features if refusal(events, feature) is not None}

    assert [feature.name for feature in features if feature.accepted_by == "we" and feature.name in refused] == []
    assert [
        feature.name for feature in features if feature.accepted_by == "Arroyo" and feature.name not in refused
    ] == []
    assert len({feature.name for feature in features}) == len(features) >= 80
