"""The lint for words, which `make style` runs over all texts, finds what it lists."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

LINT = Path(__file__).parents[2] / ".ci" / "words.py"


@pytest.fixture(scope="module")
def words() -> ModuleType:
    spec = importlib.util.spec_from_file_location("arroyo_words", LINT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_words_are_found_across_the_end_of_a_line(words: ModuleType) -> None:
    [hit] = words.hits_in_text("page.md", "one\nIt is run\nany\nmore\n")

    assert (hit.path, hit.line, hit.words) == ("page.md", 3, "any more")


def test_strings_of_a_module_are_checked_and_its_names_are_not(words: ModuleType) -> None:
    source = 'CODE = "withheld"\nraise ValueError("nobody is there")\n'

    assert [(hit.line, hit.words) for hit in words.hits_in_module("module.py", source)] == [(2, "nobody")]


def test_a_docstring_of_a_function_begins_with_a_verb(words: ModuleType) -> None:
    source = 'def wrong() -> None:\n    """What it is."""\n\n\ndef right() -> None:\n    """Return it."""\n'

    assert [(hit.line, hit.words) for hit in words.hits_in_module("module.py", source)] == [(2, "What")]


@pytest.mark.parametrize(
    "first", ["The file of it.", "Back from there.", "Why it fails.", "Nothing is lost.", "Spark's own."]
)
def test_a_docstring_of_a_function_begins_with_no_other_word(words: ModuleType, first: str) -> None:
    source = f'async def wrong() -> None:\n    """{first}"""\n'

    assert [hit.words for hit in words.hits_in_module("module.py", source)] == [first.split(maxsplit=1)[0]]


def test_a_docstring_of_a_property_fixture_or_class_may_be_a_noun_phrase(words: ModuleType) -> None:
    source = '''
class Table:
    """A table."""

    @property
    def name(self) -> str:
        """The name."""

@pytest.fixture(scope="module")
def table() -> Table:
    """A table."""
'''

    assert not list(words.hits_in_module("module.py", source))
