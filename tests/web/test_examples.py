"""The examples of the editor are scripts that are accepted, need nothing from elsewhere, and show their rows."""

from pathlib import Path

import pytest

from engine.compile import compile_script

FOLDER = Path(__file__).parents[2] / "engine" / "web" / "src" / "examples"
EXAMPLES = sorted(FOLDER.glob("*.sql"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_accepted_and_shows_its_rows(path: Path) -> None:
    text = path.read_text()
    compile_script(text)

    assert "connector = 'nexmark'" in text or "connector = 'impulse'" in text
    assert text.count("connector = ") == 2
    assert "connector = 'preview'" in text


def test_every_example_is_in_the_gallery() -> None:
    gallery = (FOLDER / "index.ts").read_text()

    assert len(EXAMPLES) >= 4
    assert [path.name for path in EXAMPLES if f'"./{path.name}?raw"' not in gallery] == []
