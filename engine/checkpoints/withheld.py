"""Read and write the suppressed aggregates of open windows in a checkpoint: see `engine.plan.state.withheld`.

    checkpoint/withheld.json     {"1": {"0": [[1704067200000000, 1704067800000000]]}}
                                 in operator 1, aggregate 0, in windows that start between 00:00 and 00:10
                                 {"1": {"rows": ...}}: no row of these windows is emitted

The file is part of the checkpoint, and so of savepoints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.changes.verdict import Migration
from engine.checkpoints.contents import WITHHELD
from engine.checkpoints.layout import read_json, unreadable, write_json
from engine.plan.state.withheld import ROWS, Range, Withheld

_ROWS = "rows"


def read_withheld(checkpoint: Path) -> Withheld:
    """Return the suppressed aggregates of a checkpoint; refuse a damaged file."""
    path = checkpoint / WITHHELD
    try:
        return {int(number): _places(places) for number, places in (read_json(path) or {}).items()}
    except ValueError as error:
        raise unreadable(path) from error


def write_withheld(checkpoint: Path, withheld: Withheld) -> None:
    """Note it in a checkpoint that withholds anything."""
    if withheld:
        by_text = {
            str(number): {_word(place): [list(pair) for pair in ranges] for place, ranges in places.items()}
            for number, places in withheld.items()
        }
        write_json(checkpoint / WITHHELD, by_text)


def carried(
    old: Withheld,
    kept: Mapping[int, int],
    migrated: Mapping[int, Migration],
    open_windows: Mapping[int, Sequence[Range]],
) -> Withheld:
    """Return the suppressed aggregates in the state of a new query. A `kept` operator has the same ones; a `migrated`
    one has those of its remaining aggregates under their new positions, and all new aggregates in the open windows, or
    these windows as a whole if they are held back."""
    withheld = {number: dict(old.get(before, {})) for number, before in kept.items()}
    for number, migration in migrated.items():
        before, opened = old.get(migration.operator, {}), open_windows.get(number, ())
        new, rows = ((), opened) if migration.held_back else (opened, ())
        withheld[number] = {
            place: new if old_place is None else before.get(old_place, ())
            for place, old_place in enumerate(migration.aggregates)
        }
        withheld[number][ROWS] = tuple(sorted({*before.get(ROWS, ()), *rows}))
    some = {number: {place: pairs for place, pairs in places.items() if pairs} for number, places in withheld.items()}
    return {number: places for number, places in some.items() if places}


def _places(places: object) -> Mapping[int, Sequence[Range]]:
    match places:
        case dict():
            return {_place(word): _ranges(pairs) for word, pairs in places.items()}
    raise ValueError(places)


def _word(place: int) -> str:
    return _ROWS if place == ROWS else str(place)


def _place(word: str) -> int:
    return ROWS if word == _ROWS else int(word)


def _ranges(pairs: object) -> Sequence[Range]:
    match pairs:
        case list():
            return tuple(map(_range, pairs))
    raise ValueError(pairs)


def _range(pair: object) -> Range:
    match pair:
        case [int(first), int(last)]:
            return first, last
    raise ValueError(pair)
