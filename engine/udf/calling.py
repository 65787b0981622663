"""Call user-defined functions over Arrow arrays, in a task. This is the only place that runs user code.

f(x: int) over x = [1, NULL, 3], `when` = [true, true, false]
called for row 0 only    a NULL argument for a parameter without None gives NULL, and row 2 is not needed
results                  [f(1)], taken at indices [0, NULL, NULL]: [f(1), NULL, NULL]
"""

from __future__ import annotations

import asyncio
import dataclasses
import linecache
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any

from engine import udf as decorators
from engine.errors import EngineError, UdfFailedError, UdfLoadError, UdfResultError, UdfTimeoutError
from engine.schema import to_arrow
from engine.types import Array, Struct, Type
from engine.udf.declared import Hint, Udf, UdfFile, Waiting

if TYPE_CHECKING:
    import pyarrow as pa


def aggregate_lists(function: Udf, groups: pa.Array) -> pa.Array:
    """Return the aggregate of each group. A group is a list of rows, a row a struct with a member for each
    parameter; a row with NULL for a parameter that takes none is left out."""
    target = load(function)
    needed = [index for index, (_, hint) in enumerate(function.parameters) if not hint.optional]
    answers: list[Any] = []
    for group in _groups(function, groups):
        columns = _without_null_aggregating(group, needed)
        try:
            answers.append(_by_rows(target, columns) if function.is_class else target(*columns))
        except (Exception, SystemExit) as error:
            raise explain(function, error) from error
    return to_array(function, answers)


def _without_null_aggregating(columns: list[list[Any]], needed: list[int]) -> list[list[Any]]:
    """Return the columns without the rows that have None in one of those needed."""
    positions = [index for index in needed if index < len(columns)]
    if not any(None in columns[index] for index in positions):
        return columns
    rows = [row for row in zip(*columns, strict=True) if all(row[index] is not None for index in positions)]
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]


def _by_rows(target: Any, columns: list[list[Any]]) -> Any:
    state = target()
    for row in zip(*columns, strict=True):
        state.add(*row)
    return state.finish()


def _groups(function: Udf, groups: pa.Array) -> Iterator[list[list[Any]]]:
    """Yield the columns of each group. A group that is NULL has no rows."""
    offsets = groups.offsets.to_pylist()
    rows = groups.values
    columns = list(zip(rows.flatten(), (hint for _, hint in function.parameters), strict=False))
    for start, end in pairwise(offsets):
        yield [values_of(function, column.slice(start, end - start), hint) for column, hint in columns]


def call_udf(function: Udf, columns: Sequence[pa.Array], when: pa.Array | None = None) -> pa.Array:
    """Return the function's value for each row. It is NULL without a call where `when` is not true, and where NULL
    comes for a parameter that takes none."""
    import pyarrow as pa  # noqa: PLC0415 - only tasks need Arrow
    import pyarrow.compute as pc  # noqa: PLC0415

    called = _rows_to_call(function, columns, when)
    if called is None:
        return _compute(function, columns)
    rows = pc.indices_nonzero(called)
    if not len(rows):
        return pa.nulls(len(called), to_arrow(function.type))
    results = _compute(function, [column.take(rows) for column in columns])
    # row i of the answer is at the number of calls up to i, where there was one
    places = pc.subtract(pc.cumulative_sum(called.cast(pa.int64())), 1)
    return results.take(pc.if_else(called, places, None))


def _rows_to_call(function: Udf, columns: Sequence[pa.Array], when: pa.Array | None) -> pa.Array | None:
    """Return the rows for which the function is called; None means all."""
    import pyarrow.compute as pc  # noqa: PLC0415 - see `call_udf`

    called = None if when is None else pc.fill_null(when, False)
    for column, (_, hint) in zip(columns, function.parameters, strict=False):
        if column.null_count and not hint.optional:
            is_valid = column.is_valid()
            called = is_valid if called is None else pc.and_(called, is_valid)
    return called


def _compute(function: Udf, columns: Sequence[pa.Array]) -> pa.Array:
    if function.kind == "vectorized":
        return _compute_vectorized(function, columns)
    target = load(function)
    hints = [hint for _, hint in function.parameters]
    rows = zip(*(values_of(function, column, hint) for column, hint in zip(columns, hints, strict=False)), strict=True)
    if function.kind == "async":
        return to_array(function, call_async(function, target, rows))
    if function.kind == "table":
        return to_array(function, _attempt(function, lambda: [list(_rows_or_none(target(*row))) for row in rows]))
    return to_array(function, _attempt(function, lambda: [target(*row) for row in rows]))


def _rows_or_none(rows: Any) -> Any:
    return () if rows is None else rows


def _attempt(function: Udf, work: Callable[[], list[Any]]) -> list[Any]:
    try:
        return work()
    except (Exception, SystemExit) as error:
        raise explain(function, error) from error


def _compute_vectorized(function: Udf, columns: Sequence[pa.Array]) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415 - see `call_udf`

    target = load(function)
    try:
        result = target(*columns)
    except (Exception, SystemExit) as error:
        raise explain(function, error) from error
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if not isinstance(result, pa.Array):
        raise _wrong(function, f"returned {type(result).__name__}, which is not a pyarrow Array")
    if len(result) != len(columns[0]):
        raise _wrong(function, f"returned {len(result)} values for {len(columns[0])} rows")
    try:
        result = result.cast(to_arrow(function.type))
    except pa.ArrowException:
        raise _wrong(function, f"returned {result.type}, which cannot be converted to {function.result.type}") from None
    return _without_null(function, result)


