"""What Airflow is told about the provider is true, complete and in the form it wants."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import airflow
import jsonschema
import pytest
from airflow.sdk import BaseOperator, BaseSensorOperator
from airflow.triggers.base import BaseTrigger

import airflow_provider_arroyo
from airflow_provider_arroyo.get_provider_info import get_provider_info

HERE = Path(airflow_provider_arroyo.__file__).parent
INFO = get_provider_info()
KINDS = ("hooks", "operators", "sensors", "triggers")


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((Path(airflow.__file__).parent / name).read_text())
    return loaded


def modules(kind: str) -> list[str]:
    return [module for group in INFO[kind] for module in group["python-modules"]]


def test_airflow_accepts_the_manifest() -> None:
    jsonschema.validate(INFO, schema("provider_info.schema.json"))


def test_the_manifest_names_the_distribution() -> None:
    assert INFO["package-name"] == "airflow-provider-arroyo"


@pytest.mark.parametrize("kind", KINDS)
def test_every_module_on_disk_is_listed_and_the_reverse(kind: str) -> None:
    on_disk = {f"airflow_provider_arroyo.{kind}.{path.stem}" for path in (HERE / kind).glob("[!_]*.py")}

    assert set(modules(kind)) == on_disk


@pytest.mark.parametrize("module", [module for kind in KINDS for module in modules(kind)])
def test_every_listed_module_can_be_imported(module: str) -> None:
    importlib.import_module(module)


@pytest.mark.parametrize(
    "path",
    [
        *INFO["extra-links"],
        *INFO["notifications"],
        *(kind["hook-class-name"] for kind in INFO["connection-types"]),
        *(plugin["plugin-class"] for plugin in INFO["plugins"]),
    ],
)
def test_every_listed_class_can_be_imported(path: str) -> None:
    module, _, name = path.rpartition(".")

    assert hasattr(importlib.import_module(module), name)


def test_the_connection_type_is_the_hooks_own() -> None:
    [kind] = INFO["connection-types"]
    module, _, name = kind["hook-class-name"].rpartition(".")
    hook = getattr(importlib.import_module(module), name)

    assert (kind["connection-type"], kind["hook-name"]) == (hook.conn_type, hook.hook_name)


def test_the_plugin_is_named_where_airflow_looks_for_plugins_at_each_start() -> None:
    points = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]["entry-points"]["airflow.plugins"]

    assert {name: path.replace(":", ".") for name, path in points.items()} == {
        plugin["name"]: plugin["plugin-class"] for plugin in INFO["plugins"]
    }


def test_the_plugin_costs_nothing_where_no_page_is_asked_for() -> None:
    code = """
import sys
from airflow_provider_arroyo.airflow_versions import AirflowPlugin
before = set(sys.modules)
import airflow_provider_arroyo.plugin
print(*(set(sys.modules) - before))
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=HERE.parent, capture_output=True, text=True, check=True)

    ours = {f"airflow_provider_arroyo{module}" for module in ("", ".plugin", ".views")}
    imported = set(ran.stdout.splitlines()[-1].split())
    assert ours >= imported > {"airflow_provider_arroyo.views"}


def test_watermark_sensor_imports_at_most_12_modules_of_the_provider() -> None:
    code = "import sys, airflow_provider_arroyo.sensors.watermark; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=HERE.parent, capture_output=True, text=True, check=True)

    ours = {name for name in ran.stdout.splitlines()[-1].split() if name.startswith("airflow_provider_arroyo.")}
    assert len(ours - {"airflow_provider_arroyo.get_provider_info"}) <= 12, sorted(
        ours
    )  # Airflow reads the information


def test_deployments_and_sensors_do_not_bring_what_only_other_tasks_or_waits_need() -> None:
    code = """
import importlib, sys
for module in sys.argv[1:]:
    importlib.import_module(module)
print(*sys.modules)
"""
    common = [*modules("sensors"), "airflow_provider_arroyo.operators.streaming_sql"]
    ran = subprocess.run(
        [sys.executable, "-c", code, *common], cwd=HERE.parent, capture_output=True, text=True, check=True
    )

    imported = set(ran.stdout.splitlines()[-1].split())
    others = (
        "change_stream consumers copies lineage_facets moves plan_lineage polling rehearsals retention script_places"
    )
    assert imported > set(common)
    for name in others.split():
        assert (HERE / f"{name}.py").exists()
        assert f"airflow_provider_arroyo.{name}" not in imported


def tasks_and_triggers() -> list[type]:
    classes = {
        value
        for kind in KINDS[1:]
        for module in modules(kind)
        for value in vars(importlib.import_module(module)).values()
        if isinstance(value, type) and issubclass(value, BaseOperator | BaseTrigger) and value.__module__ == module
    }
    return sorted(classes, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", [kind for kind in tasks_and_triggers() if issubclass(kind, BaseOperator)])
def test_every_task_has_documentation_templates_and_the_link(kind: type[BaseOperator]) -> None:
    assert kind.__doc__
    assert ":param pipeline:" in kind.__doc__
    assert {"pipeline", "arroyo_conn_id"} <= set(kind.template_fields)
    assert [link.name for link in kind.operator_extra_links] == ["Arroyo pipeline"]


@pytest.mark.parametrize(
    "kind", [kind for kind in tasks_and_triggers() if issubclass(kind, BaseOperator) and "base" not in kind.__module__]
)
def test_every_task_has_an_example(kind: type[BaseOperator]) -> None:
    examples = "".join(path.read_text() for path in (HERE.parent / "dags_examples").glob("*.py"))

    assert f"{kind.__name__}(" in examples
    assert issubclass(kind, BaseSensorOperator) == kind.__name__.endswith("Sensor")
