"""Whole scripts of one branch or of several, with what is said beside the branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from engine.compile import Program, compile_script
from engine.udf.declared import UdfFile
from tests.upgrade_matrix.shapes import UPDATING, Form, Shape, branch, functions, table_of

_TABLES = {
    "events": "ts TIMESTAMP NOT NULL, key TEXT, number {number}, other BIGINT, extra BIGINT",
    "others": "ts TIMESTAMP NOT NULL, key TEXT, number {number}",
    "sizes": "ts TIMESTAMP NOT NULL, size TEXT",
}


@dataclass(frozen=True, slots=True)
class Script:
    """Branches by their shapes. `style` is how it is written; `others` says what it does besides: whether there is
    `another branch`, and whether the results of each go into `another sink` as well, whose query is `parted`."""

    forms: Mapping[Shape, Form]
    style: int = 0
    ttl: int = 24
    number: str = "BIGINT"
    others: frozenset[Literal["another branch", "another sink"]] = frozenset()
    parted: Callable[[Form], Form] = lambda form: form
    broker: str = ""
    """Where it is read from Kafka, of which nothing is read: the address."""
    sinks: Literal["json", "parquet"] = "json"

    def sql(self, folder: Path) -> str:
        """The whole text."""
        parts = [f"SET updating_ttl = '{self.ttl} hours';"]
        parts += [self._source(name, columns, folder) for name, columns in _TABLES.items() if self._reads(name)]
        shapes = sorted(self.forms, reverse=self.style % 2 == 1)
        for shape in shapes:
            for name, form in self.tables(shape).items():
                columns, query = branch(shape, form)
                parts.append(self._sink(name, columns, folder, is_updating=shape in UPDATING))
                parts.append(f"INSERT INTO {name} {query};")
        if "another branch" in self.others:
            parts.append(self._sink("beside", "start TIMESTAMP, n BIGINT", folder, is_updating=False))
            query = "SELECT tumble(INTERVAL '4 minutes') AS w, count(*) AS n FROM events GROUP BY w"
            parts.insert(-3, f"CREATE VIEW all_of_them AS {query};")
            parts.append("INSERT INTO beside SELECT w.start, n FROM all_of_them;")
        return "\n-- as it was said in the meeting\n\n".join(parts) if self.style else "\n".join(parts)

    def tables(self, shape: Shape) -> Mapping[str, Form]:
        """The sinks of a branch, each with the form of its query."""
        form, name = self.forms[shape], table_of(shape)
        return {name: form} | ({f"{name}_2": self.parted(form)} if "another sink" in self.others else {})

    def written(self) -> Iterator[tuple[Shape, str, Form]]:
        """All sinks of branches, each with the shape and the form of its query."""
        for shape in self.forms:
            for table, form in self.tables(shape).items():
                yield shape, table, form

    def compiled(self, folder: Path) -> Program:
        """What it says."""
        return _compiled(self.sql(folder), self.udfs)

    @property
    def udfs(self) -> tuple[UdfFile, ...]:
        """The functions, whose code is that of the newest that any branch has."""
        return functions(
            max(self.forms.values(), key=lambda form: (form.middle, form.function_behind, form.function_in_front))
        )

    def _reads(self, table: str) -> bool:
        needs = {"others": "two sources", "sizes": "updating join"}
        return table not in needs or needs[table] in self.forms

    def _source(self, name: str, columns: str, folder: Path) -> str:
        where = f"connector = 'scripted', path = '{folder}/{name}.script'"
        if self.broker:
            where = f"connector = 'kafka', bootstrap_servers = '{self.broker}', topic = '{name}', format = 'json'"
        typed = columns.format(number=self.number)
        return f"CREATE TABLE {name} ({typed}, WATERMARK FOR ts) WITH ({where}, type = 'source');"

    def _sink(self, name: str, columns: str, folder: Path, *, is_updating: bool) -> str:
        if self.sinks == "parquet" and not is_updating:
            where = f"connector = 'filesystem', path = '{folder}/{name}', format = 'parquet'"
        else:
            form = "debezium_json" if is_updating else "json"
            where = f"connector = 'single_file', path = '{folder}/{name}', format = '{form}'"
        return f"CREATE TABLE {name} ({columns}) WITH ({where}, type = 'sink');"


@cache
def _compiled(sql: str, udfs: tuple[UdfFile, ...]) -> Program:
    """Most rows begin with the same script."""
    return compile_script(sql, udfs=udfs)
