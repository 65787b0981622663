"""Every error has a code of its own, a meaning, and a test that names it."""

import re
from pathlib import Path

from engine.docs.errors import declared_errors

TESTS = Path(__file__).parents[1]
HERE = Path(__file__).parent

FAMILIES = {"sql.error", "option.error", "data.error", "state.error", "run.error"}
FAMILIES |= {"udf.error", "server.error", "pipeline.error", "savepoint.error", "delivery.error"}
"""Classes that only gather others."""


def words_of_tests() -> set[str]:
    """All class names and codes that the tests say."""
    files = [path for kind in ("*.py", "*.sql") for path in TESTS.rglob(kind) if HERE not in path.parents]
    return {word for path in files for word in re.findall(r"[A-Za-z_]+(?:\.[a-z_]+)?", path.read_text())}


def test_no_two_errors_have_the_same_code() -> None:
    codes = [kind.code for kind in declared_errors()]

    assert sorted(set(codes)) == codes


def test_a_code_is_a_family_and_a_name() -> None:
    assert [kind.code for kind in declared_errors() if not re.fullmatch(r"[a-z]+\.[a-z_]+", kind.code)] == []


def test_every_outage_is_worth_another_try() -> None:
    assert [kind.code for kind in declared_errors() if kind.is_outage and not kind.retryable] == []


def test_every_error_says_in_a_sentence_what_went_wrong() -> None:
    assert [kind.__name__ for kind in declared_errors() if not (kind.__doc__ or "").strip().endswith(".")] == []


def test_every_error_is_met_in_a_test() -> None:
    words = words_of_tests()
    tested_codes = {kind.code for kind in declared_errors() if kind.code in words or kind.__name__ in words}

    assert sorted({kind.code for kind in declared_errors()} - tested_codes - FAMILIES) == []
