"""The rooms of the connectors: what a connector declares is never imported by the work that it declares."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine.connectors

ROOT = Path(engine.connectors.__file__).parent
PACKAGES = sorted(path.parent for path in ROOT.glob("*/connector.py"))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_the_work_never_imports_the_declaration(package: Path) -> None:
    declaration = f"engine.connectors.{package.name}.connector"
    importers = [
        path.relative_to(ROOT).as_posix()
        for path in sorted(ROOT.rglob("*.py"))
        if path.parent != ROOT and declaration in imported(path)
    ]

    assert importers == []


def test_a_connector_in_a_package_has_its_options_and_its_declaration_in_files_of_their_own() -> None:
    packages = {path.parent for path in ROOT.glob("*/*.py")} - {ROOT / "files", ROOT / "intake"}

    assert sorted(packages) == PACKAGES
    assert [package.name for package in PACKAGES if not list(package.rglob("options.py"))] == []


def test_only_the_list_of_connectors_knows_their_declarations() -> None:
    declarations = {f"engine.connectors.{package.name}.connector" for package in PACKAGES}
    importers = [path.name for path in sorted(ROOT.glob("*.py")) if declarations & set(imported(path))]

    assert importers == ["__init__.py"]


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield module
