"""Findings of the linter, and their output."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from airflow_provider_arroyo.doctor.files import DagFile


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A mistake, its location, and its remedy."""

    file: str
    line: int
    code: str
    message: str
    hint: str


def finding_at(file: DagFile, node: ast.expr | ast.stmt, code: str, message: str, hint: str) -> Finding:
    """A trap at the line where this begins."""
    return Finding(str(file.path), node.lineno, code, message, hint)


def as_text(findings: Sequence[Finding], files: Sequence[Path]) -> str:
    """One finding after the other, and how many there are."""
    parts = [f"{it.file}:{it.line}: {it.code}: {it.message}\n  hint: {it.hint}" for it in findings]
    read = f"{len(files)} file{'' if len(files) == 1 else 's'} with tasks of this provider read"
    return "\n".join([*parts, f"{len(findings) or 'no'} finding{'' if len(findings) == 1 else 's'}, {read}"])


def as_json(findings: Sequence[Finding], files: Sequence[Path]) -> str:
    """Return the findings as JSON."""
    return json.dumps({"files": [str(path) for path in files], "findings": [asdict(it) for it in findings]}, indent=2)
