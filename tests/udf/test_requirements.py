"""The header of a file of functions is held against what is installed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import ScriptRefused
from engine.udf.declared import UdfFile
from engine.udf.reading import read_udfs
from engine.udf.requirements import check_requirements

FUNCTION = "from engine.udf import udf\n@udf\ndef half(x: int) -> int: return x // 2\n"


def header(*lines: str) -> UdfFile:
    return UdfFile("own.py", "\n".join(["# /// script", *(f"# {line}" for line in lines), "# ///", "x = 1"]))


def complaints(file: UdfFile) -> list[str]:
    with pytest.raises(ScriptRefused) as refusal:
        check_requirements([file])
    return [f"{complaint.code} {complaint.message}" for complaint in refusal.value.complaints]


def test_installed_requirements_are_sufficient() -> None:
    check_requirements(
        [UdfFile("own.py", "x = 1"), header('requires-python = ">=3.11"', 'dependencies = ["pyarrow>=10"]')]
    )


def test_all_that_is_missing_is_listed() -> None:
    requirements = '["no-such-package>=2", "pyarrow<1", "pytest", "other; python_version < \'3\'"]'

    [complaint] = complaints(header(f"dependencies = {requirements}"))

    assert complaint.startswith(
        "udf.missing_dependencies own.py needs no-such-package>=2, which is not installed; pyarrow<1, but "
    )
    assert "other" not in complaint


def test_another_python_is_missing_too() -> None:
    assert complaints(header('requires-python = "<3"'))[0].startswith("udf.missing_dependencies own.py needs Python <3")


@pytest.mark.parametrize(
    "line",
    [
        "dependencies = [",
        'dependencies = ["???"]',
        "dependencies = 5",
        "dependencies = [5]",
        'dependencies = "numpy"',
        'requires-python = "x"',
        "requires-python = 3.11",
    ],
)
def test_a_header_that_cannot_be_read_is_refused(line: str) -> None:
    file = replace(header(line), text=f"{header(line).text}\n{FUNCTION}")

    assert complaints(file)[0].startswith("udf.syntax own.py: its")
    with pytest.raises(ScriptRefused) as refusal:
        read_udfs([file])
    assert [f"{complaint.code} {complaint.message}" for complaint in refusal.value.complaints] == complaints(file)
