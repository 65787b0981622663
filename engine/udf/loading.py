"""Run a file of functions, in a task. This is the only place that runs user code."""

from __future__ import annotations

import linecache
import sys
import traceback
from functools import cache
from types import ModuleType
from typing import Any

from engine import udf as decorators
from engine.errors import UdfFailedError, UdfLoadError
from engine.udf.declared import Udf, UdfFile

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
