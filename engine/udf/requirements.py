"""What a file of functions says it needs, in a PEP 723 header, against what is installed here."""

from __future__ import annotations

import platform
import re
import tomllib
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from engine.errors import EngineError, ScriptRefused, UdfDependenciesError, UdfSyntaxError
from engine.udf.declared import UdfFile

_BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
"""As PEP 723 has it."""


def check_requirements(files: Sequence[UdfFile]) -> None:
    """Raise ScriptRefused when what a file declares is not here, with all that is missing."""
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
    """What the header of a file declares; nothing when it has none."""
    blocks = [header["content"] for header in _BLOCK.finditer(file.text + "\n") if header["type"] == "script"]
    if len(blocks) > 1:
        raise UdfSyntaxError(f"{file.name} has more than one `# /// script` header", hint="keep one")
    if not blocks:
        return {}
    text = "".join(line[2:] if line.startswith("# ") else line[1:] for line in blocks[0].splitlines(keepends=True))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UdfSyntaxError(f"{file.name}: its `# /// script` header is not valid TOML: {error}") from None


def needs_of(file: UdfFile) -> tuple[str, ...]:
    """The Python and the packages that a file asks for, in one spelling and order; nothing when it has no header."""
    if not (header := header_of(file)):
        return ()
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 - few files have a header

    needs = [f"Python {header['requires-python']}"] if "requires-python" in header else []
    for text in header.get("dependencies", []):
        try:
            needs.append(str(Requirement(str(text))))
        except InvalidRequirement:  # refused where it is run
            needs.append(str(text))
    return tuple(sorted(needs))


def _unmet(header: dict[str, Any], file: UdfFile) -> Iterator[str]:
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 - few files have a header
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415

    python, dependencies = header.get("requires-python"), header.get("dependencies", [])
    try:
        if python is not None and not SpecifierSet(python).contains(platform.python_version(), prereleases=True):
            yield f"Python {python}, but this is {platform.python_version()}"
        for requirement in map(Requirement, dependencies):
            if requirement.marker is not None and not requirement.marker.evaluate():
                continue
            yield from _unmet_requirement(requirement.name, requirement.specifier)
    except (InvalidRequirement, InvalidSpecifier, TypeError, AttributeError) as error:
        raise UdfSyntaxError(f"{file.name}: its header cannot be read: {error}", hint="see PEP 508") from None


def _unmet_requirement(name: str, specifier: Any) -> Iterator[str]:
    try:
        installed = version(name)
    except PackageNotFoundError:
        yield f"{name}{specifier}, which is not installed"
        return
    if not specifier.contains(installed, prereleases=True):
        yield f"{name}{specifier}, but {installed} is installed"
