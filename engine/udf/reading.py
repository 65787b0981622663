"""Parse the declarations in a file of functions. The file is user code and never run here.

from engine.udf import udf                        a decorator of ours, by whatever name it is imported
@udf(timeout="2s", on_timeout="null")             Waiting(1000 calls, 2 seconds, NULL)
async def price(sku: str, day: date | None): ...  parameters sku TEXT, day DATE, which may be NULL
... without `->`                                  refused, "price: the result has no type hint"
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from engine.errors import (
    EngineError,
    ScriptRefused,
    UdfNameError,
    UdfSignatureError,
    UdfSyntaxError,
    message_of,
)
from engine.functions import find_aggregate, find_function
from engine.udf.declared import NO_UDFS, Hint, Kind, Udf, UdfFile, Udfs, Waiting
from engine.udf.requirements import check_header
from engine.udf.type_hints import KNOWN, LISTS, ROWS, HintError, element_of, read_hint
from engine.values.durations import read_duration

MAX_BYTES = 1024 * 1024
"""Largest file. The parser uses some hundred bytes of memory per byte, and the compiler runs in a server."""
_MARKS = frozenset({"udf", "udaf", "udtf"})
_HOMES = frozenset({"engine.udf", "arroyo_udf"})
"""Modules of the decorators; the second is Arroyo's name."""
_WINDOWS = frozenset({"tumble", "hop", "session"})
_OPTIONS: Mapping[str, Mapping[str, type]] = {
    "udf": {"vectorized": bool, "ordered": bool, "max_in_flight": int, "timeout": str, "on_timeout": str},
    "udaf": {"state_version": int},
    "udtf": {},
}
"""Options of each decorator."""
_METHODS = frozenset({"add", "merge", "retract", "finish"})
"""Methods of an aggregate class."""
_FOR_ASYNC = frozenset({"ordered", "max_in_flight", "timeout", "on_timeout"})


def read_udfs(files: Sequence[UdfFile]) -> Udfs:
    """Return all functions of the files. Raise ScriptRefused with all errors."""
    complaints: list[EngineError] = []
    functions: dict[str, Udf] = {}
    for file in files:
        try:
            for function in _Reader(file, complaints).functions():
                namesake = functions.get(function.name.lower())
                if namesake is not None:
                    place = _at(namesake.file, namesake.line)
                    raise UdfNameError(
                        f"{_at(file, function.line)}: function {function.name!r} is already defined in {place}",
                        hint="function names are not case-sensitive",
                    )
                functions[function.name.lower()] = function
            check_header(file)
        except EngineError as error:
            complaints.append(error)
    if complaints:
        raise ScriptRefused(complaints)
    return Udfs(functions) if functions else NO_UDFS


def _at(file: UdfFile, line: int) -> str:
    return f"{file.name}:{line}"


@dataclass(frozen=True, slots=True)
class _Mark:
    """A decorator of ours with its arguments."""

    name: str
    options: Mapping[str, Any]


