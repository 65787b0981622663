"""Every failure has a message, whatever the class of the exception behind it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PythonException

from engine.checkpoints.layout import StatePaths
from engine.spark.run.failures import explain_failure

HEAD = "An exception was thrown from the Python worker:\n"
TRACEBACK = """Traceback (most recent call last):
  File "/env/lib/pyspark/worker.py", line 100, in main
    process()
  File "/env/lib/engine/arrow/evaluate.py", line 79, in _first_true
    is_true = pc.fill_null(evaluate(condition, inside), False)
"""


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        ("pyarrow.lib.ArrowInvalid: Array type doesn't match", "pyarrow.lib.ArrowInvalid: Array type doesn't match"),
        ("KeyError: 'at'", "KeyError: 'at'"),
        ("AssertionError", "AssertionError in line 79 of evaluate.py"),
        ("StopIteration", "StopIteration in line 79 of evaluate.py"),
    ],
)
def test_the_exception_of_a_python_worker_is_the_message(raised: str, message: str, tmp_path: Path) -> None:
    text = f"[STREAM_FAILED] {HEAD}{TRACEBACK}{raised}\n\tat org.apache.spark.api.python.PythonException(x.scala:1)"

    assert explain_failure(PythonException(text), StatePaths(tmp_path)).message == message


def test_a_failure_without_any_text_names_its_kind(tmp_path: Path) -> None:
    assert explain_failure(PythonException(""), StatePaths(tmp_path)).message == "PythonException"
