"""Find sinks that no other lineage can continue, because an abandoned lineage has written them.

    history a   0 1 2 3 4                version 1, into counts
    history b             5 6 7 8        version 2, which has the new sink copies
    history c             5 6 7 8        version 1 again, rolled back

The ledger of copies has the epochs of b, and none of a or c. When version 2 starts again, that ledger would report that
a lineage which is no ancestor has written it. This module finds that before anything stops.
"""

from __future__ import annotations

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage
from engine.compile import Program
from engine.connectors import sink_kind_of
from engine.delivery.epoch import Epoch
from engine.delivery.file_ledger import read_ledger
from engine.delivery.ledger import Stop, decide
from engine.errors import LeftSinkError
from engine.spark.write.targets import sink_directory

_NEWEST = 2**62


def refuse_left_sinks(paths: StatePaths, program: Program, before: Lineage, epoch: int) -> None:
    """Raise LeftSinkError if a sink of a program, which continues from an epoch of a lineage with the sinks of a state,
    would refuse its epochs. Ledgers in the target itself are not read."""
    history = before.forked_at(epoch, "the next one")
    first = Epoch(epoch + 1, history.id, _NEWEST, "", history.parents)
    for table in sorted({*(write.table for write in program.writes), *program.dead_letter_tables}):
        sink = sink_kind_of(program.tables[table])
        if sink.guarantee != "exactly-once":
            continue
        ledger = read_ledger(sink_directory(paths.root, table))
        if isinstance(decide(ledger, first, ever_committed=False, takes_back=sink.takes_back), Stop):
            raise LeftSinkError(
                f"{table} was written by a version that was rolled back since, up to epoch {ledger[-1].epoch}, and "
                "nothing that this pipeline goes on from is known there",
                hint="give the table another name and another place to write to; what it has written stays where it is",
            )
