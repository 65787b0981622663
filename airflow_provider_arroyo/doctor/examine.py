"""Run all rules over all files of a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_arroyo.doctor.files import PACKAGE, DagFile, Folder, read_dag_file
from airflow_provider_arroyo.doctor.rules import FOLDER_RULES, RULES
from airflow_provider_arroyo.doctor.run_rules import RUN_RULES, Finding


@dataclass(frozen=True, slots=True)
class Examination:
    """Files that use this provider, and the findings in them."""

    files: Sequence[Path]
    findings: Sequence[Finding]


def examine(paths: Sequence[Path]) -> Examination:
    """Check these files, and those of these folders; none is run. An unreadable file is a finding, too."""
    files: list[Path] = []
    read: list[DagFile] = []
    others: list[Path] = []
    findings: set[Finding] = set()
    for path in _python_files(paths):
        try:
            if PACKAGE.encode() not in path.read_bytes():
                others.append(path)
                continue
            files.append(path)
            file = read_dag_file(path)
        except (OSError, SyntaxError, ValueError, RecursionError) as error:
            line = getattr(error, "lineno", None) or 1
            hint = "Until it can be read nothing is known of it."
            findings.add(Finding(str(path), line, "dag.unreadable", f"it cannot be read: {error}", hint))
            continue
        read.append(file)
        findings.update(finding for rule in (*RULES, *RUN_RULES) for finding in rule(file))
    roots = [path if path.is_dir() else path.parent for path in paths]
    together = Folder([*read, *_with_assets(others)], roots)
    findings.update(finding for rule in FOLDER_RULES for finding in rule(together))
    return Examination(files, sorted(findings))


def _with_assets(others: Sequence[Path]) -> Iterator[DagFile]:
    """Yield the other files that may use an asset of ours in outlets or schedules. Unreadable files are skipped."""
    for path in others:
        try:
            text = path.read_bytes()
            if any(word in text for word in (b"schedule", b"outlets")):
                yield read_dag_file(path)
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue


def _python_files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        yield from sorted(file for file in path.rglob("*.py") if file.is_file()) if path.is_dir() else [path]
