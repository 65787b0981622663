"""Scripts that nobody would write: the corpus, broken at random. Whatever they are, they are read or refused, in two
seconds and one GiB at most.

`python -m tests.corpus.mutations 50000 --seed 7` tries as many as one likes; `test_mutations.py` tries some of them.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import sys
import time
from collections.abc import Callable

from engine.compile import compile_script
from engine.errors import EngineError, ScriptRefused
from tests.corpus.case import all_cases

SLOWEST = 2.0
MOST_BYTES = 1 << 30
"""Of the whole process; Python with all that a script needs takes a third of it."""
WORD = re.compile(r"\s+|--[^\n]*|'[^']*'|\"[^\"]*\"|\w+|.", re.DOTALL)
WITHOUT_PLACE = {"sql.no_query", "sql.too_large"}

TEXTS = [re.sub(r"(?m)^--.*\n", "", case.text) for case in all_cases()]
STATEMENTS = [statement for text in TEXTS for statement in text.split(";") if statement.strip()]
POOL = sorted({word for text in TEXTS for word in WORD.findall(text) if word.strip()})
ODD = [
    "²", "٣", "99999999999999999999999999", "1e999", "-0", "0x", "''", '""', "'\0'", "\0", "\u2028", "\ufeff", "\ud7ff",
    "😀", "ſelect", "K", "$$", "$1", "${x}", "{{ x }}", "/*", "*/", "--", ";", ";;", "::", ":::", "->>", "@>", "|>",
    "\\", "`", "((", "))", "[", "]", "{", "}", "..", ".", ",", "*", "NULL", "NOT", "ARRAY[1]", "ROW(1)", "MAP{1:2}",
    "INTERVAL", "INTERVAL '1'", "INTERVAL '1' DAY TO SECOND", "CAST(1 AS", "EXTRACT(", "CASE", "END", "OVER ()",
    "FILTER", "WITHIN GROUP (ORDER BY 1)", "LATERAL", "UNNEST(x)", "VALUES (1)", "DECIMAL(0,0)", "DECIMAL(-1)",
    "STRUCT<>", "INT[3]", "a.b.c.d.e.f", "x.*", "* EXCEPT (a)", "COUNT(*)", "COUNT()", "sum(DISTINCT 1)", "tumble()",
    "hop('1 s', '0 s')", "session('')", "GROUP BY 0", "GROUP BY ()", "WATERMARK FOR", "METADATA FROM", "'1 month'",
    "GENERATED ALWAYS AS", "'9' * 9999", "= ANY(", "IS", "BETWEEN 1", "IN ()", "LIKE", "AS", "AS \"\"", "RECURSIVE",
    "SET a.b.c = 1", "SET x TO", "(" * 90, ")" * 90, "(" * 3000, "NOT " * 400, "- " * 400, "1+" * 400, "[[" * 200,
    "CASE WHEN " * 120, "a." * 300, "SELECT * FROM (" * 60, "STRUCT<a " * 120, "INT" + "[]" * 300, "CAST(" * 130,
    "WITH a AS (" * 60, "x AND " * 500,
]  # fmt: skip
DECLARED = """
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE s (a TEXT, b BIGINT) WITH (connector = 'blackhole');
CREATE TABLE out WITH (connector = 'blackhole');
CREATE VIEW v AS SELECT tumble('1 minute') AS w, key, count(*) AS n FROM events GROUP BY w, key;
"""

Mutation = Callable[[random.Random, list[str]], None]


def drop(dice: random.Random, words: list[str]) -> None:
    at = dice.randrange(len(words))
    del words[at : at + dice.choice([1, 1, 1, 2, 5])]


def repeat(dice: random.Random, words: list[str]) -> None:
    at = dice.randrange(len(words))
    words.insert(at, words[at])


def swap(dice: random.Random, words: list[str]) -> None:
    first, second = dice.randrange(len(words)), dice.randrange(len(words))
    words[first], words[second] = words[second], words[first]


def put_word(dice: random.Random, words: list[str]) -> None:
    words[dice.randrange(len(words))] = dice.choice(POOL)


def insert_word(dice: random.Random, words: list[str]) -> None:
    words.insert(dice.randrange(len(words)), f" {dice.choice(POOL)} ")


def insert_odd(dice: random.Random, words: list[str]) -> None:
    words.insert(dice.randrange(len(words)), f" {dice.choice(ODD)} ")


def put_odd(dice: random.Random, words: list[str]) -> None:
    words[dice.randrange(len(words))] = dice.choice(ODD)


def cut(dice: random.Random, words: list[str]) -> None:
    del words[dice.randrange(len(words)) :]


def add_statement(dice: random.Random, words: list[str]) -> None:
    words += [";", dice.choice(STATEMENTS), ";"]


def glue(dice: random.Random, words: list[str]) -> None:
    donor = WORD.findall(dice.choice(STATEMENTS))
    words[dice.randrange(len(words)) :] = donor[dice.randrange(len(donor)) :]


MUTATIONS: list[Mutation] = [
    drop, repeat, swap, put_word, put_word, insert_word, insert_word, insert_odd, put_odd, cut, add_statement, glue,
]  # fmt: skip


def mutate(dice: random.Random) -> str:
    """A statement or two of the corpus, with some mutations."""
    words = WORD.findall(";".join(dice.choices(STATEMENTS, k=dice.choice([1, 1, 2, 3]))))
    for _ in range(dice.choice([1, 1, 2, 3, 6])):
        if words:
            dice.choice(MUTATIONS)(dice, words)
    return dice.choice([DECLARED, DECLARED, ""]) + "".join(words)


def faults(script: str) -> str | None:
    """What is wrong with how the script is taken; None when it is read, or refused as it should be."""
    begin = time.process_time()
    try:
        compile_script(script)
    except ScriptRefused as refused:
        wrong = [complaint for complaint in refused.complaints if not is_proper(complaint)]
        if wrong or not refused.complaints:
            return f"not a proper complaint: {wrong!r}"
    except Exception as error:  # noqa: BLE001 - that there is no other is what is tested
        return f"{type(error).__name__}: {str(error)[:200]}"
    took = time.process_time() - begin
    return f"took {took:.1f} s" if took > SLOWEST else None


def is_proper(complaint: EngineError) -> bool:
    """Whether a complaint has a code, a message, and a place where it could have one."""
    return bool(complaint.code and complaint.message.strip() and (complaint.at or complaint.code in WITHOUT_PLACE))


def broken(count: int, seed: int, tell: Callable[[str], None] = lambda _: None) -> list[str]:
    """One script of each kind among `count` that is not taken as it should be, with what is wrong with it."""
    dice = random.Random(seed)
    kinds: dict[str, str] = {}
    for number in range(count):
        script = mutate(dice)
        fault = faults(script)
        if fault is not None:
            kind = re.sub(r"\d+", "", fault)[:80]
            if kind not in kinds:
                tell(f"{number}: {fault}\n{script}\n")
            kinds.setdefault(kind, f"{fault}\n{script}")
    return list(kinds.values())


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - it is what one waits for


def main() -> int:
    """Try as many scripts as are asked for; fewer kinds of fault than one is success."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    begin = time.monotonic()
    kinds = broken(options.count, options.seed, say)
    took = time.monotonic() - begin
    say(f"{options.count} scripts from seed {options.seed} in {took:.0f} s: {len(kinds)} kinds of fault")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