class _Reader:
    """Parses one file; an error in one function does not hide errors in others."""

    def __init__(self, file: UdfFile, complaints: list[EngineError]) -> None:
        self.file, self.complaints = file, complaints
        self.tree = self._parse()
        self.classes = {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}
        self.marks = dict(_decorator_names(self.tree))

    def functions(self) -> Iterator[Udf]:
        """Yield the marked functions of the file."""
        count = 0
        for node in self.tree.body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            try:
                mark = self._mark(node)
                if mark is None:
                    continue
                function = self._read(node, mark)
                count += 1
                yield function
            except (HintError, EngineError) as error:
                count += 1
                self.complaints.append(self._complaint(node, error))
        if not count:
            raise UdfSyntaxError(
                f"{self.file.name}: no function is marked with @udf, @udaf or @udtf",
                hint="begin with: from engine.udf import udf",
            )

    def _complaint(self, node: _Definition, error: Exception) -> EngineError:
        if isinstance(error, UdfNameError):
            return error
        hint = error.hint if isinstance(error, EngineError) else f"a type hint is {KNOWN}"
        return UdfSignatureError(f"{_at(self.file, node.lineno)}: {node.name}: {error.args[0]}", hint=hint)

    def _parse(self) -> ast.Module:
        if len(self.file.text.encode(errors="surrogatepass")) > MAX_BYTES:
            raise UdfSyntaxError(f"{self.file.name} is longer than 1 MiB", hint="move part of it into a package")
        try:
            with warnings.catch_warnings(action="ignore"):
                return ast.parse(self.file.text)
        except SyntaxError as error:
            raise UdfSyntaxError(
                f"{_at(self.file, error.lineno or 1)}: {error.msg}", hint="the file is not valid Python"
            ) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise UdfSyntaxError(f"{self.file.name} cannot be read: {message_of(error)}") from None

    def _mark(self, node: _Definition) -> _Mark | None:
        marks = [mark for decorator in node.decorator_list if (mark := self._as_mark(decorator)) is not None]
        if len(marks) > 1:
            raise UdfSignatureError("the function has more than one mark", hint="keep one of @udf, @udaf and @udtf")
        return marks[0] if marks else None

    def _as_mark(self, node: ast.expr) -> _Mark | None:
        called = node.func if isinstance(node, ast.Call) else node
        name = self.marks.get(ast.unparse(called))
        if name is None:
            return None
        return _Mark(name, _options(node, name) if isinstance(node, ast.Call) else {})

    def _read(self, node: _Definition, mark: _Mark) -> Udf:
        self._check_name(node)
        if isinstance(node, ast.ClassDef):
            if mark.name != "udaf":
                hint = "a class with add and finish is a @udaf"
                raise UdfSignatureError(f"a class cannot be a @{mark.name}", hint=hint)
            return self._incremental(node, mark)
        is_async = isinstance(node, ast.AsyncFunctionDef)
        _check_options(mark, is_async=is_async)
        match mark.name:
            case "udaf":
                return self._of_lists(node, mark)
            case "udtf":
                return self._of_rows(node)
        kind: Kind = "async" if is_async else "vectorized" if mark.options.get("vectorized") else "row"
        result = self._result(node)
        parameters, defaults = self._parameters(node.args)
        waiting = _read_waiting(mark.options) if is_async else None
        return Udf(node.name, kind, self.file, node.lineno, parameters, result, defaults, waiting)

    def _check_name(self, node: _Definition) -> None:
        name = node.name.lower()
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,99}", node.name):
            raise UdfSignatureError("a name may have only letters, digits and _", hint="rename it")
        if find_function(name) or find_aggregate(name) or name in _WINDOWS | {"unnest"}:
            raise UdfNameError(
                f"{_at(self.file, node.lineno)}: SQL already has a function {name!r}",
                hint="built-in functions cannot be replaced: rename yours",
            )

    def _parameters(self, arguments: ast.arguments, *, skip: int = 0) -> tuple[tuple[tuple[str, Hint], ...], int]:
        """Return the parameters behind the first `skip`, and how many of them have a default."""
        parameters = [*arguments.posonlyargs, *arguments.args][skip:]
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            raise UdfSignatureError(
                "*, ** and keyword-only parameters cannot be used from SQL", hint="name each parameter"
            )
        if not parameters:
            raise UdfSignatureError("the function has no parameters", hint="a function needs at least one parameter")
        return tuple((parameter.arg, self._hint(parameter.arg, parameter.annotation)) for parameter in parameters), len(
            arguments.defaults
        )

    def _hint(self, name: str, node: ast.expr | None) -> Hint:
        if node is None:
            raise UdfSignatureError(f"{name} has no type hint", hint=f"a type hint is {KNOWN}")
        return read_hint(node, self.classes)

    def _result(self, node: _Function) -> Hint:
        return self._hint("the result", node.returns)

    def _of_lists(self, node: _Function, mark: _Mark) -> Udf:
        parameters: list[tuple[str, Hint]] = []
        self._parameters(_without_hints(node.args))
        for parameter in (*node.args.posonlyargs, *node.args.args):
            inside = None if parameter.annotation is None else element_of(parameter.annotation, LISTS)
            if inside is None:
                raise UdfSignatureError(
                    f"{parameter.arg} is not a list: for a UDAF, all arguments must be lists",
                    hint=f"write {parameter.arg}: list[...]; it gets the values of all rows of the group",
                )
            parameters.append((parameter.arg, read_hint(inside, self.classes)))
        if node.args.defaults:
            raise UdfSignatureError("parameters of a UDAF cannot have defaults", hint="remove the defaults")
        return Udf(
            node.name,
            "aggregate",
            self.file,
            node.lineno,
            tuple(parameters),
            self._result(node),
            state_version=mark.options.get("state_version"),
        )

    def _of_rows(self, node: _Function) -> Udf:
        if node.returns is None:
            raise UdfSignatureError("the result has no type hint", hint="write -> Iterator[...] or -> list[...]")
        inside = element_of(node.returns, ROWS)
        if inside is None:
            raise UdfSignatureError(
                f"{ast.unparse(node.returns)} is not a type of several rows",
                hint="write -> Iterator[...] or -> list[...]",
            )
        parameters, defaults = self._parameters(node.args)
        row = read_hint(inside, self.classes)
        return Udf(node.name, "table", self.file, node.lineno, parameters, row, defaults)

    def _incremental(self, node: ast.ClassDef, mark: _Mark) -> Udf:
        methods = {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}
        missing = [name for name in ("add", "finish") if name not in methods]
        if missing:
            raise UdfSignatureError(
                f"the class has no method {missing[0]}", hint="a UDAF class has add(self, ...) and finish(self)"
            )
        parameters, defaults = self._parameters(methods["add"].args, skip=1)
        self._check_methods(methods)
        result = self._result(methods["finish"])
        return Udf(
            node.name,
            "aggregate",
            self.file,
            node.lineno,
            parameters,
            result,
            defaults,
            methods=_METHODS.intersection(methods),
            state_version=mark.options.get("state_version"),
        )

    def _check_methods(self, methods: Mapping[str, ast.FunctionDef]) -> None:
        """Check the methods of an aggregate class: optional ones may be missing, but each one that exists must accept
        the arguments that it is called with."""
        added = len(methods["add"].args.posonlyargs) + len(methods["add"].args.args)
        for name, count, usage in (("retract", added, "the parameters of add"), ("merge", 2, "(self, other)")):
            if name not in methods:
                continue
            arguments = methods[name].args
            if (
                arguments.vararg
                or arguments.kwarg
                or arguments.kwonlyargs
                or len(arguments.posonlyargs) + len(arguments.args) != count
            ):
                raise UdfSignatureError(f"method {name} has the wrong parameters", hint=f"{name} takes {usage}")


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Definition = _Function | ast.ClassDef


