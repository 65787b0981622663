"""Taking possession of a state directory: the same query goes on, another one is refused."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from engine.checkpoints.layout import StatePaths, read_json, unreadable, write_json, write_text
from engine.errors import OtherQueryError, SupersededError


@dataclass(frozen=True, slots=True)
class Claim:
    """What a run holds: its lineage with those before it, its generation, and the width of the state."""

    lineage: str
    parents: tuple[tuple[str, int], ...]
    generation: int
    parallelism: int


def claim(
    paths: StatePaths,
    *,
    name: str,
    sql: str,
    fingerprint: str,
    parallelism: int,
    generation: int | None = None,
    force: bool = False,
    new_lineage: Callable[[], str] = lambda: secrets.token_hex(8),
) -> Claim:
    """Hold the state for one more run. Without a generation it is one above the last. With `force` another query starts
    empty, and the old state is kept aside."""
    paths.root.mkdir(parents=True, exist_ok=True)
    known = read_json(paths.pipeline)
    if known is not None and known.get("fingerprint") != fingerprint:
        if not force:
            raise OtherQueryError(
                f"the state in {paths.root} belongs to another query, that of {known.get('name')!r}",
                hint="give another --state-dir, or start empty with --force, which keeps the old state aside",
            )
        _put_aside(paths)
        known = None
    mine = _take_generation(paths, generation)
    width = parallelism if known is None else _number(known.get("parallelism"), parallelism)
    content = {"name": name, "sql": sql, "fingerprint": fingerprint, "parallelism": width}
    if known != content:
        write_json(paths.pipeline, content)
    history = read_json(paths.lineage)
    if history is None:
        history = {"lineage": new_lineage(), "parents": []}
        write_json(paths.lineage, history)
    return Claim(str(history["lineage"]), _parents(paths, history), mine, width)


def _take_generation(paths: StatePaths, wanted: int | None) -> int:
    text = paths.generation.read_text().strip() if paths.generation.exists() else "0"
    if not text.isdigit():
        raise unreadable(paths.generation)
    newest = int(text)
    mine = newest + 1 if wanted is None else wanted
    if mine < newest:
        raise SupersededError(f"generation {mine} was replaced by {newest}", hint="nothing; the newer run goes on")
    write_text(paths.generation, str(mine))
    return mine


def _put_aside(paths: StatePaths) -> None:
    aside = paths.root / "replaced"
    aside.mkdir(exist_ok=True)
    number = sum(1 for _ in aside.iterdir()) + 1
    target = aside / str(number)
    target.mkdir()
    for part in (paths.checkpoint, paths.sinks, paths.watermarks, paths.lineage, paths.pipeline):
        if part.exists():
            part.rename(target / part.name)


def _parents(paths: StatePaths, history: dict[str, object]) -> tuple[tuple[str, int], ...]:
    parents = history.get("parents")
    if not isinstance(parents, list):
        raise unreadable(paths.lineage)
    return tuple((str(one[0]), int(one[1])) for one in parents)


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default
