"""Names that a misspelt name may have been meant as.

tumbel   tumble      two letters have changed places: one edit
age      -           three letters, and `range` is two edits away
kafak    kafka
"""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name with the fewest edits to `name`, without regard to case; None if no name is near enough.

    A name of up to two letters may differ in case only. Up to four letters may have one edit, up to nine two, and
    longer names three."""
    most = next(edits for length, edits in ((2, 0), (4, 1), (9, 2), (len(name), 3)) if len(name) <= length)
    ranked = [
        (distance, candidate)
        for candidate in sorted(set(names))
        if abs(len(candidate) - len(name)) <= most and (distance := _edits(name.lower(), candidate.lower())) <= most
    ]
    return min(ranked)[1] if ranked else None


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """Return the question that proposes the nearest name; None if there is none."""
    near = nearest(name, names)
    return None if near is None else f"did you mean {near!r}?"


def _edits(a: str, b: str) -> int:
    """Count the letters to insert, delete, replace or swap with their neighbour until `a` is `b`."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            edits = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                edits = min(edits, rows[-2][j - 2] + 1)
            row.append(edits)
        rows.append(row)
    return rows[-1][-1]
