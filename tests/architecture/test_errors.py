"""Every error has a code of its own, a meaning, and a test that names it."""

import ast
import re
from pathlib import Path

from engine.docs.errors import REMEDIES, declared_errors

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


def test_exceptions_of_others_are_shown_by_message_of() -> None:
    """Their text may be empty, or need a JVM that is gone. Our own errors always say something."""
    engine = TESTS.parent / "engine"
    faults = [
        f"{path.relative_to(engine)}:{line}"
        for path in sorted(engine.rglob("*.py"))
        for line in lines_that_show_exceptions(ast.parse(path.read_text()))
        if path != engine / "errors" / "base.py"
    ]

    assert faults == []


def test_bare_texts_of_exceptions_are_found() -> None:
    handlers = [
        "except OSError as error: print(str(error))",
        "except ValueError as why: raise BackupError(f'broken: {why}')",
        "except (EngineError, KeyError) as error: print(str(error))",
        "except OSError as error: print(f'{type(error).__name__}: {error}')",
        "except EngineError as error: print(str(error), f'{error}')",
        "except OSError as error: print(message_of(error))",
    ]
    script = "\n".join(f"try: pass\n{handler}" for handler in handlers)

    assert lines_that_show_exceptions(ast.parse(script)) == [2, 4, 6]


def lines_that_show_exceptions(tree: ast.AST) -> list[int]:
    """Return the lines at which a handler shows an exception that is not ours by `str`, or by itself in a text."""
    lines: list[int] = []
    for handler in ast.walk(tree):
        if isinstance(handler, ast.ExceptHandler) and handler.name and not only_ours(handler.type):
            shown = [bare for node in ast.walk(handler) for bare in bare_texts(node)]
            lines += [name.lineno for name in shown if isinstance(name, ast.Name) and name.id == handler.name]
    return sorted(lines)


def bare_texts(node: ast.AST) -> list[ast.expr]:
    """Return what `str(...)` or an f-string turns into a text as it is, unless a class is named in the same text."""
    match node:
        case ast.Call(func=ast.Name(id="str"), args=[shown]):
            return [shown]
        case ast.JoinedStr(values=values) if "__name__" not in ast.dump(node):
            return [part.value for part in values if isinstance(part, ast.FormattedValue)]
    return []


def only_ours(caught: ast.expr | None) -> bool:
    """Whether all classes that a handler catches are errors of the engine."""
    classes = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    ours = {kind.__name__ for kind in declared_errors()} | {"EngineError"}
    return all(isinstance(kind, ast.Name) and kind.id in ours for kind in classes)


def test_every_error_has_a_remedy_in_the_reference() -> None:
    assert set(REMEDIES) == {kind.code for kind in declared_errors()}
    assert [code for code, remedy in REMEDIES.items() if not remedy.endswith(".")] == []
