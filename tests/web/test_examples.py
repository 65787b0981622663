"""The examples of the editor are scripts that are accepted. Those that need nothing show their rows."""

import re
from pathlib import Path

import pytest

from engine.compile import compile_script
from engine.udf.declared import UdfFile

FOLDER = Path(__file__).parents[2] / "engine" / "web" / "src" / "examples"
NEEDY = {"cdc", "files", "kafka-orders"}
"""Those that need a broker or a directory, which the gallery says."""
EXAMPLES = sorted(FOLDER.glob("*.sql"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_accepted_and_shows_its_rows(path: Path) -> None:
    text = path.read_text()
    function = re.search(r"(?:^--   .*\n|^--\n)+", text, re.MULTILINE)
    compile_script(text, udfs=[UdfFile("shout", _uncommented(function[0]))] if function else [])

    if path.stem in NEEDY:
        return
    assert "connector = 'nexmark'" in text or "connector = 'impulse'" in text
    assert text.count("connector = ") == 2
    assert "connector = 'preview'" in text


def test_every_example_is_in_the_gallery() -> None:
    gallery = (FOLDER / "index.ts").read_text()

    assert len(EXAMPLES) >= 4
    assert [path.name for path in EXAMPLES if f'"./{path.name}?raw"' not in gallery] == []


def _uncommented(lines: str) -> str:
    """The text of a function that an example has in its comment."""
    return re.sub(r"^--(?:   )?", "", lines, flags=re.MULTILINE)
