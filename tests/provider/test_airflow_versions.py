"""Names that differ between versions of Airflow are found where this one has them, or something serves instead."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import airflow_provider_arroyo
from airflow_provider_arroyo import airflow_versions

HERE = Path(airflow_provider_arroyo.__file__).parent


@pytest.mark.parametrize("name", airflow_versions.__all__)
def test_every_name_is_there(name: str) -> None:
    assert hasattr(airflow_versions, name)


def test_an_older_airflow_gives_the_place_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(airflow_versions, "_PLACES", {"conf": ("airflow.not_there", "airflow.configuration")})
    monkeypatch.delitem(vars(airflow_versions), "conf", raising=False)

    from airflow.configuration import conf

    assert airflow_versions.conf is conf


def test_features_missing_in_an_older_airflow_are_replaced_or_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(airflow_versions, "_PLACES", dict.fromkeys(("NEVER_EXPIRE", "conf"), ("airflow.not_there",)))
    for name in ("NEVER_EXPIRE", "conf"):
        monkeypatch.delitem(vars(airflow_versions), name, raising=False)

    assert airflow_versions.__getattr__("NEVER_EXPIRE") is None
    with pytest.raises(ImportError, match=r"no conf: apache-airflow 3\.1 or newer"):
        airflow_versions.__getattr__("conf")


def test_no_other_module_imports_what_is_not_in_every_version() -> None:
    moved = set(airflow_versions.__all__)
    found = [
        (path.name, name.name)
        for path in HERE.rglob("*.py")
        if path.name != "airflow_versions.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and _is_of_airflow(node)
        for name in node.names
        if name.name in moved - {"conf"} or (name.name == "conf" and node.module == "airflow.sdk")
    ]

    assert found == []


def _is_of_airflow(node: Any) -> bool:
    return str(node.module).startswith("airflow.")