def _without_hints(arguments: ast.arguments) -> ast.arguments:
    """Return the parameters, all of them of an innocent type: only their kinds are looked at."""
    plain = [ast.arg(parameter.arg, ast.Name("int")) for parameter in (*arguments.posonlyargs, *arguments.args)]
    return ast.arguments([], plain, arguments.vararg, arguments.kwonlyargs, [], arguments.kwarg, [])


def _decorator_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the spellings of our decorators in the file: `udf`, `u`, `engine.udf.udf`, ..."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=module, names=names) if module in _HOMES:
                yield from ((alias.asname or alias.name, alias.name) for alias in names if alias.name in _MARKS)
            case ast.ImportFrom(module="engine", names=names):
                yield from _marks_of(names)
            case ast.Import(names=names):
                yield from _marks_of([alias for alias in names if alias.name in _HOMES])


def _marks_of(modules: Sequence[ast.alias]) -> Iterator[tuple[str, str]]:
    return ((f"{module.asname or module.name}.{mark}", mark) for module in modules for mark in _MARKS)


def _check_options(mark: _Mark, *, is_async: bool) -> None:
    if is_async and (mark.name != "udf" or mark.options.get("vectorized")):
        raise UdfSignatureError("only a @udf that takes single values can be async", hint="remove async")
    if not is_async and (unfit := sorted(_FOR_ASYNC & set(mark.options))):
        raise UdfSignatureError(
            f"option {unfit[0]} is only for async functions", hint="write async def, or remove the option"
        )


def _options(node: ast.Call, name: str) -> dict[str, Any]:
    known = _OPTIONS[name]
    choices = f"the options are {', '.join(known)}" if known else f"@{name} has none"
    if node.args:
        raise UdfSignatureError(f"options of @{name} must be given by name", hint=choices)
    options: dict[str, Any] = {}
    for keyword in node.keywords:
        option = keyword.arg or "**"
        if option not in known:
            raise UdfSignatureError(f"@{name} has no option {option}", hint=choices)
        try:
            value = ast.literal_eval(keyword.value)
        except ValueError:
            raise UdfSignatureError(f"{option} must be a constant", hint="the file is read and not run") from None
        if type(value) is not known[option]:
            raise UdfSignatureError(f"{option} must be {known[option].__name__}, not {value!r}")
        options[option] = value
    return options


def _read_waiting(options: Mapping[str, Any]) -> Waiting:
    timeout = read_duration(options.get("timeout", "5s"))
    at_once, then = options.get("max_in_flight", 1000), options.get("on_timeout", "error")
    if timeout <= timedelta(0):
        raise UdfSignatureError("timeout must be greater than zero", hint="write timeout='5s'")
    if at_once < 1:
        raise UdfSignatureError("max_in_flight must be greater than zero", hint="write max_in_flight=1000")
    if then not in ("error", "null"):
        raise UdfSignatureError(f"on_timeout must be 'error' or 'null', not {then!r}")
    return Waiting(at_once, timeout, then == "null")
