"""The table of docs/how-to/upgrade-matrix.md: `python -m tests.upgrade_matrix.table` writes it anew."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from engine.changes.compare import compare
from engine.changes.verdict import Change, UpgradePlan
from engine.compile import Program
from tests.upgrade_matrix.changes import CHANGES, ScriptChange
from tests.upgrade_matrix.shapes import SHAPES, Shape

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "upgrade-matrix.md"
_NOWHERE = Path("/nowhere")
_WORDS = {
    Change.REFUSED: "refused",
    Change.STATE_DROPPED: "dropped",
    Change.STATE_MIGRATED: "migrated",
    Change.STATE_KEPT: "kept",
    Change.SAME: "same",
}
"""What a cell says, the gravest first; a new operator is none of the state that is there."""


def plan_of(change: ScriptChange, before: Program, after: Program) -> UpgradePlan:
    """What is said of a change, with what is agreed to in its row."""
    names = {operator.id for operator in before.operators}
    if change.consent == "keep_state":
        return compare(before, after, keep_state=names)
    if change.consent == "reset":
        return compare(before, after, reset=names)
    return compare(before, after)


def said(plan: UpgradePlan, operators: Collection[str] | None = None) -> str:
    """What a plan says of some operators, or of everything, in a word."""
    claims = {
        verdict.change
        for verdict in plan.verdicts
        if (verdict.subject == "operator" and (operators is None or verdict.name in operators))
        or (operators is None and verdict.change is Change.REFUSED)
    }
    return next(word for claim, word in _WORDS.items() if claim in claims)


def cell(change: ScriptChange, shape: Shape) -> str:
    """What becomes of one kind of state by one change; nothing where there is no such thing."""
    if shape not in change.shapes:
        return ""
    shapes = frozenset({shape})
    return said(plan_of(change, change.before(shapes).compiled(_NOWHERE), change.after(shapes).compiled(_NOWHERE)))


def table() -> str:
    """All of it, as Markdown."""
    lines = [f"| | {' | '.join(SHAPES)} |", f"| --- |{' --- |' * len(SHAPES)}"]
    lines += [f"| {change.name} | {' | '.join(cell(change, shape) for shape in SHAPES)} |" for change in CHANGES]
    return "\n".join(lines)


def written() -> dict[tuple[str, str], str]:
    """The cells of the page, by the names of their rows and columns."""
    rows = [line.split("|")[1:-1] for line in PAGE.read_text().splitlines() if line.startswith("|")]
    (_, *names), _, *changes = [[text.strip() for text in row] for row in rows]
    return {(change[0], name): text for change in changes for name, text in zip(names, change[1:], strict=False)}


if __name__ == "__main__":
    head, _, rest = PAGE.read_text().partition("| |")
    tail = rest.rpartition("|\n")[2]
    PAGE.write_text(f"{head}{table()}\n{tail}")
