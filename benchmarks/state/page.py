"""`python -m benchmarks.state.page` writes docs/state-benchmarks.md from what has been measured.

The words are in `page.md`, in which `{{name}}` stands for the table of a kind of run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.state.measured import RESULTS, ROOT, Measured, read_measured
from benchmarks.state.savepoint import GOAL

WORDS = Path(__file__).parent / "page.md"
PAGE = ROOT / "docs" / "state-benchmarks.md"
_JUDGED = "largest under a savepoint"


def page(words: str, folder: Path = RESULTS) -> str:
    """The text of the page."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: _table(read_measured(match[1], folder)), words)


def main() -> None:
    """Write it."""
    PAGE.write_text(page(WORDS.read_text()))


def _table(runs: Sequence[Measured]) -> str:
    """A column for each case, the newest first, and a line for each figure."""
    cases = [(run, shape, case) for run in reversed(runs) for shape, case in run.cases.items()]
    if not cases:
        return "No run is kept yet."
    figures = dict.fromkeys(name for _, _, case in cases for name in case)
    lines = [
        ["", *(shape for _, shape, _ in cases)],
        ["---"] * (len(cases) + 1),
        *([name, *(_cell(name, case.get(name)) for _, _, case in cases)] for name in figures),
        ["with", *(_settings(run) for run, _, _ in cases)],
        ["run", *(f"{run.date}, `{run.commit}`" for run, _, _ in cases)],
        ["load", *(f"{run.load[0]:.0f} on {run.machine['cores']} cores" for run, _, _ in cases)],
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _settings(run: Measured) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in run.settings.items())


def _cell(name: str, figure: float | None) -> str:
    if figure is None:
        return ""
    if name == _JUDGED:
        return f"**{figure:,}**" if figure < GOAL else f"{figure:,}, missed"
    return f"{figure:,}"


if __name__ == "__main__":
    main()
