"""Who misspells the name of a function is told the one that it is near, of whatever kind that is."""

from __future__ import annotations

import pytest

from engine.compile import compile_script
from engine.errors import ScriptRefused

pytestmark = pytest.mark.unit
TABLE = "CREATE TABLE o WITH (connector = 'impulse', event_rate = 10);\n"


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ("SELECT count(*) FROM o GROUP BY tumbel(INTERVAL '1 minute')", "tumble"),
        ("SELECT coutn(counter) FROM o GROUP BY tumble(INTERVAL '1 minute')", "count"),
        ("SELECT uper('a') FROM o", "upper"),
    ],
)
def test_an_unknown_name_has_the_nearest_one_as_its_hint(query: str, near: str) -> None:
    with pytest.raises(ScriptRefused) as refused:
        compile_script(TABLE + query)

    assert refused.value.complaints[0].hint == f"did you mean {near!r}?"
