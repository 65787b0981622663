"""Where files of functions come in: the command line and the control plane. Neither runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.main import main
from engine.control.upgrades.plan_query import plan_query
from engine.errors import ScriptRefused

SCRIPT = """
CREATE TABLE numbers (value BIGINT)
WITH (connector = 'single_file', path = '/nowhere', format = 'json', type = 'source');
SELECT half(value) FROM numbers;
"""
LOUD = "from engine.udf import udf\nopen('{folder}/it_ran', 'w')\n@udf\ndef half(x: int) -> float: return x / 2\n"


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(LOUD.format(folder=tmp_path))
    (tmp_path / "query.sql").write_text(SCRIPT)
    return path


@pytest.mark.parametrize("verb", ["check", "explain"])
def test_a_script_is_looked_at_together_with_its_functions(verb: str, functions: Path) -> None:
    assert main([verb, str(functions.with_name("query.sql")), "--udf", str(functions)]) == 0
    assert not functions.with_name("it_ran").exists()


def test_without_its_functions_a_script_is_refused(functions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(functions.with_name("query.sql"))]) == 2
    assert "there is no function 'half'" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["check", "run"])
def test_error_in_a_udf_file_is_reported_before_the_start(
    verb: str, functions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    functions.write_text("# /// script\n# dependencies = ['no-such-package']\n# ///\n" + functions.read_text())

    assert main([verb, str(functions.with_name("query.sql")), "--udf", str(functions)]) == 2
    assert "udf.missing_dependencies" in capsys.readouterr().err


def test_the_control_plane_reads_functions_and_does_not_run_them(functions: Path) -> None:
    with_them, without = plan_query(SCRIPT, [functions.read_text()]), functions.with_name("it_ran")

    assert "half(value)" in with_them.graph
    assert not without.exists()


def test_the_control_plane_says_what_is_wrong_with_functions() -> None:
    with pytest.raises(ScriptRefused) as refused:
        plan_query(SCRIPT, ["from engine.udf import udf\n@udf\ndef half(x) -> float: ..."])

    assert [complaint.code for complaint in refused.value.complaints] == ["udf.signature"]
    assert refused.value.complaints[0].message.startswith("udf 1:3: half")
