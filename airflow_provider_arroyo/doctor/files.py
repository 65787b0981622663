"""Parse a DAG file: the tasks of this provider in it, and their DAGs.

    SQL = "SELECT ..."                                      constants of the file are resolved
    with DAG("hourly", schedule="@hourly"):                 Task(kind=WatermarkSensor, dag=the call of DAG)
        WatermarkSensor(task_id="gate", past=AT)            values that are computed at run time are unknown

The file is never executed or imported.

Resolve names in DAG files, also through modules next to them. Modules are parsed, and never run.

dags/shop/assets.py    hours = Asset("hours")
dags/feed.py           from shop.assets import hours     hours: the call in shop/assets.py
dags/batch.py          from shop import assets           assets.hours: the same
dags/other.py          from elsewhere import hours       hours: unknown, there is no such module here
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = "airflow_provider_arroyo"


@dataclass(frozen=True, slots=True)
class Call:
    """A call with its keywords, including default arguments (`default_args`)."""

    node: ast.Call
    keywords: Mapping[str, ast.expr]

    @property
    def line(self) -> int:
        """Return the line on which the call begins."""
        return self.node.lineno


@dataclass(frozen=True, slots=True)
class Task:
    """A task of this provider. `is_mapped` if it is expanded over a list."""

    kind: str
    call: Call
    dag: Call | None
    is_mapped: bool = False

    def argument(self, name: str) -> ast.expr | None:
        """Return the argument of this name, from the call itself or from the defaults of its DAG."""
        if name in self.call.keywords:
            return self.call.keywords[name]
        defaults = None if self.dag is None else self.dag.keywords.get("default_args")
        if isinstance(defaults, ast.Dict):
            for key, value in zip(defaults.keys, defaults.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    return value
        return None


@dataclass(frozen=True, slots=True)
class Imported:
    """A module that a file imports, or a `member` of it; `level` is the number of leading dots of a relative import."""

    module: str
    member: str | None = None
    level: int = 0


@dataclass(slots=True)
class DagFile:
    """A parsed file."""

    path: Path
    tree: ast.Module
    constants: dict[str, ast.expr] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=dict)
    imports: dict[str, Imported] = field(default_factory=dict)
    """Imports by their names in the file; `shop.assets` if the file uses that."""
    kinds: dict[str, str] = field(default_factory=dict)
    """The provider's classes, by their names in the file."""
    tasks: list[Task] = field(default_factory=list)

    def value(self, node: ast.expr | None) -> ast.expr | None:
        """Return the constant of a name in the file; else the expression itself."""
        seen = set[str]()
        while isinstance(node, ast.Name) and node.id in self.constants and node.id not in seen:
            seen.add(node.id)
            node = self.constants[node.id]
        return node

    def text(self, node: ast.expr | None) -> str | None:
        """Return the text of an expression, as far as the file contains it."""
        match self.value(node):
            case ast.Constant(value=str() as text):
                return text
            case ast.JoinedStr(values=parts):
                return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
            case ast.BinOp(left=left, op=ast.Mod()):
                return self.text(left)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return f"{self.text(left) or ''}{self.text(right) or ''}"
            case _:
                return None


def read_dag_file(path: Path) -> DagFile:
    """Read a file; raise SyntaxError, OSError or ValueError if it is no DAG file."""
    file = DagFile(path, ast.parse(path.read_bytes(), str(path)))
    for statement in file.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                file.constants[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                file.constants[name] = value
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                file.functions[name] = statement
    for node in ast.walk(file.tree):
        match node:
            case ast.ImportFrom(module=module, names=names, level=level):
                file.imports |= {each.asname or each.name: Imported(module or "", each.name, level) for each in names}
                if (module or "").partition(".")[0] == PACKAGE:
                    file.kinds |= {each.asname or each.name: each.name for each in names}
            case ast.Import(names=names):
                file.imports |= {each.asname or each.name: Imported(each.name) for each in names}
    file.tasks = list(_tasks(file, file.tree.body, _only_dag(file)))
    return file


def calls_of(file: DagFile, name: str) -> Iterator[Call]:
    """Yield the calls of that name."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Call) and _name(node) == name:
            yield _call(file, node)


def dags_of(file: DagFile) -> Iterator[Call]:
    """Yield the calls that create DAGs: of the class, and of the decorators, including `asset` and `asset.multi`."""
    for name in ("DAG", "dag", "asset"):
        yield from calls_of(file, name)
    yield from (call for call in calls_of(file, "multi") if ast.unparse(call.node.func).endswith("asset.multi"))


def _only_dag(file: DagFile) -> Call | None:
    """Return the DAG of a file that creates one, for tasks outside of it."""
    dags = list(calls_of(file, "DAG"))
    return dags[0] if len(dags) == 1 else None


def _tasks(file: DagFile, body: Sequence[ast.AST], dag: Call | None) -> Iterator[Task]:
    for node in body:
        inner = dag
        if isinstance(node, ast.With | ast.AsyncWith):
            calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
            inner = next((_call(file, call) for call in calls if _name(call) == "DAG"), dag)
        elif isinstance(node, ast.FunctionDef):
            calls = [decorator for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
            inner = next((_call(file, call) for call in calls if _name(call) == "dag"), dag)
        elif isinstance(node, ast.Call):
            yield from _task(file, node, dag)
        yield from _tasks(file, list(ast.iter_child_nodes(node)), inner)


def _task(file: DagFile, node: ast.Call, dag: Call | None) -> Iterator[Task]:
    match node.func:
        case ast.Attribute(attr="partial", value=ast.Name(id=name)) if name in file.kinds:
            yield Task(file.kinds[name], _call(file, node), dag, is_mapped=True)
        case ast.Name(id=name) if name in file.kinds:
            yield Task(file.kinds[name], _call(file, node), dag)


def _call(file: DagFile, node: ast.Call) -> Call:
    keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    for keyword in node.keywords:
        spread = file.value(keyword.value) if keyword.arg is None else None
        if isinstance(spread, ast.Dict):
            for key, value in zip(spread.keys, spread.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    keywords.setdefault(key.value, value)
    if "default_args" in keywords:
        keywords["default_args"] = file.value(keywords["default_args"]) or keywords["default_args"]
    return Call(node, keywords)


def _name(call: ast.Call) -> str | None:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


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
        """Return the module that a name means: `assets`, or `shop.assets` as it was imported."""
        name = ast.unparse(node)
        match file.imports.get(name):
            case Imported(module, None, level):
                return self._find(file, module, level)
            case Imported(module, member, level):
                return self._find(file, f"{module}.{member}" if module else str(member), level)
        return None

    def _find(self, file: DagFile, module: str, level: int) -> DagFile | None:
        """Return a module as a file imports it: from its own package, or from a parent folder from which Airflow may
        import."""
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
