"""Find words of our own where the industry has one: in docs, the web UI, CLI help, errors, events and docstrings.

`make style` runs it. A hit names the file, the line, the words and what to write instead. A function's docstring begins
with a verb, and the docstring of a module or class says what it does or is. Generated pages (`docs/reference`,
`types.ts`) are checked where their texts are declared.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

WORDS = {
    r"nobody|whoever|somebody": "who it is: the user, a client, the owner; or 'no pipeline', 'unknown'",
    r"anew": "again, or new",
    r"(?:is|are|was|were|be|been) told(?! apart)|told of|tells? of": "gets, receives, is reported",
    r"what becomes of|becomes of": "the effect on",
    r"those that|those who|that which|those of which": "the noun itself",
    r"of which|of whom": "a sentence of its own",
    r"(?:give|gives|given|gave|giving) out": "emit",
    r"(?:find|finds|found|finding) out": "infer, detect, learn, check",
    r"comes? (?:to|of|on)|came of|has come (?:to|so)": "results in, progresses, reaches",
    r"is over|are over": "has ended",
    r"calls? home|calling home": "reports to the control plane",
    r"signs? of life": "progress, or liveness",
    r"fixed part": "per-epoch overhead",
    r"held back|withheld|retelling|retold": "suppressed; re-emitted",
    r"any more|any longer": "no longer",
    r"stands? (?:in|at|before|there|beside)|lies (?:in|at|beside|there)": "is in, is stored in, precedes",
    r"at rest|in trouble|on the way": "stopped, failing, starting",
    r"says so|say so|said so|is said|are said|was said": "declares, reports, is set",
    r"worked out": "inferred, computed",
    r"side by side|beside (?:it|them)": "in parallel, next to it",
    r"all there is|that is there|that are there|is there (?:already|still)|there already": "exists",
    r"goes on by itself": "continues",
}
"""Words in texts, and what to write instead. Add what a reader had to read twice."""

_INSTEAD = tuple(WORDS.values())
_ANY = re.compile(rf"\b(?:{'|'.join(f'({pattern})' for pattern in WORDS)})\b".replace(" ", r"\s+"), re.IGNORECASE)

_STORED_NAMES = re.compile(r"withheld|retelling|retold", re.IGNORECASE)
"""Words that docstrings may have, since plans and state files are stored with these names."""

FIRST = re.compile(r"(?:What|How|Who|Where|When|Which|The same|That|Those|It|Of|So)\b")
"""Words that no docstring may begin with: of a function a verb is first, of a module or class what it does or is."""

NO_VERB = re.compile(
    r"(?:The|An?|This|That|These|Those|Such|Its?|Their|Our|Some|Any|Every|Each|All|Both|Most|More|Another|Other|One|Two"
    r"|Several|No|None|Nothing|Something|Everything|Nobody|Somebody|Whatever|Whoever|Whose|Whom|Why"
    r"|As|At|About|After|Back|Before|Behind|Below|Between|By|For|From|Here|In|Inside|Into|On|Once|Only|Of|Since|There"
    r"|To|Under|Until|Up|While|With|Within|Without|Further|Never|Always|Not|Neither|NULL|True|False"
    r"|Rows|Spark's|Spark|Airflow's|Arroyo's|Microseconds|Milliseconds)\b"
)
"""Words that the docstring of a function may not begin with. Properties and fixtures are named by a noun phrase."""

_NOUNS = re.compile(r"property|fixture")

PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "docs/*.md",
    "docs/how-to/*.md",
    "docs/concepts/*.md",
    "docs/reference/**/*.md",
)
CODE = ("engine", "airflow_provider_arroyo", "dags_examples")
EXEMPT = {
    "engine/plan/identity/fingerprint.py": "names of stored values",
    "engine/web/src/api/types.ts": "generated",
    "engine/web/src/pipeline/moments.ts": "reads events that earlier versions have stored",
}


class Hit(NamedTuple):
    """Words to replace, and where they are."""

    path: str
    line: int
    words: str
    instead: str


def main() -> int:
    """Print every hit; return 1 if there is one."""
    hits = sorted({*hits_in_pages(), *hits_in_code(), *hits_in_web()})
    for hit in hits:
        sys.stdout.write(f"{hit.path}:{hit.line}: {hit.words!r}: write {hit.instead}\n")
    return 1 if hits else 0


def hits_in_pages() -> Iterator[Hit]:
    """Yield the hits in Markdown that people write."""
    for pattern in PAGES:
        for path in ROOT.glob(pattern):
            yield from hits_in_text(path.relative_to(ROOT).as_posix(), path.read_text())


def hits_in_code() -> Iterator[Hit]:
    """Yield the hits in texts of Python modules: errors, help, events, log lines, descriptions."""
    for folder in CODE:
        for path in (ROOT / folder).rglob("*.py"):
            if (name := path.relative_to(ROOT).as_posix()) not in EXEMPT:
                yield from hits_in_module(name, path.read_text())


def hits_in_web() -> Iterator[Hit]:
    """Yield the hits in the sources of the web UI, without their comments."""
    for path in (ROOT / "engine/web/src").rglob("*.ts*"):
        if (name := path.relative_to(ROOT).as_posix()) not in EXEMPT:
            text = re.sub(r"/\*.*?\*/", _blank_lines, path.read_text(), flags=re.DOTALL)
            yield from hits_in_text(name, re.sub(r"(^|\s)//.*$", "", text, flags=re.MULTILINE))


def hits_in_module(name: str, source: str) -> Iterator[Hit]:
    """Yield the hits in the string literals of a module, and docstrings that begin with a wrong word."""
    tree = ast.parse(source)
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node) or ""
            if (first := FIRST.match(text)) is not None:
                yield Hit(name, node.body[0].lineno, first[0], "what it does, or is")
            elif (first := NO_VERB.match(text)) is not None and is_named_by_verb(node):
                yield Hit(name, node.body[0].lineno, first[0], "a verb first: Return ..., Raise ..., or Whether ...")
            yield from hits_in_docstring(name, node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            # one word is the name of a field, a file or a code
            yield from hits_in_text(name, node.value, node.lineno) if " " in node.value else ()


def is_named_by_verb(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a node is a function, but no property and no fixture, so that its docstring begins with a verb."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not any(
        _NOUNS.search(ast.unparse(decorator)) for decorator in node.decorator_list
    )


def hits_in_docstring(
    name: str, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Hit]:
    """Yield the hits in the docstring of a module or class, without names in code."""
    text = ast.get_docstring(node, clean=False)
    if text is not None and isinstance(node, ast.Module | ast.ClassDef):
        for hit in hits_in_text(name, re.sub(r"`[^`\n]*`", "", text), node.body[0].lineno):
            if not _STORED_NAMES.fullmatch(hit.words):
                yield hit


def hits_in_text(name: str, text: str, first_line: int = 1) -> Iterator[Hit]:
    """Yield the hits in a text; words may be divided by the end of a line."""
    for match in _ANY.finditer(text):
        line = first_line + text.count("\n", 0, match.start())
        yield Hit(name, line, " ".join(match[0].split()), _INSTEAD[(match.lastindex or 0) - 1])


def _blank_lines(comment: re.Match[str]) -> str:
    return "\n" * comment[0].count("\n")


if __name__ == "__main__":
    sys.exit(main())
