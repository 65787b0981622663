"""No two files need each other, be it through an import that is deferred or one for types alone."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("engine", "airflow_provider_arroyo")
NEEDED: frozenset[tuple[str, str]] = frozenset()
"""Imports that close a circle, each with its reason."""


def modules_of(package: str) -> dict[str, Path]:
    """Every module of a package by its dotted name."""
    modules = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def imports_of(path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules that a file imports anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            names.update(submodules & modules.keys() or {node.module})
    return names & modules.keys()


@pytest.mark.parametrize("package", PACKAGES)
def test_files_do_not_import_each_other_in_a_circle(package: str) -> None:
    modules = modules_of(package)
    imports = {
        name: {imported for imported in imports_of(path, modules) - {name} if (name, imported) not in NEEDED}
        for name, path in modules.items()
    }

    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))
