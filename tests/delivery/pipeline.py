"""A pipeline in miniature: epochs of numbers into one sink, with a commit log of its own. Run again it goes on from
where the log ends."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage
from engine.checkpoints.savepoints import copy_open_files
from engine.connectors.base import Table
from engine.delivery.epoch import Epoch
from engine.delivery.open_files import OPEN_FILES
from tests.connectors.tables import NUMBERS, Row, batch, sink, table, take

EPOCHS = 6


def target(kind: str, root: Path) -> Table:
    parts = ("name",)
    match kind:
        case "single_file":
            return table("single_file", NUMBERS, path=root / "out.json", type="sink", format="json")
        case "gzip":
            return table("single_file", NUMBERS, path=root / "out.json.gz", type="sink", format="json")
        case "json":
            path = root / "out"
            return table("filesystem", NUMBERS, path=path, type="sink", format="json", partitioning__fields=parts)
        case "parquet":
            path = root / "out"
            return table("filesystem", NUMBERS, path=path, type="sink", format="parquet", partitioning__fields=parts)
        case "delta":
            options = {"path": root / "out", "rolling_policy.file_size": 1000, "partitioning__fields": parts}
            return table("delta", NUMBERS, **options)
        case "rolling-json" | "rolling-parquet":
            form = kind.removeprefix("rolling-")
            rolling = {"rolling_policy.file_size": 80 if form == "json" else 2500}
            options = {"path": root / "out", "type": "sink", "format": form, "partitioning__fields": parts}
            return table("filesystem", NUMBERS, **options, **rolling)
    raise ValueError(kind)


def written(kind: str, root: Path) -> list[Row]:
    """The rows that a reader of the target finds, in order."""
    match kind:
        case "single_file":
            lines = (root / "out.json").read_text().splitlines()
        case "gzip":
            import gzip

            lines = gzip.decompress((root / "out.json.gz").read_bytes()).decode().splitlines()
        case "json" | "rolling-json":
            lines = [line for path in (root / "out").rglob("[!.]*.json") for line in path.read_text().splitlines()]
        case "delta":
            from deltalake import DeltaTable

            rows = DeltaTable(root / "out").to_pyarrow_table().select(["n", "name"]).to_pylist()
            return sorted(rows, key=lambda row: row["n"])
        case _:
            read = [pq.ParquetFile(path).read().to_pylist() for path in (root / "out").rglob("[!.]*.parquet")]
            return sorted((row for rows in read for row in rows), key=lambda row: row["n"])
    return sorted((json.loads(line) for line in lines), key=lambda row: row["n"])


def expected(epochs: int) -> list[Row]:
    return [{"n": number, "name": f"part {number % 3}"} for number in range(epochs * 10)]


def run(
    kind: str,
    root: Path,
    *,
    until: int = EPOCHS,
    lineage: str = "one",
    generation: int = 1,
    parents: tuple[tuple[str, int], ...] = (),
) -> None:
    """Take the epochs that are not in the commit log yet. Two tasks; a row's name is its partition."""
    root.mkdir(exist_ok=True)
    log = root / "commits"
    log.touch()
    epochs = [int(line) for line in log.read_text().split()]
    for number in range(epochs[-1] + 1 if epochs else 0, until):
        values = [(row["n"], row["name"]) for row in expected(number + 1)[number * 10 :]]
        # the input ends with the last epoch, so that every row can be seen
        is_last = number == until - 1
        epoch = Epoch(number, lineage, generation, f"offsets-{number}", parents, is_last=is_last)
        first, second = batch(NUMBERS, *values[:5]), batch(NUMBERS, *values[5:])
        take(sink(target(kind, root), root / "state" / "sinks" / "t"), epoch, [first], [second])
        save(root, epoch)
        with log.open("a") as file:
            file.write(f"{number}\n")


def save(root: Path, epoch: Epoch) -> None:
    """Keep what a savepoint of the epoch keeps of the sink."""
    shutil.rmtree(root / "saved" / str(epoch.number), ignore_errors=True)
    state = StatePaths(root / "state")
    copy_open_files(state, root / "saved" / str(epoch.number), Lineage(epoch.lineage, epoch.parents), epoch.number)


def restore(root: Path, number: int) -> None:
    """Put the checkpoint back to an epoch, and beside the sink what was saved of it; the sink's own directory and its
    target stay as they are."""
    (root / "commits").write_text("".join(f"{epoch}\n" for epoch in range(number + 1)))
    shutil.rmtree(root / "state" / OPEN_FILES, ignore_errors=True)
    if (root / "saved" / str(number) / OPEN_FILES).is_dir():
        shutil.copytree(root / "saved" / str(number) / OPEN_FILES, root / "state" / OPEN_FILES)