def to_array(function: Udf, values: list[Any]) -> pa.Array:
    """Convert the function's results to an array of its type. Raise UdfResultError if a result has another type."""
    import pyarrow as pa  # noqa: PLC0415 - see `call_udf`

    kind = to_arrow(function.type)
    if _has_struct(function.type):
        values = [_as_dicts(value) for value in values]
    try:
        array = pa.array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise _wrong(function, _offence(values, kind, error)) from None
    return _without_null(function, array)


def _has_struct(kind: Type) -> bool:
    return isinstance(kind, Struct) or (isinstance(kind, Array) and _has_struct(kind.element))


def _as_dicts(value: Any) -> Any:
    """Return the value with every instance of a class with fields converted to a dict, at any depth."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _as_dicts(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    match value:
        case dict():
            return {name: _as_dicts(member) for name, member in value.items()}
        case list() | tuple():
            return [_as_dicts(element) for element in value]
    return value


def values_of(function: Udf, column: pa.Array, hint: Hint) -> list[Any]:
    """Return the values of a column as the function takes them."""
    values: list[Any] = column.to_pylist()
    if hint.class_name is None:
        return values
    kind = load_class(function, hint.class_name)
    return [None if value is None else kind(**value) for value in values]


def _without_null(function: Udf, array: pa.Array) -> pa.Array:
    may = function.result.optional or function.kind == "table"
    if array.null_count and not may and not (function.waiting and function.waiting.gives_null):
        raise _wrong(function, "returned None, but its result is not Optional")
    return array


def _offence(values: list[Any], kind: pa.DataType, error: Exception) -> str:
    """Return the first value that is not of the type, by its own type: values themselves stay out of errors."""
    import pyarrow as pa  # noqa: PLC0415 - see `call_udf`

    for value in values:
        try:
            pa.array([value], kind)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            return f"returned a value of type {type(value).__name__}, which cannot be converted to {kind}"
    return f"returned values that cannot be converted to {kind}: {shorten(error)}"


def _wrong(function: Udf, complaint: str) -> UdfResultError:
    return UdfResultError(
        f"{function.name}, {function.file.name}:{function.line}: the function {complaint}",
        hint="correct the type hint or the function",
    )


def call_async(function: Udf, target: Any, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Call the function for each row and return the results in the order of the rows. At most the allowed number of
    calls run at once; a call that takes too long gives NULL or stops the run."""
    assert function.waiting is not None
    return _loop().run_until_complete(_gather(function, target, list(rows), function.waiting))


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop, which outlives the batch, so that connections of the user's code stay open."""
    return asyncio.new_event_loop()


async def _gather(function: Udf, target: Any, rows: list[tuple[Any, ...]], waiting: Waiting) -> list[Any]:
    answers: list[Any] = [None] * len(rows)
    queue = iter(enumerate(rows))

    async def work() -> None:
        for index, row in queue:
            answers[index] = await _call_once(function, target, row, waiting)

    workers = [asyncio.ensure_future(work()) for _ in range(min(waiting.max_in_flight, len(rows)))]
    try:
        await asyncio.gather(*workers)
    except EngineError:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        raise
    return answers


async def _call_once(function: Udf, target: Any, row: tuple[Any, ...], waiting: Waiting) -> Any:
    clock = asyncio.timeout(waiting.timeout.total_seconds())
    try:
        async with clock:
            return await target(*row)
    except (Exception, SystemExit) as error:
        if not clock.expired():
            raise explain(function, error) from error
        if waiting.gives_null:
            return None
        seconds = f"{waiting.timeout.total_seconds():g}"
        raise UdfTimeoutError(
            f"{function.name}, {function.file.name}:{function.line}: the call takes longer than {seconds} s",
            hint="set a longer timeout, or on_timeout='null'",
        ) from error


_MAX_CHARACTERS = 300
"""Length limit of an exception's text: it may contain rows, and errors are stored with the job."""
_MODULE_PREFIX = "arroyo_functions_"


@cache
def load(function: Udf) -> Any:
    """Return the function or class itself; its file is run once in a process. Raises UdfLoadError."""
    module = _module(function.file)
    target = getattr(module, function.name, None)
    if not callable(target):
        raise UdfLoadError(
            f"{function.file.name}: {function.name} no longer exists once the file has run",
            hint="do not delete or assign the name in the file",
        )
    return target


def load_class(function: Udf, name: str) -> Any:
    """Return a class of the function's file."""
    return getattr(_module(function.file), name)


def is_user_module(module: str) -> bool:
    """Whether a module is a file of the user's, at any time."""
    return module.startswith(_MODULE_PREFIX)


def explain(function: Udf, error: BaseException) -> UdfFailedError:
    """Wrap an exception of the user's function: its place and its message, cut short."""
    return UdfFailedError(
        f"{function.name}, {_where(function.file, error)}: {shorten(error)}",
        hint="an exception stops the run: catch it in the function, and return None if a missing value will do",
    )


def shorten(error: BaseException) -> str:
    """Return an exception in one short line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + '...'}"


@cache
def _module(file: UdfFile) -> ModuleType:
    name = f"{_MODULE_PREFIX}{file.digest}"
    shown = _file_name(file)
    sys.modules.setdefault("arroyo_udf", decorators)  # files written for Arroyo name it
    module = ModuleType(name)
    module.__file__ = shown
    linecache.cache[shown] = (len(file.text), None, file.text.splitlines(keepends=True), shown)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        exec(compile(file.text, shown, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - it is what UDFs are
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UdfLoadError(
            f"{_where(file, error)}: {shorten(error)}", hint="the file itself raised it, before any function was called"
        ) from error
    return module


def _file_name(file: UdfFile) -> str:
    return f"<{file.name}>"


def _where(file: UdfFile, error: BaseException) -> str:
    """Return the innermost line of the file that the exception passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == _file_name(file)]
    return f"{file.name}:{lines[-1]}" if lines else file.name
