"""Specification of a changelog aggregate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.schema import Schema
from engine.updating.accumulators import Measure, keeps_values


@dataclass(frozen=True, slots=True)
class AggregateSpec:
    """Keys and results are in `schema`, keys first. Input rows have the columns `_id`, `k0`..., for each measure its
    arguments `a0_0`..., its order `o0_0`..., its condition `c0`, and the hash `v0` if values are stored. Pre-aggregated
    rows have their number in `n`, and the merged values of each measure in `a0_0`... After an upgrade, `form` has a
    text per measure, and `began_as` the form of shards that do not record theirs; the state knows the unknown measures
    of each key. `formerly` are the texts of a measure with narrower numbers. With the id of a `retelling`, each shard
    once re-emits all its rows, and the output has the mark `BEFORE`: whether a retraction has to pass the previous
    filter."""

    schema: Schema
    key_count: int
    measures: tuple[Measure, ...]
    only_appends: bool
    ttl: int
    is_merged: bool = False
    form: tuple[str, ...] = ()
    began_as: tuple[str, ...] | None = None
    formerly: tuple[tuple[str, ...], ...] = ()
    retelling: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The names that keys have on the way."""
        return tuple(f"k{index}" for index in range(self.key_count))

    def place_in(self, form: Sequence[str], index: int) -> int | None:
        """Return the position of a measure in another form."""
        texts = (self.form[index], *(self.formerly[index] if self.formerly else ()))
        return next((form.index(text) for text in texts if text in form), None)

    @property
    def kept_values(self) -> tuple[int, ...]:
        """The measures whose values are kept."""
        return tuple(
            index
            for index, measure in enumerate(self.measures)
            if keeps_values(measure, only_appends=self.only_appends)
        )
