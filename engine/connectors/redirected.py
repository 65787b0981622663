"""Redirect the tables of a script to other targets under a prefix, by the rules of each connector.

prefix = january
orders    sink, a file /out/orders.json       /out/january/orders.json
counts    sink, the topic counts              january-counts
shown     sink, standard output               unchanged: it is not shared
hooks     sink, a webhook                     refused: a URL has no place for a prefix
clicks    source, commits to the group g      reads as before, and commits to january-g
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from engine.connectors import kind_of, sink_kind_of
from engine.connectors.base import Table
from engine.connectors.files.beside import beside
from engine.connectors.kinds import LookupKind, SinkKind
from engine.delivery.target_names import first_collision
from engine.errors import SinkPrefixError, message_of


def redirected(tables: Mapping[str, Table], prefix: str) -> tuple[Mapping[str, Table], Collection[SinkPrefixError]]:
    """Return the tables with the prefix in their targets, and an error for those that cannot have one, or whose new
    target collides with an original one."""
    complaints: list[SinkPrefixError] = []
    moved: dict[str, Table] = {}
    for name, table in tables.items():
        try:
            moved[name] = _redirect(table, prefix)
        except SinkPrefixError as error:
            complaints.append(error)
    for name, table in moved.items():
        for other in tables.values() if table.options != tables[name].options else ():
            if (place := _shared(table, other)) is not None:
                message = f"table {name} would write to {place}, where {other.name} writes without a prefix"
                complaints.append(SinkPrefixError(message, hint=f"take another prefix than {prefix!r}"))
    return moved, complaints


def describe_redirected(before: Mapping[str, Table], after: Mapping[str, Table]) -> Iterator[str]:
    """Yield a line for each sink: its target, and its target without the prefix."""
    for name in sorted(after):
        place, former = _place(after[name]), _place(before[name])
        if after[name].direction == "sink":
            told = after[name].connector if place == former else f"{place} instead of {former}"
            yield f"{name}: {told}"


def reading_beside(table: Table, prefix: str) -> Table:
    """Return a source that reports its progress elsewhere, under the prefix."""
    return _redirect(table, prefix)


def _place(table: Table) -> str:
    said = [getattr(table.options, option, None) for option in ("path", "topic", "key_prefix")]
    return " ".join(str(part) for part in said if part is not None)


def _shared(moved: Table, other: Table) -> str | None:
    """Return the location where both write, or one within the other's."""
    if moved.direction != "sink" or other.direction != "sink":
        return None
    names = [sink_kind_of(table).target_names(table.options) for table in (moved, other)]
    if (collision := first_collision(*names)) is not None:
        return collision[0]
    is_same = moved.connector == other.connector and _place(moved) == _place(other)
    return _place(moved) if is_same else None


def _redirect(table: Table, prefix: str) -> Table:
    kind = kind_of(table)
    if isinstance(kind, LookupKind) or (isinstance(kind, SinkKind) and (kind.only_shows or kind.drops_all)):
        return table
    try:
        letters = table.dead_letter_directory
        moved = table if letters is None else replace(table, dead_letter_directory=beside(letters, prefix))
        if kind.redirect is not None:
            return replace(moved, options=kind.redirect(table.options, prefix))
    except ValueError as error:
        raise SinkPrefixError(f"table {table.name} cannot write under {prefix!r}: {message_of(error)}") from error
    if table.direction == "source":
        return moved
    raise SinkPrefixError(
        f"table {table.name} writes to a {table.connector}, which has no place for the prefix {prefix!r}",
        hint="leave the table out, or write it into another connector",
    )
