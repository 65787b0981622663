"""A case of the corpus: a script that a user could have written, whose head says what is expected of it.

    -- A sentence that says what the case is about.
    --: error sql.unknown_column 6:3 there is no column 'nothing' here

What a head can ask for, one or more of:

    --: plan yes                             the plan is the one in the sibling file `.plan`
    --: rows yes                             a run writes, to `$output`, the rows in the sibling file `.rows`
    --: error CODE LINE:COLUMN MESSAGE       all complaints about the script, in order, one a line
    --: notimpl REASON                       we could do it, and have not yet
    --: notyet REASON                        what we stand on cannot do it yet
    --: never REASON                         it is refused by design

A sibling file `.py` holds functions of the user's. In a script `$inputs` is the folder of the inputs. `python -m
tests.corpus.rewrite` writes the errors, plans and rows anew, to be read before they are committed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from engine.compile import Program, compile_script
from engine.errors import ScriptRefused
from engine.udf.declared import UdfFile

HERE = Path(__file__).parent
INPUTS = HERE / "inputs"
MARKS = ("notimpl", "notyet", "never")
QUESTIONS = ("plan", "rows", "error", *MARKS)


@dataclass(frozen=True, slots=True)
class Case:
    """A script and what its head says."""

    path: Path
    text: str
    sentence: str
    asks: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """What the case is called in the output of a run."""
        return str(self.path.relative_to(HERE / "cases").with_suffix(""))

    @property
    def errors(self) -> list[str]:
        """The complaints that the head expects."""
        return [text for question, text in self.asks if question == "error"]

    @property
    def udfs(self) -> tuple[UdfFile, ...]:
        """The functions in Python that the script may call: the sibling file `.py`."""
        path = self.path.with_suffix(".py")
        return (UdfFile(path.name, path.read_text()),) if path.exists() else ()

    def has(self, *questions: str) -> bool:
        """Whether the head asks for one of these."""
        return any(question in questions for question, _ in self.asks)


def read_case(path: Path) -> Case:
    """The case of a file; its head must be one that we understand."""
    text = path.read_text()
    head = re.match(r"-- (?P<sentence>.+\.)\n(?P<asks>(--: \S+ .+\n)+)", text)
    assert head, f"{path}: the head is a sentence, then lines of `--: question answer`"
    asks = tuple(re.findall(r"--: (\S+) (.+)\n", head["asks"]))
    unknown = {question for question, _ in asks} - set(QUESTIONS)
    assert not unknown, f"{path}: {sorted(unknown)} is asked, and we know {QUESTIONS}"
    return Case(path, text, head["sentence"], asks)


def all_cases() -> list[Case]:
    """Every case, in the order of the names."""
    return [read_case(path) for path in sorted((HERE / "cases").rglob("*.sql"))]


def compiled(case: Case) -> Program:
    """The program of a case."""
    return compile_script(case.text, udfs=case.udfs)


def complaints(case: Case) -> list[str]:
    """Everything that is said against a script, a line each."""
    try:
        compile_script(case.text, udfs=case.udfs)
    except ScriptRefused as refused:
        return [
            f"{complaint.code} {complaint.at or '-'} {complaint.message}".replace("\n", "⏎")
            for complaint in refused.complaints
        ]
    return []
