"""The examples of the page on functions are functions."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

from engine.errors import UdfError
from engine.udf.calling import aggregate_lists, call_udf
from engine.udf.declared import Udf, UdfFile
from engine.udf.reading import read_udfs
from engine.udf.requirements import check_requirements

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "python-functions.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def functions(text: str) -> dict[str, Udf]:
    file = UdfFile("example.py", text)
    check_requirements([file])
    return dict(read_udfs([file]).by_name)


KNOWN = {name: udf for text in EXAMPLES for name, udf in functions(text).items()}


def arrays(name: str, *columns: list[object]) -> list[object]:
    return list(call_udf(KNOWN[name], [pa.array(column) for column in columns]).to_pylist())


def groups(name: str, *rows: list[dict[str, object]]) -> list[object]:
    return list(aggregate_lists(KNOWN[name], pa.array(rows)).to_pylist())


def test_the_examples_do_what_the_page_says() -> None:
    assert arrays("initials", ["Ada"], ["Lovelace"]) == ["A. L."]
    assert arrays("or_zero", [1, None]) == [1, 0]
    assert arrays("reciprocal", [4.0, 0.0, None]) == [0.25, None, None]
    assert arrays("arrow_version", [1]) == [pa.__version__]
    assert arrays("gross", [100.0, None], [0.5, 0.5]) == [150.0, None]
    assert arrays("slow_double", [1, 2]) == [2, 4]
    assert arrays("words", ["to be"]) == [[{"text": "to", "size": 2}, {"text": "be", "size": 2}]]
    assert groups("weighted_mean", [{"v": 1.0, "w": 1.0}, {"v": 4.0, "w": 2.0}], []) == [3.0, None]
    assert groups("longest", [{"t": "a"}, {"t": "abc"}]) == ["abc"]
    assert groups("total", [{"n": 1}, {"n": 2}], []) == [3, 0]


def test_every_function_of_the_page_is_tried() -> None:
    tried = Path(__file__).read_text()

    assert [name for name in KNOWN if f'"{name}"' not in tried] == []


def test_codes_that_the_page_names_exist() -> None:
    assert set(re.findall(r"`(udf\.\w+)`", PAGE)) <= {udf.code for udf in UdfError.__subclasses__()}
