"""Patterns mean in Java what they mean in Rust and RE2, or are refused with the reason."""

from __future__ import annotations

import random

import pytest
import re2
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from engine.compile import compile_script
from engine.errors import ScriptRefused
from engine.functions.parsers.regex import RegexError, to_java, why_refused
from engine.plan.expressions.conditions import is_left_to_python
from engine.plan.expressions.expr import Call, Column, Literal
from engine.spark.printers.expressions import to_sql
from engine.spark.workers.register_functions import register_calls
from engine.types import BOOLEAN, TEXT

TRANSLATED = {
    "^[[:digit:]]+$": r"^[0-9]+\z",
    "[^[:alpha:]_]": "[^a-zA-Z_]",
    "[^[:^alpha:]x]": "(?:(?![[^a-zA-Z]x])(?s:.))",
    "(?P<user_id>.)": "(?<userX5FXid>.)",
    "(?m)^a$": r"(?m)(?:^|(?<=\n))a$",
    "a{2,3}?b*": "a{2,3}?b*",
    r"\u{1F600}\x41": r"\x{1F600}\x{41}",
    r"\p{Greek}\P{Lu}\pL\p{^Nd}": r"\p{IsGreek}\P{Lu}\p{L}\P{Nd}",
    r"\v": r"\x0B",
    "[]a-]": r"[\]a\-]",
    "(?u)a": "a",
}
REFUSED = {
    r"(a)\1": "back-references",
    "a(?=b)": "look-around",
    "(?<!b)a": "look-around",
    "(?>a)": "cannot begin with",
    "a*+": "nothing to repeat",
    "*a": "nothing to repeat",
    r"a\Z": r"\\Z is not supported",
    r"\Qa\E": r"\\Q is not supported",
    "a{,3}": "write { as",
    "(a": "not closed",
    "a)": "closes nothing",
    "[a": "not closed",
    "[a--b]": "-- in a class",
    r"\p{Klingon}": "names no class",
    "[[:digits:]]": "no class of characters",
    "a\\": "ends with a backslash",
    r"\xZZ": "hexadecimal",
    "(?U)a": "cannot begin with",
}
TEXTS = (
    "",
    "a",
    "ab1",
    "A_b 9",
    "a\n",
    "a\nb",
    "\nb",
    "x-y]z",
    "aaabbb",
    "12:30",
    "a.b*c",
    " \t",
    "ab\nab\n",
    "(a){2}",
    "^$",
)
PIECES = (
    *(
        "a",
        "b",
        "1",
        "_",
        ".",
        r"\d",
        r"\w",
        r"\s",
        r"\D",
        r"\W",
        r"\.",
        r"\*",
        r"\b",
        "^",
        "$",
        r"\A",
        r"\z",
        " ",
        "-",
        "]",
    ),
    *("[ab]", "[^ab]", "[[:digit:]]", "[[:^space:]]", "[^[:alpha:]]", "[a-z0-9]", r"[\w.-]", "[]x]", "[^]x]", r"[\d_]"),
    *("[[:punct:]]", "[^[:^digit:]b]", r"\x61", r"\x{62}", r"\pL", r"\t"),
)
AGAIN = ("*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "+?", "??")


def random_pattern(chance: random.Random, depth: int = 2) -> str:
    parts: list[str] = []
    for _ in range(chance.randint(1, 4)):
        if depth and chance.random() < 0.3:
            head = chance.choice(("(", "(?:", "(?P<n_1>", "(?i:", "(?s:", "(?m:", "(?im:"))
            inside = "|".join(random_pattern(chance, depth - 1) for _ in range(chance.randint(1, 2)))
            part = head.replace("n_1", f"n_{chance.randrange(10**9)}") + inside + ")"
        else:
            part = chance.choice(PIECES)
        parts.append(part + (chance.choice(AGAIN) if part not in "^$" and chance.random() < 0.3 else ""))
    return "".join(parts)


@pytest.mark.parametrize("pattern", TRANSLATED)
def test_a_pattern_is_translated(pattern: str) -> None:
    assert to_java(pattern).pattern == TRANSLATED[pattern]


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_without_a_counterpart_is_refused_with_the_reason(pattern: str) -> None:
    with pytest.raises(RegexError, match=REFUSED[pattern].replace("{", r"\{").replace("(", r"\(")):
        to_java(pattern)


def test_spaces_and_comments_of_flag_x_are_left_out() -> None:
    assert to_java("a b # both (\n c", "x").pattern == "abc"
    assert why_refused("a b # both (\n c") is None


def test_constant_patterns_have_the_meaning_of_rust_in_spark(spark: SparkSession) -> None:
    matching = {
        ("digit", "^[[:digit:]]+$"): False,
        ("a1", "[[:digit:]]"): True,
        ("abc\n", "c$"): False,
        ("abc\n", "(?m)c$"): True,
        ("a\n", "(?m)^$"): True,
    }
    texts = [Call("~", (Literal(text, TEXT), Literal(pattern, TEXT)), BOOLEAN) for text, pattern in matching]
    named = (Literal("foo42", TEXT), Literal(r"(?P<the_digits>\d)\d*", TEXT), Literal("${the_digits}", TEXT))
    lacking = [
        Call("regexp_replace", (Literal("a-b", TEXT), Literal("(a)", TEXT), Literal(replacement, TEXT)), TEXT)
        for replacement in ("<$1$9>", "<${nope}>", "<\\\\1\\\\2>".replace("\\\\", "\\"), "<$$9>")
    ]
    row = spark.range(1).selectExpr(*map(to_sql, (*texts, Call("regexp_replace", named, TEXT), *lacking))).first()

    assert row is not None
    assert list(row) == [*matching.values(), "foo4", "<a>-b", "<>-b", "<a>-b", "<$9>-b"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("regexp_extract('a', '(a)(b)?', 3)", "the pattern has 2 groups, but group 3 is asked for"),
        ("regexp_extract('a', 'a', 1)", "the pattern has no groups, but group 1 is asked for"),
        ("regexp_extract_all('a', '(a)', -1)", "the pattern has 1 group, but group -1 is asked for"),
    ],
)
def test_a_group_that_the_pattern_lacks_is_refused(call: str, says: str) -> None:
    script = f"CREATE TABLE t WITH (connector = 'impulse', event_rate = 1); SELECT {call} FROM t;"

    with pytest.raises(ScriptRefused, match=says):
        compile_script(script)


