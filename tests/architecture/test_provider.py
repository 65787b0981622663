"""Provider and engine, who never import each other, still say the same."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

from engine.jobs.decisions.states import State

pytestmark = pytest.mark.provider

ROOT = Path(__file__).parents[2]
EXAMPLES = "\n".join(path.read_text() for path in (ROOT / "dags_examples").glob("*.py"))


def public_classes(folder: str) -> list[str]:
    """The classes that a folder of the provider offers to the writers of DAGs."""
    package = importlib.import_module(f"airflow_provider_arroyo.{folder}")
    modules = [
        importlib.import_module(f"{package.__name__}.{info.name}") for info in pkgutil.iter_modules(package.__path__)
    ]
    suffix = {"operators": "Operator", "sensors": "Sensor"}[folder]
    return sorted(
        {
            name
            for module in modules
            for name, kind in inspect.getmembers(module, inspect.isclass)
            if kind.__module__ == module.__name__ != f"{package.__name__}.base" and name.endswith(suffix)
        }
    )


def test_both_spell_the_same_states() -> None:
    from airflow_provider_arroyo.responses import JobState

    assert {state.value for state in JobState} == {state.value for state in State}
    assert {state.value for state in JobState if state.is_terminal} == {
        state.value for state in State if state.is_terminal
    }


@pytest.mark.parametrize("name", [*public_classes("operators"), *public_classes("sensors")])
def test_every_operator_and_sensor_is_shown_in_an_example(name: str) -> None:
    assert re.search(rf"\b{name}\b", EXAMPLES)
