"""Resolve names in DAG files, also through modules next to them. Modules are parsed, and never run.

dags/shop/assets.py    hours = Asset("hours")
dags/feed.py           from shop.assets import hours     hours: the call in shop/assets.py
dags/batch.py          from shop import assets           assets.hours: the same
dags/other.py          from elsewhere import hours       hours: unknown, there is no such module here
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from airflow_provider_arroyo.doctor.files import DagFile, Imported, read_dag_file


@dataclass(frozen=True, slots=True)
class Said:
    """An expression or a function, and its file."""

    file: DagFile
    node: ast.expr | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Folder:
    """Files that are checked together, and the modules below the same folders."""

    files: Sequence[DagFile]
    roots: Sequence[Path]
    _modules: dict[Path, DagFile | None] = field(default_factory=dict)

    def said(self, file: DagFile, node: ast.expr | None) -> Said | None:
        """Return the definition behind an expression; the expression itself if it is no name of another one."""
        if node is None:
            return None
        said, seen = Said(file, node), set[int]()
        while (behind := self._behind(said)) is not None and id(behind.node) not in seen:
            seen.add(id(behind.node))
            said = behind
        return said

    def _behind(self, said: Said) -> Said | None:
        match said.node:
            case ast.Name(id=name):
                return self._member(said.file, name)
            case ast.Attribute(value=owner, attr=name):
                module = self._owner(said.file, owner)
                return None if module is None else self._member(module, name)
        return None

    def _member(self, file: DagFile, name: str, seen: frozenset[Path] = frozenset()) -> Said | None:
        if name in file.constants:
            return Said(file, file.constants[name])
        if name in file.functions:
            return Said(file, file.functions[name])
        imported = file.imports.get(name)
        if imported is None or imported.member is None:
            return None
        module = self._find(file, imported.module, imported.level)
        if module is None or module.path in seen:
            return None
        return self._member(module, imported.member, seen | {file.path})

    def _owner(self, file: DagFile, node: ast.expr) -> DagFile | None:
        """The module that a name stands for: `assets`, or `shop.assets` as it was imported."""
        name = ast.unparse(node)
        match file.imports.get(name):
            case Imported(module, None, level):
                return self._find(file, module, level)
            case Imported(module, member, level):
                return self._find(file, f"{module}.{member}" if module else str(member), level)
        return None

    def _find(self, file: DagFile, module: str, level: int) -> DagFile | None:
        """A module as a file imports it: from its own package, or from a folder above that Airflow may have it from."""
        for folder in file.path.parents[level - 1 : level] if level else self._above(file):
            place = folder.joinpath(*module.split(".")) if module else folder
            for path in (place.parent / f"{place.name}.py", place / "__init__.py"):
                if (found := self._read(path)) is not None:
                    return found
        return None

    def _above(self, file: DagFile) -> Iterator[Path]:
        for folder in file.path.parents:
            yield folder
            if folder in self.roots:
                return

    def _read(self, path: Path) -> DagFile | None:
        if path not in self._modules:
            known = next((file for file in self.files if file.path == path), None)
            self._modules[path] = known or _read_if_there(path)
        return self._modules[path]


def _read_if_there(path: Path) -> DagFile | None:
    try:
        return read_dag_file(path)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