def test_random_patterns_of_a_column_match_as_those_of_re2(spark: SparkSession) -> None:
    chance = random.Random(20261129)
    cases: list[tuple[str, str, bool]] = []
    for _ in range(200):
        pattern = random_pattern(chance)
        try:
            expected = re2.compile(pattern)
        except re2.error:
            continue
        cases += [(text, pattern, bool(expected.search(text))) for text in chance.sample(TEXTS, 3)]
    matches = Call("~", (Column("text", TEXT), Column("pattern", TEXT)), BOOLEAN)
    register_calls(spark, [matches])

    rows = spark.createDataFrame(cases, "text STRING, pattern STRING, found BOOLEAN")
    shown = rows.selectExpr("text", "pattern", "found", f"{to_sql(matches)} AS ours").collect()
    assert len(shown) > 400
    assert [(row.text, row.pattern, row.ours) for row in shown if row.found != row.ours] == []


def test_a_pattern_of_a_column_takes_flags_and_null(spark: SparkSession) -> None:
    text, pattern = Column("text", TEXT), Column("pattern", TEXT)
    like = Call("regexp_like", (text, pattern, Literal("ix", TEXT)), BOOLEAN)
    either = Call("!~*", (text, pattern), BOOLEAN)
    register_calls(spark, [like, either])
    rows = [("AB\n", "a b # both"), ("AB\n", "b$"), ("ab", None)]
    frame = spark.createDataFrame(rows, "text STRING, pattern STRING")

    assert [list(row) for row in frame.selectExpr(to_sql(like), to_sql(either)).collect()] == [
        [True, True],
        [False, True],
        [None, None],
    ]


def test_a_refused_pattern_of_a_column_ends_the_run_only_where_it_is_used(spark: SparkSession) -> None:
    matches = Call("~", (Column("text", TEXT), Column("pattern", TEXT)), BOOLEAN)
    register_calls(spark, [matches])
    frame = spark.createDataFrame([("ab", "a(?=b)"), ("ab", "a")], "text STRING, pattern STRING")
    guarded = f"CASE WHEN pattern = 'a' THEN {to_sql(matches)} END"

    assert [row[0] for row in frame.selectExpr(guarded).collect()] == [None, True]
    with pytest.raises(PySparkException, match=r"the regular expression a\(\?=b\) is refused: look-around"):
        frame.selectExpr(to_sql(matches)).collect()


def test_a_pattern_of_a_column_is_translated_in_python_for_the_state_above_windows() -> None:
    column, constant = Column("pattern", TEXT), Literal("a", TEXT)

    assert is_left_to_python(Call("~", (column, column), BOOLEAN))
    assert is_left_to_python(Call("regexp_replace", (column, column, constant), TEXT))
    assert not is_left_to_python(Call("~", (column, constant), BOOLEAN))


def test_random_patterns_match_as_those_of_re2(spark: SparkSession) -> None:
    """RE2 knows ASCII classes alone, so the texts are ASCII."""
    chance = random.Random(20261128)
    compile_java = spark._jvm.java.util.regex.Pattern.compile  # type: ignore[union-attr]  # it runs here
    compared = 0
    for _ in range(400):
        pattern = random_pattern(chance)
        try:
            expected = re2.compile(pattern)
        except re2.error:
            continue
        java = compile_java(f"(?Ud)(?:{to_java(pattern).pattern})")
        for text in chance.sample(TEXTS, 5):
            assert bool(java.matcher(text).find()) == bool(expected.search(text)), (pattern, text)
            compared += 1
    assert compared > 1000
