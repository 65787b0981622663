"""Compare the requirements of a file of functions (a PEP 723 header) with the installed packages.

Decorators for user-defined functions. The parser of the file (`engine.udf.reading`) interprets them; at run time
they return the function unchanged, so that it can be called and tested.
"""

from __future__ import annotations

import platform
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from engine.errors import EngineError, ScriptRefused, UdfDependenciesError, UdfSyntaxError, message_of
from engine.udf.declared import UdfFile

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

_BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
"""Pattern of PEP 723."""


def check_requirements(files: Sequence[UdfFile]) -> None:
    """Raise ScriptRefused if a requirement of a file is not installed, with all missing ones."""
    complaints: list[EngineError] = []
    for file in files:
        try:
            missing = list(_unmet(header_of(file), file))
        except EngineError as error:
            complaints.append(error)
            continue
        if missing:
            complaints.append(
                UdfDependenciesError(
                    f"{file.name} needs {'; '.join(missing)}",
                    hint="install it where the pipeline runs, or change the header of the file",
                )
            )
    if complaints:
        raise ScriptRefused(complaints)


def header_of(file: UdfFile) -> dict[str, Any]:
    """Return the declarations in the header of a file; empty without a header."""
    blocks = [header["content"] for header in _BLOCK.finditer(file.text + "\n") if header["type"] == "script"]
    if len(blocks) > 1:
        raise UdfSyntaxError(f"{file.name} has more than one `# /// script` header", hint="keep one")
    if not blocks:
        return {}
    text = "".join(line[2:] if line.startswith("# ") else line[1:] for line in blocks[0].splitlines(keepends=True))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UdfSyntaxError(f"{file.name}: its `# /// script` header is not valid TOML: {message_of(error)}") from None


def check_header(file: UdfFile) -> None:
    """Refuse a header that is none as PEP 723 has it, whether what it asks for is here or not."""
    if header := header_of(file):
        _read(header, file)


def needs_of(file: UdfFile) -> tuple[str, ...]:
    """Return the Python and the packages that a file asks for, the same however its header spells them; nothing when
    it has no header. A state keeps it, so that it must not depend on the version of what reads it."""
    if not (header := header_of(file)):
        return ()
    python, packages = _read(header, file)
    needs = {_spell(package) for package in packages} | ({f"Python {_spell_versions(python)}"} if python else set())
    return tuple(sorted(needs))


def _read(header: Mapping[str, Any], file: UdfFile) -> tuple[SpecifierSet | None, list[Requirement]]:
    """Return the Python and the packages that a header asks for."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 - few files have a header
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415

    python, packages = header.get("requires-python", ""), header.get("dependencies", [])
    if not isinstance(python, str):
        raise _unreadable(file, "requires-python is not a text")
    if not (isinstance(packages, list) and all(isinstance(package, str) for package in packages)):
        raise _unreadable(file, "dependencies is not a list of texts")
    try:
        return SpecifierSet(python) if python.strip() else None, [Requirement(package) for package in packages]
    except (InvalidRequirement, InvalidSpecifier) as error:
        raise _unreadable(file, message_of(error)) from None


def _unreadable(file: UdfFile, reason: str) -> UdfSyntaxError:
    return UdfSyntaxError(f"{file.name}: its header cannot be read: {reason}", hint="see PEP 508")


def _spell(package: Requirement) -> str:
    from packaging.utils import canonicalize_name  # noqa: PLC0415 - few files have a header

    extras = ",".join(sorted(map(canonicalize_name, package.extras)))
    name = canonicalize_name(package.name) + (f"[{extras}]" if extras else "")
    place = f" @ {package.url}" if package.url else ""
    return f"{name}{_spell_versions(package.specifier)}{place}{f'; {package.marker}' if package.marker else ''}"


def _spell_versions(versions: SpecifierSet) -> str:
    return ",".join(sorted(map(str, versions)))


def _unmet(header: Mapping[str, Any], file: UdfFile) -> Iterator[str]:
    if not header:
        return
    python, packages = _read(header, file)
    if python is not None and not python.contains(platform.python_version(), prereleases=True):
        yield f"Python {python}, but this is {platform.python_version()}"
    for package in packages:
        if package.marker is None or package.marker.evaluate():
            yield from _unmet_requirement(package.name, package.specifier)


def _unmet_requirement(name: str, specifier: SpecifierSet) -> Iterator[str]:
    try:
        installed = version(name)
    except PackageNotFoundError:
        yield f"{name}{specifier}, which is not installed"
        return
    if not specifier.contains(installed, prereleases=True):
        yield f"{name}{specifier}, but {installed} is installed"


Marked = TypeVar("Marked", bound=Callable[..., Any])


@overload
def udf(function: Marked, /) -> Marked: ...
@overload
def udf(
    *,
    vectorized: bool = False,
    ordered: bool = True,
    max_in_flight: int = 1000,
    timeout: str = "5s",
    on_timeout: Literal["error", "null"] = "error",
) -> Callable[[Marked], Marked]: ...
def udf(function: Any = None, /, **_options: object) -> Any:
    """Return a function of the values of a row. A `vectorized` one gets and gives Arrow arrays. Of an `async` one up to
    `max_in_flight` calls are under way in each task, and each may take as long as `timeout`."""
    return _keep if function is None else function


@overload
def udaf(function: Marked, /) -> Marked: ...
@overload
def udaf(*, state_version: int) -> Callable[[Marked], Marked]: ...
def udaf(function: Any = None, /, **_options: object) -> Any:
    """Return a function of all rows of a group: one of lists, or a class with `add` and `finish`. As long as its
    `state_version` stays, other code of it goes on with what this one keeps."""
    return _keep if function is None else function


def udtf(function: Marked, /) -> Marked:
    """Return a function that gives any number of rows for each row."""
    return function


def _keep(function: Any) -> Any:
    return function
